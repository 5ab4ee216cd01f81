package fleet

import (
	"fmt"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
)

// Connected begins a session; what its Hello does not repeat is forgotten. It returns the number of this greeting.
func (f *Fleet) Connected(engineUUID string, hello *enginev1.Hello) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.move() // it waits for a decision, also where it seems never to have been away
	f.news.Store(true)
	f.greetings++
	engine := f.engine(engineUUID)
	engine.connected, engine.reason = true, ""
	engine.since, engine.reported = f.now(), f.now()
	engine.version, engine.resources = hello.GetVersion(), hello.GetResources()
	engine.status, engine.detours = hello.GetStatus(), hello.GetDetours()
	engine.hearRouting(hello.GetRouting(), f.now())
	switch hello.GetRevision() {
	case 0: // its disk is lost: it serves nothing of what it had
		engine.apply(nil, nil, f.now())
	case engine.held.GetRevision():
	default: // it took another Plan, and the answer was lost
		engine.told = false
	}
	f.watch(engineUUID, engine)
	clear(engine.verdicts)
	engine.judge(hello.GetVerdicts(), f.wanted)
	return f.greetings
}

// Greetings is the number of the last greeting that Facts asked for from now on know of.
func (f *Fleet) Greetings() uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.greetings
}

// Reported takes what an agent says between Hello and the end.
func (f *Fleet) Reported(engineUUID string, report *enginev1.Report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	engine := f.engines[engineUUID]
	if engine == nil {
		return // it was deleted a moment ago
	}
	engine.reported = f.now()
	switch body := report.GetBody().(type) {
	case *enginev1.Report_Status:
		engine.status = body.Status
		f.news.Store(true)
		f.watch(engineUUID, engine)
	case *enginev1.Report_Verdicts:
		engine.judge(body.Verdicts, f.wanted)
		f.news.Store(true)
	case *enginev1.Report_Sample:
		if engine.take(body.Sample, f.past) {
			f.news.Store(true)
		}
		f.tellShortages(engineUUID, engine)
		if engine.countIdle() {
			f.move()
		}
	case *enginev1.Report_Routing:
		engine.hearRouting(body.Routing, f.now())
		f.news.Store(true)
		f.move()
	case *enginev1.Report_Detours:
		engine.detours = body.Detours
	case *enginev1.Report_Event:
		f.events.Add(events.Entry{
			ID: body.Event.GetId(), Kind: "SERVICEENGINE", UUID: engineUUID, Name: f.name(engineUUID), Tenant: adminTenant,
			Message: body.Event.GetMessage(), Related: []string{body.Event.GetObjectUuid()},
		})
	}
}

// Applied says that an engine serves a Plan.
func (f *Fleet) Applied(engineUUID string, plan *enginev1.Plan, warnings []*dataplanev1.Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if engine := f.engines[engineUUID]; engine != nil {
		engine.apply(plan, warnings, f.now())
		f.news.Store(true)
		f.move()
	}
}

// Refused says that an engine keeps the Plan it had, and why.
func (f *Fleet) Refused(engineUUID string, plan *enginev1.Plan, errors []*dataplanev1.Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if engine := f.engines[engineUUID]; engine != nil && engine.wanted == plan { // a newer one may be on its way already
		engine.refusal = &refusal{revision: plan.GetRevision(), errors: errors}
		f.news.Store(true)
		f.move()
	}
	for _, finding := range errors {
		f.log.Warn("engine refused a change", "engine", engineUUID, "revision", plan.GetRevision(),
			"object", finding.GetKind()+" "+finding.GetName(), "field", finding.GetField(), "message", finding.GetMessage())
	}
}

// Missed says that so many heartbeats in a row did not come; Disconnected follows.
func (f *Fleet) Missed(engineUUID string, heartbeats int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	engine := f.engines[engineUUID]
	if engine == nil || !engine.connected {
		return // it had not said who it is
	}
	f.events.Add(events.Entry{
		ID: "SE_HEARTBEAT_FAILURE", Kind: "SERVICEENGINE", UUID: engineUUID, Name: f.name(engineUUID), Tenant: adminTenant,
		Message: fmt.Sprintf("%d heartbeats in a row did not come: its agent is cut off from the controller, or hangs", heartbeats),
	})
}

// Disconnected ends a session.
func (f *Fleet) Disconnected(engineUUID, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	engine := f.engines[engineUUID]
	if engine == nil || !engine.connected {
		return // it had not said who it is: nothing is known of it
	}
	engine.connected, engine.reason, engine.since = false, reason, f.now()
	engine.holdings.unknown = true
	f.news.Store(true)
	f.watch(engineUUID, engine)
}
