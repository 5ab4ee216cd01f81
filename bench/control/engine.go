package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/weir-lb/weir/agent/dataplane"
	"github.com/weir-lb/weir/agent/link"
	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/agent/state"
	"github.com/weir-lb/weir/api/engine/enrollment"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// engine is the part of an agent that handles Plans: the agent's own link, its supervisor, and a real data plane. It
// has no monitors and no routes, and keeps nothing on disk, because engines elsewhere do not share the controller's
// disk either. It is the Engine of the link and the Observer of the data plane.
type engine struct {
	name       string
	ledger     *ledger
	supervisor *dataplane.Supervisor
	endServing func() // ends the data plane and waits for it

	mu       sync.Mutex
	link     *link.Link // nil: none stands
	endLink  func()
	session  *link.Session
	status   *enginev1.Status
	identity *state.Identity // nil: it has not joined yet
	plan     *plan.Plan      // that serves; nil: none
	served   map[string]string
	arrived  chan time.Time // capacity 1: when the first Plan came since the link was begun
	fault    error          // why it does not serve what it shall
}

// startEngine runs a data plane, with its files in dir, and dials nobody.
func startEngine(name, dir, programs string, workers int, ledger *ledger) (*engine, error) {
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	e := &engine{name: name, ledger: ledger, session: new(link.Session), status: new(enginev1.Status),
		served: map[string]string{}, arrived: make(chan time.Time, 1)}
	e.supervisor = dataplane.New(dataplane.Config{
		Binary: filepath.Join(programs, "weir-dataplane"), Workers: workers,
		Socket: filepath.Join(dir, "dataplane.sock"), Output: filepath.Join(dir, "dataplane.log"),
		States:   func(map[plan.Member]bool) map[plan.Member]plan.State { return nil },
		Segments: unlimited{}, Observer: e, Log: slog.New(slog.DiscardHandler),
	})
	serving, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { e.supervisor.Run(serving) })
	e.endServing = func() { stop(); running.Wait() }
	return e, nil
}

// unlimited segments are as long as their way allows.
type unlimited struct{}

func (unlimited) MaxSegment(netip.Addr) int                    { return 0 }
func (unlimited) ChangedSegments() (bool, map[netip.Addr]bool) { return false, nil }

// dial opens a link to the controller, which stays until hangUp. The token is for an engine that has not joined yet.
func (e *engine) dial(address string, token *enrollment.Token) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.arrived: // by an earlier link
	default:
	}
	dialling := link.New(link.Config{Address: address, Name: e.name, Token: token, Identity: e.identity, Engine: e,
		Log: slog.New(slog.DiscardHandler)})
	talking, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := dialling.Run(talking); err != nil {
			e.fail(err)
		}
	})
	e.link = dialling
	e.endLink = func() { stop(); running.Wait() }
}

// hangUp ends the link.
func (e *engine) hangUp() {
	e.mu.Lock()
	end := e.endLink
	e.link, e.endLink = nil, nil
	e.mu.Unlock()
	if end != nil {
		end()
	}
}

// stop ends the link and the data plane.
func (e *engine) stop() {
	e.hangUp()
	e.endServing()
}

// firstPlan waits until a Plan has come since the link was begun.
func (e *engine) firstPlan(ctx context.Context) (time.Time, error) {
	select {
	case at := <-e.arrived:
		return at, nil
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("%s got no Plan: %w", e.name, errors.Join(ctx.Err(), e.broken()))
	}
}

// serves counts the virtual services of the Plan that serves.
func (e *engine) serves() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.served)
}

// holds are the resources of the Plan that serves.
func (e *engine) holds() []*enginev1.Resource {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.plan.Wire().GetResources()
}

func (e *engine) broken() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fault
}

func (e *engine) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fault = fmt.Errorf("%s: %w", e.name, err)
}

// ---- What the link says

// Joined keeps the identity for the links that follow.
func (e *engine) Joined(identity *state.Identity) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.identity = identity
	e.session.Rejoined()
}

// Renewed keeps the new certificate.
func (e *engine) Renewed(identity *state.Identity) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.identity = identity
}

// resources are what the engine says of its machine.
var resources = &enginev1.Resources{Cores: 1, MemoryBytes: 2 << 30, Hostname: "bench"}

// Hello begins a stream.
func (e *engine) Hello() *enginev1.Hello {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.session.Opened()
	return &enginev1.Hello{Version: "bench", Revision: e.session.Revision(), Resources: resources, Status: e.status,
		Verdicts: new(enginev1.ServerVerdicts), Routing: new(enginev1.Routing), Detours: new(enginev1.Detours)}
}

// Receive passes a Plan on to the data plane.
func (e *engine) Receive(delta *enginev1.PlanDelta) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case e.arrived <- time.Now():
	default:
	}
	received, answer := e.session.Receive(delta)
	if answer != nil {
		e.send(answer)
		return
	}
	e.supervisor.Apply(received)
}

// Ask passes a question on to the data plane.
func (e *engine) Ask(question *dataplanev1.Question) { e.supervisor.Ask(question) }

// Share passes shares of hot keys on to the data plane.
func (e *engine) Share(shares *dataplanev1.KeyShares) { e.supervisor.Share(shares) }

// Demanded passes on what is asked of hot keys.
func (e *engine) Demanded(demands *dataplanev1.KeyDemands) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.send(&enginev1.Report{Body: &enginev1.Report_KeyDemands{KeyDemands: demands}})
}

// Explained passes on what the data plane says about a question.
func (e *engine) Explained(explanation *dataplanev1.Explanation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.send(&enginev1.Report{Body: &enginev1.Report_Explanation{Explanation: explanation}})
}

// Heartbeat says that the engine lives.
func (e *engine) Heartbeat() *enginev1.Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status
}

// ---- What the data plane says

// Applied acknowledges a Plan, and tells the ledger which virtual services have a new name in it.
func (e *engine) Applied(applied *plan.Plan, warnings []plan.Finding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.send(e.session.Applied(applied, warnings))
	at := time.Now()
	for _, change := range plan.Changes(e.plan, applied) {
		switch {
		case change.Kind != "virtualservice":
		case change.How == plan.IsNoMore:
			delete(e.served, change.UUID)
		case e.served[change.UUID] != change.Name:
			e.served[change.UUID] = change.Name
			e.ledger.acknowledged(change.UUID, change.Name, at)
		}
	}
	e.plan, e.fault = applied, nil
}

// Assumed does not happen: these engines keep no Plan on disk.
func (e *engine) Assumed(assumed *plan.Plan) { e.Applied(assumed, nil) }

// Refused says so, and lets the run fail with the reason.
func (e *engine) Refused(refused *plan.Plan, findings []plan.Finding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.send(e.session.Refused(refused, findings))
	e.fault = fmt.Errorf("%s refuses a Plan: %v", e.name, findings)
}

// Changed passes on what became of the data plane.
func (e *engine) Changed(status dataplane.Status) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = &enginev1.Status{
		Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_STARTING, Reason: status.Reason,
		DataplanePid:    uint32(status.PID),
		ServingRevision: status.ServingRevision, SinceUnixMs: status.SinceUnixMs,
	}
	if status.State == dataplane.Running {
		e.status.Dataplane = enginev1.DataplaneState_DATAPLANE_STATE_RUNNING
	}
	e.send(&enginev1.Report{Body: &enginev1.Report_Status{Status: e.status}})
}

// Sampled passes on what the data plane counts, each second.
func (e *engine) Sampled(sample dataplane.Sample) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.send(&enginev1.Report{Body: &enginev1.Report_Sample{Sample: sample.Wire}})
}

// send reports to the controller if there is a link and something to report. The caller holds the lock.
func (e *engine) send(report *enginev1.Report) {
	if report != nil && e.link != nil {
		e.link.Send(report)
	}
}
