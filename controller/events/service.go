package events

import (
	"strings"

	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
)

// services compares the states of virtual services with the earlier ones. A virtual service that is down and has not
// been up yet gives no event: it is new, or this leader has just begun. One that resumes gives no event when it is up
// for the first time.
func (w *Watcher) services(news News) {
	for _, uuid := range news.ServicesGone {
		delete(w.servicesUp, uuid)
	}
	for _, n := range news.Services {
		up, uuid := n.Health.State == health.Up, n.VirtualService.UUID
		was, known := w.servicesUp[uuid]
		if up == was {
			continue
		}
		w.servicesUp[uuid] = up
		if known || !n.Resumes {
			w.log.Add(serviceEntry(n.VirtualService, n.Health))
		}
	}
}

func serviceEntry(vs *model.VirtualService, status health.Status) Entry {
	entry := Entry{
		ID: "VS_UP", Kind: "VIRTUALSERVICE", UUID: vs.UUID, Name: vs.Name, Tenant: vs.Tenant(), Message: "is up",
	}
	if status.State != health.Up {
		entry.ID, entry.Message = "VS_DOWN", "is down: "+firstOf(status.Reasons)
	}
	return entry
}

// firstOf returns the first few reasons. A pool has one reason for each server.
func firstOf(reasons []string) string {
	const most = 5
	if len(reasons) > most {
		reasons = append(reasons[:most:most], "…")
	}
	return strings.Join(reasons, "; ")
}
