package metrics

import (
	"fmt"
	"sync"
	"time"

	"github.com/weir-lb/weir/controller/events"
)

// health says in events what is wrong with the history, and when that is over.
type health struct {
	events *events.Log
	now    func() time.Time

	mu      sync.Mutex
	problem string // what is wrong; empty: nothing
	saidAt  time.Time
	refused int // series that events have told of
}

// sayAgain is the time between two events about a problem that lasts.
const sayAgain = time.Hour

// turn notes that something works (nil) or not.
func (h *health) turn(what string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		if h.problem != "" {
			h.say("METRICS_KEPT", "metrics are kept again")
		}
		h.problem = ""
		return
	}
	problem := fmt.Sprintf("%s: %v", what, err)
	if h.problem == "" || h.now().Sub(h.saidAt) >= sayAgain {
		h.say("METRICS_NOT_KEPT", problem)
		h.saidAt = h.now()
	}
	h.problem = problem
}

// refuse says how many series were refused, if there are more than the last time.
func (h *health) refuse(refused int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if refused > h.refused {
		h.say("METRICS_LIMIT", fmt.Sprintf(
			"numbers of %d more series are not kept: the limit is %d series of metrics, and %d with those of objects "+
				"that were renamed or deleted a short while ago", refused, seriesMax, headMax))
	}
	h.refused = refused
}

// why returns what is wrong; empty: nothing.
func (h *health) why() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.problem
}

func (h *health) say(id, message string) {
	h.events.Add(events.Entry{ID: id, Kind: "CONTROLLER", Name: "metrics", Tenant: adminTenant, Message: message})
}
