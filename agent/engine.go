package agent

import (
	"log/slog"
	"sync"

	"github.com/weir-lb/weir/agent/dataplane"
	"github.com/weir-lb/weir/agent/fastpath/detour"
	"github.com/weir-lb/weir/agent/link"
	"github.com/weir-lb/weir/agent/monitor"
	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/agent/route"
	"github.com/weir-lb/weir/agent/state"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// engine connects the parts of an agent: it receives what each part reports, and tells the others. It is the Engine of
// the link and the Observer of the data plane. Nothing that it calls blocks, so no part waits for another.
type engine struct {
	version string
	log     *slog.Logger
	dir     interface{ SaveIdentity(*state.Identity) error }

	// What it tells; set before anything runs.
	routes       routes
	detour       fast
	preparer     *preparer
	stateChanged func(plan.Member)
	ask          func(*dataplanev1.Question) bool
	share        func(*dataplanev1.KeyShares)
	watch        func(*plan.Plan)
	verdicts     func() []monitor.Verdict
	send         func(*enginev1.Report)
	keep         func(*plan.Plan)

	// mu is the lock that heartbeats need. Under it nothing asks the kernel, touches a disk or logs, because each of
	// these may take long.
	mu      sync.Mutex
	uuid    string // empty until the engine has joined
	session *link.Session
	status  dataplane.Status
	// unheeded are the newest verdicts that the data plane has not applied yet, one for each monitored server.
	unheeded map[plan.Member]monitor.Verdict

	// Of Sampled alone.
	detours *detour.Counts // as reported last; nil: none were
	idle    chan struct{}  // capacity 1: the last sample shows no client
}

// routes announces VIPs. It gets each Plan before the data plane does.
type routes interface {
	Prepare(*plan.Plan)
	Applied(*plan.Plan)
	Refused(*plan.Plan)
	Status(route.Dataplane)
	Sampled(up map[plan.Member]bool)
	Routing() *route.Routing
}

// fast passes on packets that belong to other engines. The preparer tells it what Plans need.
type fast interface {
	Beat()
	Detours() *detour.Counts
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
	hello := &enginev1.Hello{ // asks the kernel, so it comes before the lock that heartbeats need
		Version: e.version, Resources: resources(), Detours: wireDetours(e.detour.Detours()),
		Routing: wireRouting(e.routes.Routing()),
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.session.Opened()
	hello.Revision, hello.Status, hello.Verdicts = e.session.Revision(), wireStatus(e.status),
		wireVerdicts(e.verdicts())
	return hello
}

func (e *engine) Receive(delta *enginev1.PlanDelta) {
	answer := e.receive(delta)
	switch nack := answer.GetNack(); nack.GetCause() {
	case enginev1.NackCause_NACK_CAUSE_RESYNC:
		e.log.Info("asking the controller for a whole Plan", "revision", delta.GetRevision(), "base",
			delta.GetBaseRevision())
	case enginev1.NackCause_NACK_CAUSE_REFUSED:
		e.complain(delta.GetRevision(), plan.FindingsOf(nack.GetErrors()))
	}
}

// receive returns an answer that is known at once; nil: the Plan is being applied.
func (e *engine) receive(delta *enginev1.PlanDelta) (answer *enginev1.Report) {
	e.mu.Lock()
	defer e.mu.Unlock()
	plan, answer := e.session.Receive(delta)
	if answer != nil {
		e.send(answer)
		return answer
	}
	e.preparer.expect(plan, e.routes.Prepare)
	return nil
}

// Ask passes a question on to the data plane, whose answer comes by Explained.
func (e *engine) Ask(question *dataplanev1.Question) {
	e.mu.Lock()
	state := e.status.State
	e.mu.Unlock()
	refused := ""
	switch {
	case state != dataplane.Running:
		refused = "its data plane does not run"
	case !e.ask(question):
		refused = "too many questions wait for its data plane"
	default:
		return
	}
	e.Explained(&dataplanev1.Explanation{Id: question.GetId(), Error: refused})
}

// Share passes shares of hot keys on to the data plane.
func (e *engine) Share(shares *dataplanev1.KeyShares) { e.share(shares) }

func (e *engine) Heartbeat() *enginev1.Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	return wireStatus(e.status)
}

// ---- What the data plane says

func (e *engine) Applied(plan *plan.Plan, warnings []plan.Finding) {
	e.log.Info("a Plan serves", "revision", plan.Revision, "warnings", len(warnings))
	e.serves(plan, warnings, e.preparer.hold)
}

func (e *engine) Assumed(plan *plan.Plan) { e.serves(plan, nil, e.preparer.assume) }

func (e *engine) serves(plan *plan.Plan, warnings []plan.Finding, prepare func(*plan.Plan)) {
	e.mu.Lock()
	report := e.session.Applied(plan, warnings)
	prepare(plan) // before the controller sends the next Plan, which is prepared after this one
	e.answer(report)
	e.mu.Unlock()
	// What follows walks over the whole Plan, so heartbeats do not wait for it.
	e.watch(plan)
	e.routes.Applied(plan)
	e.keep(plan)
}

func (e *engine) Refused(plan *plan.Plan, errors []plan.Finding) {
	e.complain(plan.Revision, errors)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer(e.session.Refused(plan, errors))
	e.preparer.refuse(plan)
	e.routes.Refused(plan)
}

func (e *engine) complain(revision uint64, errors []plan.Finding) {
	for _, finding := range errors {
		e.log.Error("the engine refuses a Plan", "revision", revision, "kind", finding.Kind,
			"name", finding.Name, "field", finding.Field, "reason", finding.Message)
	}
}

func (e *engine) answer(report *enginev1.Report) {
	if report != nil {
		e.send(report)
	}
}

func (e *engine) Changed(status dataplane.Status) {
	e.mu.Lock()
	e.status = status
	e.mu.Unlock()
	e.routes.Status(seenByRoutes(status))
	e.send(&enginev1.Report{Body: &enginev1.Report_Status{Status: wireStatus(status)}})
}

func seenByRoutes(status dataplane.Status) route.Dataplane {
	switch {
	case status.State != dataplane.Running:
		return route.Away
	case status.ServingRevision == 0:
		return route.Idle
	default:
		return route.Serves
	}
}

func (e *engine) Sampled(sample dataplane.Sample) {
	e.routes.Sampled(sample.Up)
	e.detour.Beat()
	e.preparer.attend()
	e.noteIdle(sample)
	e.send(&enginev1.Report{Body: &enginev1.Report_Sample{Sample: sample.Wire}})
	if detours := e.detour.Detours(); !same(detours, e.detours) {
		e.detours = detours
		e.send(&enginev1.Report{Body: &enginev1.Report_Detours{Detours: wireDetours(detours)}})
	}
	if heeded := e.heeded(sample); len(heeded) > 0 {
		e.send(&enginev1.Report{Body: &enginev1.Report_Verdicts{Verdicts: wireVerdicts(heeded)}})
	}
}

func (e *engine) Explained(explanation *dataplanev1.Explanation) {
	e.send(&enginev1.Report{Body: &enginev1.Report_Explanation{Explanation: explanation}})
}

func (e *engine) Demanded(demands *dataplanev1.KeyDemands) {
	e.send(&enginev1.Report{Body: &enginev1.Report_KeyDemands{KeyDemands: demands}})
}

func same(a, b *detour.Counts) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// noteIdle keeps idle full while there is no client.
func (e *engine) noteIdle(sample dataplane.Sample) {
	select {
	case <-e.idle:
	default:
	}
	if !sample.Clients {
		e.idle <- struct{}{}
	}
}

// heeded removes the verdicts that the data plane has applied, as a sample shows.
func (e *engine) heeded(sample dataplane.Sample) (heeded []monitor.Verdict) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for server, verdict := range e.unheeded {
		if seen, listed := sample.Up[server]; !listed || seen == verdict.Up {
			heeded = append(heeded, verdict)
			delete(e.unheeded, server)
		}
	}
	return heeded
}

// ---- What the monitors say

// verdict sends a verdict to the data plane at once, and to the controller after the data plane has applied it: the
// controller may rely on a server that it reads is up. It also asks for the sample that shows this.
func (e *engine) verdict(verdict monitor.Verdict) {
	e.log.Info("server verdict", "pool", verdict.Pool, "server", verdict.Server, "up", verdict.Up,
		"reason", verdict.Reason)
	e.mu.Lock()
	if e.unheeded == nil {
		e.unheeded = map[plan.Member]monitor.Verdict{}
	}
	e.unheeded[verdict.Member] = verdict
	e.mu.Unlock()
	e.stateChanged(verdict.Member)
}

// heard is for the tasks of a server. The controller does not hear of them.
func (e *engine) heard(server plan.Member) { e.stateChanged(server) }

// ---- What the routes say

func (e *engine) routed(routing *route.Routing) {
	e.send(&enginev1.Report{Body: &enginev1.Report_Routing{Routing: wireRouting(routing)}})
}

func (e *engine) happened(event route.Event) {
	e.send(&enginev1.Report{Body: &enginev1.Report_Event{Event: wireEvent(event)}})
}

func (e *engine) engineUUID() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.uuid
}
