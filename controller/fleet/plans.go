package fleet

import (
	"maps"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/plan"
)

// idleSamples is the number of samples in a row, one each second, without a client after which a virtual service has
// drained. Until then, a client may still arrive by a route that was withdrawn a moment ago.
const idleSamples = 3

// duty is what an engine does for one virtual service, according to the Plan that it applied last.
type duty struct {
	place.Duty
	since      time.Time
	idle       int // samples in a row without a client
	advertised bool
}

var dutyOf = map[dataplanev1.Duty]place.Duty{
	dataplanev1.Duty_DUTY_SERVE: place.Serve, dataplanev1.Duty_DUTY_DRAIN: place.Drain,
	dataplanev1.Duty_DUTY_STANDBY: place.StandBy,
}

// expect takes a new Plan for the engine, and notes the revision of each resource that changed. It returns the virtual
// services that the new Plan changes.
func (e *Engine) expect(wanted *enginev1.Plan) (services map[string]bool) {
	if e.Wanted == wanted {
		return nil
	}
	delta := plan.Delta(e.Wanted, wanted)
	for _, resource := range delta.GetChanged() {
		e.due[resource.GetUuid()] = wanted.GetRevision()
	}
	for _, uuid := range delta.GetRemoved() {
		delete(e.due, uuid)
	}
	services = servicesIn(delta, e.Wanted)
	for uuid := range services {
		e.turnDuty(uuid, wanted)
	}
	e.Wanted, e.Refusal = wanted, nil
	return services
}

// leaveOut takes the virtual services for which the newest Plan has no room. It tells whether they are others.
func (e *Engine) leaveOut(noRoom map[string]bool) bool {
	if maps.Equal(e.noRoom, noRoom) {
		return false
	}
	for _, services := range []map[string]bool{e.noRoom, noRoom} {
		for uuid := range services {
			e.holdings.lookAt(uuid)
		}
	}
	e.noRoom = noRoom
	return true
}

// turnDuty notes the revision of the Plan if it gives the engine another duty for the virtual service than the Plan
// before.
func (e *Engine) turnDuty(serviceUUID string, wanted *enginev1.Plan) {
	e.holdings.lookAt(serviceUUID)
	was, is := serviceIn(e.Wanted, serviceUUID), serviceIn(wanted, serviceUUID)
	switch {
	case is == nil:
		delete(e.dutyTurnedIn, serviceUUID)
	case was == nil || was.GetDuty() != is.GetDuty():
		e.dutyTurnedIn[serviceUUID] = wanted.GetRevision()
	}
}

// apply notes the Plan that the engine has applied; nil: the engine has none. It returns the virtual services that
// differ from the Plan before, and the pools with servers whose verdicts it dropped.
func (e *Engine) apply(held *enginev1.Plan, warnings []*dataplanev1.Finding, now time.Time) (
	services, pools map[string]bool) {
	before := e.Held
	pools = e.forgetUnchecked(before, held, e.heldKnown)
	e.Held, e.heldKnown, e.Warnings = held, true, warnings
	if held == e.Wanted {
		e.Refusal = nil
	}
	return e.assume(before, held, now), pools
}

// assume takes the duties from the Plan that the engine has applied, where they differ from those of the Plan before.
func (e *Engine) assume(before, held *enginev1.Plan, now time.Time) (services map[string]bool) {
	services = servicesIn(plan.Delta(before, held), before)
	for uuid := range services {
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
	return services
}

// greet takes the revision that an engine reports at the begin of its session. It returns the same as apply.
func (e *Engine) greet(revision uint64, now time.Time) (services, pools map[string]bool) {
	switch revision {
	case 0: // the engine has lost its disk, and serves nothing
		return e.apply(nil, nil, now)
	case e.Held.GetRevision():
	default: // the engine applied another Plan, and its answer was lost
		e.heldKnown, e.Warnings = false, nil
	}
	return nil, nil
}

// countIdle counts the samples without a client, for each virtual service that drains. It returns true if one of them
// has drained with this sample.
func (e *Engine) countIdle() (drained bool) {
	for uuid, duty := range e.duties {
		counters := e.Sample.Service(uuid)
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
