package fleet

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/health"
)

// Connected begins a session. Verdicts, states and routes are those of the Hello from now on. A refusal ends: link
// sends the Plan again. Warnings stay if the engine still has their Plan. The last sample stays, and the suspicions in
// it: the same data plane may go on counting. Connected returns the number of this greeting.
func (f *Fleet) Connected(engineUUID string, hello *enginev1.Hello) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isDeleted(engineUUID) {
		return f.greetings // its session is about to end
	}
	f.greetings++
	engine := f.engine(engineUUID)
	if engine.State == health.Unheard {
		engine.counted = hello.GetRevision() != 0
		engine.resumes = hello.GetRevision() != 0 && f.isResuming()
	}
	engine.Since, engine.Reported, engine.Gone = f.now(), f.now(), ""
	engine.Version, engine.Resources = hello.GetVersion(), hello.GetResources()
	engine.Status, engine.Detours, engine.Refusal = hello.GetStatus(), hello.GetDetours(), nil
	engine.hearRouting(hello.GetRouting(), f.now())
	f.known.news.of(engine.greet(hello.GetRevision(), f.now()))
	f.known.news.ofEngine(engine)
	f.turn(engineUUID, engine, engine.State.Connected(engine.Status.GetDataplane()))
	clear(engine.verdicts)
	f.judge(engineUUID, engine, hello.GetVerdicts())
	f.move() // the engine waits for a decision, also if its session ended unnoticed
	return f.greetings
}

// Greetings returns the number of the last greeting. All later calls of Facts know of it.
func (f *Fleet) Greetings() uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.greetings
}

// Reported takes a report of an agent: any but the Hello and the answers to Plans.
func (f *Fleet) Reported(engineUUID string, report *enginev1.Report) {
	var sample *Sample
	if from := report.GetSample(); from != nil {
		sample = newSample(from, f.lastSample(engineUUID))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	engine := f.known.engines[engineUUID]
	if engine == nil {
		return // an operator has just deleted it
	}
	engine.Reported = f.now()
	switch body := report.GetBody().(type) {
	case *enginev1.Report_Status:
		engine.Status = body.Status
		f.turn(engineUUID, engine, engine.State.Reported(body.Status.GetDataplane()))
	case *enginev1.Report_Verdicts:
		f.judge(engineUUID, engine, body.Verdicts)
	case *enginev1.Report_Sample:
		f.hearSample(engineUUID, engine, sample)
	case *enginev1.Report_Routing:
		engine.hearRouting(body.Routing, f.now())
		f.known.news.ofEngine(engine)
		f.move()
	case *enginev1.Report_Host:
		engine.EarlierHost, engine.Host = engine.Host, body.Host
		engine.checked(body.Host.GetCheckTimes())
	case *enginev1.Report_Detours:
		engine.Detours = body.Detours
	case *enginev1.Report_Event:
		f.tell(f.called(engineUUID).Said(body.Event.GetId(), body.Event.GetMessage(), body.Event.GetObjectUuid()))
	}
}

// lastSample returns nil if the engine has sent none. It is that of the next report, too: the reports of an engine come
// one after the other.
func (f *Fleet) lastSample(engineUUID string) *Sample {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if engine := f.known.engines[engineUUID]; engine != nil {
		return engine.Sample
	}
	return nil
}

func (f *Fleet) hearSample(engineUUID string, engine *Engine, sample *Sample) {
	f.known.counting.hear(engineUUID, engine.Sample, sample)
	f.known.news.of(nil, engine.take(sample, f.known.past, f.known.before))
	engine.SampledAt = f.now()
	f.tellShortages(engineUUID, engine)
	f.tellSampled()
	if engine.countIdle() {
		f.move()
	}
}

// Applied notes that an engine has applied a Plan.
func (f *Fleet) Applied(engineUUID string, plan *enginev1.Plan, warnings []*dataplanev1.Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if engine := f.known.engines[engineUUID]; engine != nil {
		f.known.news.of(engine.apply(plan, warnings, f.now()))
		f.move()
	}
}

// Refused notes that an engine refused a Plan and keeps the one that it had, and why.
func (f *Fleet) Refused(engineUUID string, plan *enginev1.Plan, errors []*dataplanev1.Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	engine := f.known.engines[engineUUID]
	if engine != nil && engine.Wanted == plan { // a newer Plan may be on its way already
		since := f.now()
		if engine.Refusal != nil {
			since = engine.Refusal.Since
		}
		engine.Refusal = &Refusal{Revision: plan.GetRevision(), Since: since, Errors: errors}
		f.move()
	}
}

// Missed notes that a number of heartbeats in a row did not arrive. Disconnected follows.
func (f *Fleet) Missed(engineUUID string, heartbeats int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known.engines[engineUUID].IsConnected() { // otherwise it has sent no Hello
		f.tell(f.called(engineUUID).Missed(heartbeats))
	}
}

// Disconnected ends a session.
func (f *Fleet) Disconnected(engineUUID, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	engine := f.known.engines[engineUUID]
	if !engine.IsConnected() {
		return // it sent no Hello: there is nothing to end
	}
	engine.Gone, engine.Since = reason, f.now()
	engine.holdings.unknown = true
	f.turn(engineUUID, engine, engine.State.Disconnected())
}

// called returns an engine with its name, for events. The caller holds the lock.
func (f *Fleet) called(engineUUID string) events.Engine {
	name, exists := f.find(engineUUID)
	if !exists {
		name = f.known.Name(engineUUID)
	}
	return events.Engine{UUID: engineUUID, Name: name}
}

func (f *Fleet) tell(entry events.Entry) { f.events.Add(entry) }
