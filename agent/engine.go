package agent

import (
	"log/slog"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/weir-lb/weir/agent/link"
	"github.com/weir-lb/weir/agent/state"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// engine is where the parts of an agent meet: it hears each of them and tells the others. It is the Engine of the link
// and the Observer of the data plane. Nothing it calls blocks, so none of them ever waits for another.
type engine struct {
	version string
	log     *slog.Logger
	dir     interface{ SaveIdentity(*state.Identity) error }

	// What it tells; set before anything runs.
	routes        routes
	fastpath      fast
	preparer      *preparer
	statesChanged func()
	watch         func(*enginev1.Plan)
	verdicts      func() []*enginev1.ServerVerdict
	send          func(*enginev1.Report)
	keep          func(*enginev1.Plan)

	mu      sync.Mutex
	uuid    string // empty until the engine has joined
	session *link.Session
	status  *enginev1.Status
	detours *enginev1.Detours // as reported last; of Sampled alone
	idle    chan struct{}     // capacity 1: the last sample shows no client
	// unheeded are the newest verdicts that the data plane does not go by yet; one for each server that is monitored.
	unheeded map[serverKey]*enginev1.ServerVerdict
}

type serverKey struct{ pool, server string }

// routes bring clients to what the engine serves. A Plan passes them on its way to the data plane.
type routes interface {
	Prepare(*enginev1.Plan)
	Applied(*enginev1.Plan)
	Refused(*enginev1.Plan)
	Status(*enginev1.Status)
	Sampled(*dataplanev1.Sample)
	Routing() *enginev1.Routing
}

// fast passes on packets that belong to other engines. What it has to do for Plans is the preparer's to ask.
type fast interface {
	Beat()
	Detours() *enginev1.Detours
}

// ---- What the link says

func (e *engine) Joined(identity *state.Identity) {
	e.mu.Lock()
	e.uuid = identity.EngineUUID
	e.session.Rejoined()
	e.mu.Unlock()
	e.Renewed(identity)
}

func (e *engine) Renewed(identity *state.Identity) {
	if err := e.dir.SaveIdentity(identity); err != nil {
		e.log.Error("the engine's identity is not on disk; a restarted agent would need a new token", "reason", err)
	}
}

func (e *engine) Hello() *enginev1.Hello {
	resources := resources() // asks the kernel: before the lock that heartbeats need
	e.mu.Lock()
	defer e.mu.Unlock()
	e.session.Opened()
	return &enginev1.Hello{
		Version: e.version, Revision: e.session.Revision(), Resources: resources, Status: e.status,
		Verdicts: &enginev1.ServerVerdicts{Verdicts: e.verdicts()}, Routing: e.routes.Routing(),
		Detours: e.fastpath.Detours(),
	}
}

func (e *engine) Receive(delta *enginev1.PlanDelta) {
	e.mu.Lock()
	defer e.mu.Unlock()
	plan, answer := e.session.Receive(delta)
	if answer != nil {
		e.log.Info("asking the controller for a whole Plan", "revision", delta.GetRevision(), "base", delta.GetBaseRevision())
		e.send(answer)
		return
	}
	e.preparer.expect(plan, e.routes.Prepare)
}

func (e *engine) Heartbeat() *enginev1.Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status
}

// ---- What the data plane says

func (e *engine) Applied(plan *enginev1.Plan, warnings []*dataplanev1.Finding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log.Info("a Plan serves", "revision", plan.GetRevision(), "warnings", len(warnings))
	e.answer(e.session.Applied(plan, warnings))
	e.watch(plan)
	e.preparer.hold(plan)
	e.routes.Applied(plan)
	e.keep(plan)
}

func (e *engine) Refused(plan *enginev1.Plan, errors []*dataplanev1.Finding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, finding := range errors {
		e.log.Error("the engine refuses a Plan", "revision", plan.GetRevision(), "kind", finding.GetKind(),
			"name", finding.GetName(), "field", finding.GetField(), "reason", finding.GetMessage())
	}
	e.answer(e.session.Refused(plan, errors))
	e.preparer.refuse()
	e.routes.Refused(plan)
}

func (e *engine) answer(report *enginev1.Report) {
	if report != nil {
		e.send(report)
	}
}

func (e *engine) Changed(status *enginev1.Status) {
	e.mu.Lock()
	e.status = status
	e.mu.Unlock()
	e.routes.Status(status)
	e.send(&enginev1.Report{Body: &enginev1.Report_Status{Status: status}})
}

func (e *engine) Sampled(sample *dataplanev1.Sample) {
	e.routes.Sampled(sample)
	e.fastpath.Beat()
	e.preparer.attend()
	e.noteIdle(sample)
	e.send(&enginev1.Report{Body: &enginev1.Report_Sample{Sample: sample}})
	if detours := e.fastpath.Detours(); !proto.Equal(detours, e.detours) {
		e.detours = detours
		e.send(&enginev1.Report{Body: &enginev1.Report_Detours{Detours: detours}})
	}
	if heeded := e.heeded(sample); len(heeded) > 0 {
		e.send(&enginev1.Report{Body: &enginev1.Report_Verdicts{Verdicts: &enginev1.ServerVerdicts{Verdicts: heeded}}})
	}
}

// noteIdle keeps idle full while there is no client.
func (e *engine) noteIdle(sample *dataplanev1.Sample) {
	select {
	case <-e.idle:
	default:
	}
	for _, service := range sample.GetVirtualServices() {
		if service.GetOpenConnections() > 0 {
			return
		}
	}
	e.idle <- struct{}{}
}

// heeded takes the verdicts that a sample does not contradict off the list.
func (e *engine) heeded(sample *dataplanev1.Sample) []*enginev1.ServerVerdict {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.unheeded) == 0 {
		return nil
	}
	up := make(map[serverKey]bool, len(sample.GetServers()))
	for _, server := range sample.GetServers() {
		up[serverKey{server.GetPoolUuid(), server.GetServerId()}] = server.GetUp()
	}
	var heeded []*enginev1.ServerVerdict
	for key, verdict := range e.unheeded {
		if seen, listed := up[key]; !listed || seen == verdict.GetUp() {
			heeded = append(heeded, verdict)
			delete(e.unheeded, key)
		}
	}
	return heeded
}

// ---- What the monitors say

// verdict goes to the data plane at once, and to the controller when the data plane goes by it: who reads there that a
// server is up may count on it. The sample that shows it follows at once.
func (e *engine) verdict(verdict *enginev1.ServerVerdict) {
	e.log.Info("server verdict", "pool", verdict.GetPoolUuid(), "server", verdict.GetServerId(), "up", verdict.GetUp(), "reason", verdict.GetReason())
	e.mu.Lock()
	if e.unheeded == nil {
		e.unheeded = map[serverKey]*enginev1.ServerVerdict{}
	}
	e.unheeded[serverKey{verdict.GetPoolUuid(), verdict.GetServerId()}] = verdict
	e.mu.Unlock()
	e.statesChanged()
}

// ---- What the routes say

func (e *engine) routed(routing *enginev1.Routing) {
	e.send(&enginev1.Report{Body: &enginev1.Report_Routing{Routing: routing}})
}

func (e *engine) happened(event *enginev1.Event) {
	e.send(&enginev1.Report{Body: &enginev1.Report_Event{Event: event}})
}

func (e *engine) engineUUID() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.uuid
}
