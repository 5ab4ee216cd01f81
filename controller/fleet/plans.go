package fleet

import (
	"maps"
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

// expect notes what the engine shall have, and what of it is new.
func (e *Engine) expect(wanted *enginev1.Plan) {
	if e.Wanted == wanted {
		return
	}
	delta := plan.Delta(e.Wanted, wanted)
	for _, resource := range delta.GetChanged() {
		e.due[resource.GetUuid()] = wanted.GetRevision()
	}
	for _, uuid := range delta.GetRemoved() {
		delete(e.due, uuid)
	}
	e.turnDuties(wanted)
	e.Wanted, e.Refusal = wanted, nil
}

// turnDuties notes for which virtual services the engine shall do something else than before.
func (e *Engine) turnDuties(wanted *enginev1.Plan) {
	before, after := dutiesIn(e.Wanted), dutiesIn(wanted)
	for uuid, duty := range after {
		if was, had := before[uuid]; !had || was != duty {
			e.turnedIn[uuid] = wanted.GetRevision()
		}
	}
	maps.DeleteFunc(e.turnedIn, func(uuid string, _ uint64) bool { _, has := after[uuid]; return !has })
}

func dutiesIn(plan *enginev1.Plan) map[string]dataplanev1.Duty {
	duties := map[string]dataplanev1.Duty{}
	for _, resource := range plan.GetResources() {
		if service := resource.GetVirtualService(); service != nil {
			duties[service.GetUuid()] = service.GetDuty()
		}
	}
	return duties
}

// apply notes what the engine has; nil: nothing.
func (e *Engine) apply(held *enginev1.Plan, warnings []*dataplanev1.Finding, now time.Time) {
	e.Held, e.told, e.Warnings = held, true, warnings
	if held == e.Wanted {
		e.Refusal = nil
	}
	e.assume(held, now)
}

// assume takes over the duties of a Plan that was applied.
func (e *Engine) assume(held *enginev1.Plan, now time.Time) {
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
		default:
			duty.idle++
			drained = drained || duty.idle == idleSamples
		}
	}
	return drained
}
