package fleet

import (
	"net/netip"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/plan"
)

// idleSamples in a row without a client, one each second, say that a virtual service has drained: for so long somebody
// may still come by a route that was there a moment ago.
const idleSamples = 3

// duty is what an engine does for one virtual service, by the Plan that it applied last.
type duty struct {
	place.Duty
	since      time.Time
	idle       int // samples in a row without a client
	advertised bool
}

var dutyOf = map[dataplanev1.Duty]place.Duty{
	dataplanev1.Duty_DUTY_SERVE: place.Serve, dataplanev1.Duty_DUTY_DRAIN: place.Drain, dataplanev1.Duty_DUTY_STANDBY: place.StandBy,
}

// Moved has something to read after anything happened that placement may depend on.
func (f *Fleet) Moved() <-chan struct{} { return f.moved }

func (f *Fleet) move() {
	select {
	case f.moved <- struct{}{}:
	default:
	}
}

// Began is from when on engines have time to come, after this controller did.
func (f *Fleet) Began() time.Time {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.began
}

func (f *Fleet) anyHeard() bool {
	for _, engine := range f.engines {
		if engine.heard {
			return true
		}
	}
	return false
}

// Facts are what placement needs to know of the engines that have been heard of.
func (f *Fleet) Facts() map[string]place.Engine {
	f.mu.Lock()
	defer f.mu.Unlock()
	facts := make(map[string]place.Engine, len(f.engines))
	for uuid, engine := range f.engines {
		if engine.heard {
			facts[uuid] = engine.facts()
		}
	}
	return facts
}

func (e *engine) facts() place.Engine {
	cpu, _ := e.cpuPercent()
	nextHop, _ := netip.ParseAddr(e.routing.GetNextHop()) // invalid: it has none
	facts := place.Engine{
		Up: e.up, Since: e.upSince, Gathering: e.gathering, Told: e.told, Host: e.resources.GetHostname(), CPUPercent: cpu,
		NextHop: nextHop, Holds: e.look(), Sessions: e.sessions,
	}
	switch {
	case e.refusal != nil:
		facts.Plan, facts.Refuses = place.Refused, e.refusal.why()
	case e.wanted != nil:
		facts.Plan = place.Settled
	}
	return facts
}

// watch notes and tells whether the engine has come or gone; the caller holds the lock.
func (f *Fleet) watch(uuid string, engine *engine) {
	if !engine.heard || engine.works() != engine.up {
		f.note(engine)
		f.move()
	}
	f.tell(uuid, engine)
}

func (f *Fleet) note(engine *engine) {
	if engine.works() {
		f.gather(engine)
	} else {
		engine.gathering = time.Time{}
	}
	if !f.anyHeard() {
		f.began = f.now()
	}
	engine.heard, engine.up, engine.upSince = true, engine.works(), f.now()
}

// tell has an event say that the engine serves, or why it does not; nothing while it starts for the first time.
func (f *Fleet) tell(uuid string, engine *engine) {
	entry := events.Entry{ID: "SE_UP", Kind: "SERVICEENGINE", UUID: uuid, Name: f.name(uuid), Tenant: adminTenant, Message: "serves"}
	if !engine.works() {
		entry.ID, entry.Message = "SE_DOWN", engine.whyDown()
	}
	if entry.ID == engine.lastEvent || engine.lastEvent == "" && engine.starts() {
		return
	}
	engine.lastEvent = entry.ID
	f.events.Add(entry)
}

// gather notes that an engine is up. When it was before, and none is now, it was the controller that was cut off: the others
// are yet to come back. An engine that is new tells nothing of the others.
func (f *Fleet) gather(back *engine) {
	if !back.returned {
		back.returned = true
		return
	}
	for _, engine := range f.engines {
		if engine.up {
			return
		}
	}
	for _, engine := range f.engines {
		if engine.returned && engine.gathering.IsZero() {
			engine.gathering = f.now()
		}
	}
}

// assume takes over the duties of a Plan that was applied, where they are not those of the one before.
func (e *engine) assume(before, held *enginev1.Plan, now time.Time) {
	for uuid := range servicesIn(plan.Delta(before, held), before) {
		e.holdings.lookAt(uuid)
		service := serviceIn(held, uuid)
		if service == nil {
			delete(e.duties, uuid)
			continue
		}
		if next := dutyOf[service.GetDuty()]; e.duties[uuid] == nil || e.duties[uuid].Duty != next {
			e.duties[uuid] = &duty{Duty: next, since: now}
		}
		e.duties[uuid].advertised = isAdvertisedIn(held, uuid)
	}
	e.holdings.lookAtOpen()
	if held.GetRevision() < before.GetRevision() {
		e.holdings.unknown = true
	}
}

// countIdle notes which of the virtual services that drain have no client; true: one has drained just now.
func (e *engine) countIdle() (drained bool) {
	for uuid, duty := range e.duties {
		counters := e.sample.service(uuid)
		switch {
		case duty.Duty != place.Drain || counters == nil:
		case counters.GetOpenConnections() > 0:
			duty.idle = 0
			e.holdings.lookAt(uuid)
		default:
			duty.idle++
			e.holdings.lookAt(uuid)
			drained = drained || duty.idle == idleSamples
		}
	}
	return drained
}
