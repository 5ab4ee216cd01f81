package fleet

import (
	"context"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
)

// lookEvery is how often is looked what is up.
const lookEvery = time.Second

// Watch has events say which virtual services, pools and servers come up and go down, until ctx ends.
func (f *Fleet) Watch(ctx context.Context) error {
	up, judged := map[string]bool{}, newVerdicts()
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
			if f.news.Swap(false) {
				f.tellPools(judged)
				f.tellServices(up)
			}
		}
	}
}

// tellServices compares with who was up before. One that has not been up yet is not told to be down: it is being set up, or
// this controller has just begun.
func (f *Fleet) tellServices(up map[string]bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for uuid := range up {
		if f.services[uuid] == nil {
			delete(up, uuid)
		}
	}
	for uuid, vs := range f.services {
		assigned := f.assigned(uuid)
		status := f.serviceStatus(vs, assigned, f.serving(uuid, assigned))
		is := status["state"] == "OPER_UP"
		if is == up[uuid] {
			continue
		}
		up[uuid] = is
		f.events.Add(serviceEvent(vs, is, status))
	}
}

func serviceEvent(vs *model.VirtualService, up bool, status schema.Object) events.Entry {
	entry := events.Entry{
		ID: "VS_UP", Kind: "VIRTUALSERVICE", UUID: vs.UUID, Name: vs.Name,
		Tenant: vs.Tenant(), Message: "is up",
	}
	if !up {
		entry.ID, entry.Message = "VS_DOWN", "is down: "+reasonsOf(status)
	}
	return entry
}

// reasonsOf names the first few: a pool has one for each server.
func reasonsOf(status schema.Object) string {
	const most = 5
	var texts []string
	for _, reason := range status["reason"].([]any) {
		texts = append(texts, reason.(string))
	}
	if len(texts) > most {
		texts = append(texts[:most], "…")
	}
	return strings.Join(texts, "; ")
}
