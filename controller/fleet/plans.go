package fleet

import (
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
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
	dataplanev1.Duty_DUTY_SERVE: place.Serve, dataplanev1.Duty_DUTY_DRAIN: place.Drain,
	dataplanev1.Duty_DUTY_STANDBY: place.StandBy,
}

// expect notes what the engine shall have, and what of it is new. It returns the virtual services of which it is.
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

// turnDuty notes since when the engine shall do something else for a virtual service than before.
func (e *Engine) turnDuty(serviceUUID string, wanted *enginev1.Plan) {
	e.holdings.lookAt(serviceUUID)
	was, is := serviceIn(e.Wanted, serviceUUID), serviceIn(wanted, serviceUUID)
	switch {
	case is == nil:
		delete(e.turnedIn, serviceUUID)
	case was == nil || was.GetDuty() != is.GetDuty():
		e.turnedIn[serviceUUID] = wanted.GetRevision()
	}
}

// apply notes what the engine has; nil: nothing. It returns the virtual services that it has otherwise than before.
func (e *Engine) apply(held *enginev1.Plan, warnings []*dataplanev1.Finding, now time.Time) map[string]bool {
	before := e.Held
	e.Held, e.told, e.Warnings = held, true, warnings
	if held == e.Wanted {
		e.Refusal = nil
	}
	return e.assume(before, held, now)
}

// assume takes over the duties of a Plan that was applied, where they are not those of the one before.
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

// greet takes the revision that the engine says it has when its session begins.
func (e *Engine) greet(revision uint64, now time.Time) {
	switch revision {
	case 0: // its disk is lost: it serves nothing of what it had
		e.apply(nil, nil, now)
	case e.Held.GetRevision():
	default: // it took another Plan, and the answer was lost
		e.told = false
	}
}

// countIdle notes which of the virtual services that drain have no client; true: one has drained just now.
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
