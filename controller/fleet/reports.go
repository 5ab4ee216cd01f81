package fleet

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
)

// Connected begins a session; what its Hello does not repeat is forgotten. It returns the number of this greeting.
func (f *Fleet) Connected(engineUUID string, hello *enginev1.Hello) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.move() // it waits for a decision, also where it seems never to have been away
	f.known.news.ofAll = true
	f.greetings++
	engine := f.engine(engineUUID)
	engine.Since, engine.Reported, engine.Gone = f.now(), f.now(), ""
	engine.Version, engine.Resources = hello.GetVersion(), hello.GetResources()
	engine.Status, engine.Detours = hello.GetStatus(), hello.GetDetours()
	engine.hearRouting(hello.GetRouting(), f.now())
	engine.greet(hello.GetRevision(), f.now())
	f.turn(engineUUID, engine, engine.State.Connected(engine.Status.GetDataplane()))
	clear(engine.verdicts)
	engine.judge(hello.GetVerdicts(), f.known.wanted)
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
	engine := f.known.engines[engineUUID]
	if engine == nil {
		return // it was deleted a moment ago
	}
	engine.Reported = f.now()
	switch body := report.GetBody().(type) {
	case *enginev1.Report_Status:
		engine.Status = body.Status
		f.turn(engineUUID, engine, engine.State.Reported(body.Status.GetDataplane()))
	case *enginev1.Report_Verdicts:
		engine.judge(body.Verdicts, f.known.wanted)
		for _, verdict := range body.Verdicts.GetVerdicts() {
			f.known.news.pools[verdict.GetPoolUuid()] = true
		}
	case *enginev1.Report_Sample:
		f.hearSample(engineUUID, engine, body.Sample)
	case *enginev1.Report_Routing:
		engine.hearRouting(body.Routing, f.now())
		f.known.news.ofAll = true
		f.move()
	case *enginev1.Report_Detours:
		engine.Detours = body.Detours
	case *enginev1.Report_Event:
		f.tell(f.called(engineUUID).Said(body.Event.GetId(), body.Event.GetMessage(), body.Event.GetObjectUuid()))
	}
}

func (f *Fleet) hearSample(engineUUID string, engine *Engine, sample *dataplanev1.Sample) {
	if engine.take(sample, f.known.past) {
		f.known.news.ofAll = true
	}
	f.tellShortages(engineUUID, engine)
	if engine.countIdle() {
		f.move()
	}
}

// Applied says that an engine serves a Plan.
func (f *Fleet) Applied(engineUUID string, plan *enginev1.Plan, warnings []*dataplanev1.Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if engine := f.known.engines[engineUUID]; engine != nil {
		f.known.news.ofServices(engine.apply(plan, warnings, f.now()))
		f.move()
	}
}

// Refused says that an engine keeps the Plan it had, and why.
func (f *Fleet) Refused(engineUUID string, plan *enginev1.Plan, errors []*dataplanev1.Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	engine := f.known.engines[engineUUID]
	if engine != nil && engine.Wanted == plan { // a newer one may be on its way already
		engine.Refusal = &Refusal{Revision: plan.GetRevision(), Errors: errors}
		f.move()
	}
	for _, finding := range errors {
		f.log.Warn("engine refused a change", "engine", engineUUID, "revision", plan.GetRevision(),
			"object", finding.GetKind()+" "+finding.GetName(), "field", finding.GetField(), "message",
			finding.GetMessage())
	}
}

// Missed says that so many heartbeats in a row did not come; Disconnected follows.
func (f *Fleet) Missed(engineUUID string, heartbeats int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known.engines[engineUUID].IsConnected() { // otherwise it had not said who it is
		f.tell(f.called(engineUUID).Missed(heartbeats))
	}
}

// Disconnected ends a session.
func (f *Fleet) Disconnected(engineUUID, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	engine := f.known.engines[engineUUID]
	if !engine.IsConnected() {
		return // it had not said who it is: nothing is known of it
	}
	engine.Gone, engine.Since = reason, f.now()
	engine.holdings.unknown = true
	f.known.news.ofAll = true
	f.turn(engineUUID, engine, engine.State.Disconnected())
}

// called is an engine as events name it; the caller holds the lock.
func (f *Fleet) called(engineUUID string) events.Engine {
	return events.Engine{UUID: engineUUID, Name: f.known.Name(engineUUID)}
}

func (f *Fleet) tell(entry events.Entry) { f.events.Add(entry) }
