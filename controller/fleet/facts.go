package fleet

import (
	"net/netip"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/place"
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
	f.mu.RLock()
	defer f.mu.RUnlock()
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
		Up: e.up, Since: e.upSince, Gathering: e.gathering, Planned: e.wanted != nil, Told: e.told, Refuses: e.whyRefused(),
		Host: e.resources.GetHostname(), CPUPercent: cpu, NextHop: nextHop, Holds: map[string]place.Holding{}, Sessions: e.sessions,
	}
	for uuid, held := range e.duties {
		facts.Holds[uuid] = place.Holding{
			Due: e.due[uuid] != 0, Current: e.hasApplied(uuid), Duty: held.Duty, Since: held.since, Idle: held.idle >= idleSamples,
			Turning: e.held.GetRevision() < e.turned[uuid],
			Led:     !held.advertised || e.announces(uuid),
		}
	}
	for uuid := range e.due {
		if _, held := facts.Holds[uuid]; !held {
			facts.Holds[uuid] = place.Holding{Due: true}
		}
	}
	return facts
}

// whyRefused is empty when it takes the Plan.
func (e *engine) whyRefused() string {
	if e.refusal == nil {
		return ""
	}
	return e.refusal.why()
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

// assume takes over the duties of a Plan that was applied.
func (e *engine) assume(held *enginev1.Plan, now time.Time) {
	duties := map[string]*duty{}
	for _, resource := range held.GetResources() {
		service := resource.GetVirtualService()
		if service == nil {
			continue
		}
		next := &duty{Duty: dutyOf[service.GetDuty()], since: now}
		if before := e.duties[service.GetUuid()]; before != nil && before.Duty == next.Duty {
			next = before
		}
		next.advertised = false
		duties[service.GetUuid()] = next
	}
	for _, resource := range held.GetResources() {
		if advertisement := resource.GetAdvertisement(); advertisement != nil {
			if duty := duties[advertisement.GetVirtualServiceUuid()]; duty != nil {
				duty.advertised = true
			}
		}
	}
	e.duties = duties
}

// countIdle notes which of the virtual services that drain have no client; true: one has drained just now.
func (e *engine) countIdle() (drained bool) {
	for uuid, duty := range e.duties {
		counters := e.sample.service(uuid)
		switch {
		case duty.Duty != place.Drain || counters == nil:
		case counters.GetOpenConnections() > 0:
			duty.idle = 0
		default:
			duty.idle++
			drained = drained || duty.idle == idleSamples
		}
	}
	return drained
}
