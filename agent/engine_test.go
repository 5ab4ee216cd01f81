package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weir-lb/weir/agent/link"
	"github.com/weir-lb/weir/agent/state"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// bench is an engine whose parts write down what they are told.
type bench struct {
	*engine
	notes sync.Mutex // of told
	told  []string
	plans []*enginev1.Plan // that the data plane was asked for
	disk  error
}

func (b *bench) SaveIdentity(identity *state.Identity) error {
	b.note("disk: %s", identity.EngineUUID)
	return b.disk
}

func (b *bench) note(format string, arguments ...any) {
	b.notes.Lock()
	defer b.notes.Unlock()
	b.told = append(b.told, fmt.Sprintf(format, arguments...))
}

func newBench() *bench {
	b := &bench{}
	note := b.note
	b.engine = &engine{
		log: slog.New(slog.DiscardHandler), dir: b, session: new(link.Session), status: new(enginev1.Status),
		idle:          make(chan struct{}, 1),
		routes:        &signpost{b},
		fastpath:      &siding{b},
		preparer:      newPreparer(&siding{b}),
		statesChanged: func() { note("data plane: states") },
		watch:         func(plan *enginev1.Plan) { note("monitors: plan %d", plan.GetRevision()) },
		verdicts:      func() []*enginev1.ServerVerdict { return []*enginev1.ServerVerdict{{ServerId: "s"}} },
		keep:          func(plan *enginev1.Plan) { note("disk: plan %d", plan.GetRevision()) },
		send: func(report *enginev1.Report) {
			switch body := report.GetBody().(type) {
			case *enginev1.Report_Ack:
				note("controller: ack %s, %d warnings", body.Ack.GetNonce(), len(body.Ack.GetWarnings()))
			case *enginev1.Report_Nack:
				note("controller: nack %s %v, %d errors", body.Nack.GetNonce(), body.Nack.GetCause(), len(body.Nack.GetErrors()))
			default:
				note("controller: %T", body)
			}
		},
	}
	return b
}

// signpost is the routes of a bench.
type signpost struct{ *bench }

func (s *signpost) note(format string, arguments ...any) {
	s.bench.note("routes: "+format, arguments...)
}

func (s *signpost) Prepare(plan *enginev1.Plan) {
	s.plans = append(s.plans, plan)
	s.note("plan %d comes", plan.GetRevision())
}
func (s *signpost) Applied(plan *enginev1.Plan) { s.note("plan %d serves", plan.GetRevision()) }
func (s *signpost) Refused(plan *enginev1.Plan) { s.note("plan %d is refused", plan.GetRevision()) }
func (s *signpost) Status(status *enginev1.Status) {
	s.note("data plane %d", status.GetDataplanePid())
}
func (s *signpost) Sampled(*dataplanev1.Sample) { s.note("sample") }
func (s *signpost) Routing() *enginev1.Routing {
	return &enginev1.Routing{Peers: []*enginev1.PeerState{{Address: "10.0.0.1"}}}
}

// siding is the fast path of a bench.
type siding struct{ *bench }

func (s *siding) note(format string, arguments ...any) {
	s.bench.note("fast path: "+format, arguments...)
}

func (s *siding) Expect(plan *enginev1.Plan) { s.note("plan %d comes", plan.GetRevision()) }
func (s *siding) Hold(plan *enginev1.Plan)   { s.note("plan %d serves", plan.GetRevision()) }
func (s *siding) Refused()                   { s.note("refused") }
func (s *siding) Attend()                    { s.note("attended to") }
func (s *siding) Beat()                      { s.note("beat") }

func (s *siding) Detours() *enginev1.Detours { return nil }

// expect has the preparer do what waits, and compares what was told in all.
func (b *bench) expect(t *testing.T, want ...string) {
	t.Helper()
	b.preparer.work()
	if !slices.Equal(b.told, want) {
		t.Errorf("told %q, want %q", b.told, want)
	}
	b.told = nil
}

func whole(revision uint64) *enginev1.PlanDelta {
	return &enginev1.PlanDelta{Revision: revision, Nonce: fmt.Sprint("n", revision)}
}

// receive has a Plan come and be prepared.
func (b *bench) receive(delta *enginev1.PlanDelta) {
	b.Receive(delta)
	b.preparer.work()
}

func TestAcknowledgesOnlyWhatTheDataPlaneServes(t *testing.T) {
	b := newBench()
	b.receive(whole(1))
	b.expect(t, "fast path: plan 1 comes", "routes: plan 1 comes")
	b.Applied(b.plans[0], []*dataplanev1.Finding{{}})
	b.expect(t, "controller: ack n1, 1 warnings", "monitors: plan 1", "routes: plan 1 serves", "disk: plan 1", "fast path: plan 1 serves")
}

func TestRefusedPlanIsNeitherKeptNorMonitored(t *testing.T) {
	b := newBench()
	b.receive(whole(1))
	b.Applied(b.plans[0], nil)
	b.receive(whole(2))
	b.preparer.work()
	b.told = nil
	b.Refused(b.plans[1], []*dataplanev1.Finding{{Message: "no"}})
	b.expect(t, "controller: nack n2 NACK_CAUSE_REFUSED, 1 errors", "routes: plan 2 is refused", "fast path: refused")
	if hello := b.Hello(); hello.GetRevision() != 1 {
		t.Errorf("says that it holds %d", hello.GetRevision())
	}
}

func TestAsksForAWholePlanWhenADeltaIsForAnother(t *testing.T) {
	b := newBench()
	b.Receive(&enginev1.PlanDelta{BaseRevision: 3, Revision: 4, Nonce: "n"})
	b.expect(t, "controller: nack n NACK_CAUSE_RESYNC, 0 errors")
}

func TestHelloTellsEverything(t *testing.T) {
	b := newBench()
	b.Changed(&enginev1.Status{DataplanePid: 7})
	hello := b.Hello()
	if hello.GetStatus().GetDataplanePid() != 7 || len(hello.GetVerdicts().GetVerdicts()) != 1 || hello.GetResources().GetCores() == 0 ||
		len(hello.GetRouting().GetPeers()) != 1 {
		t.Errorf("got %v", hello)
	}
	if b.Heartbeat().GetDataplanePid() != 7 {
		t.Error("the heartbeat tells of another status")
	}
}

func TestVerdictGoesToTheControllerWhenTheDataPlaneGoesByIt(t *testing.T) {
	b := newBench()
	sampleWith := func(up bool) *dataplanev1.Sample {
		return &dataplanev1.Sample{Servers: []*dataplanev1.ServerCounters{{PoolUuid: "p", ServerId: "s", Up: up}}}
	}
	b.verdict(&enginev1.ServerVerdict{PoolUuid: "p", ServerId: "s", Up: true})
	b.expect(t, "data plane: states")
	b.Sampled(sampleWith(false))
	b.expect(t, "routes: sample", "fast path: beat", "controller: *enginev1.Report_Sample", "fast path: attended to")
	b.Sampled(sampleWith(true))
	b.expect(t, "routes: sample", "fast path: beat", "controller: *enginev1.Report_Sample", "controller: *enginev1.Report_Verdicts", "fast path: attended to")
	b.Sampled(sampleWith(true))
	b.expect(t, "routes: sample", "fast path: beat", "controller: *enginev1.Report_Sample", "fast path: attended to")
}

func TestVerdictOnAServerThatTheDataPlaneDoesNotHaveIsNotHeldBack(t *testing.T) {
	b := newBench()
	b.verdict(&enginev1.ServerVerdict{PoolUuid: "p", ServerId: "gone"})
	b.told = nil
	b.Sampled(&dataplanev1.Sample{})
	b.expect(t, "routes: sample", "fast path: beat", "controller: *enginev1.Report_Sample", "controller: *enginev1.Report_Verdicts", "fast path: attended to")
}

func TestAnotherControllerStartsFromNothing(t *testing.T) {
	b := newBench()
	b.receive(whole(5))
	b.Applied(b.plans[0], nil)
	b.preparer.work()
	b.told = nil
	b.disk = errors.New("no space left on device")
	b.Joined(&state.Identity{EngineUUID: "se-2"})
	b.expect(t, "disk: se-2")
	if hello := b.Hello(); hello.GetRevision() != 0 {
		t.Errorf("claims revision %d of another controller", hello.GetRevision())
	}
}

// loading is a fast path whose programs take until done is closed to load.
type loading struct {
	siding
	began, done chan struct{}
}

func (l *loading) Expect(plan *enginev1.Plan) {
	close(l.began)
	<-l.done
	l.siding.Expect(plan)
}

func TestHeartbeatsAndReportsGoOnWhileProgramsAreLoaded(t *testing.T) {
	b := newBench()
	slow := &loading{siding{b}, make(chan struct{}), make(chan struct{})}
	b.preparer = newPreparer(slow)
	passed := make(chan struct{})
	go b.preparer.run(t.Context())
	meanwhile := func(name string, do func()) {
		t.Helper()
		done := make(chan struct{})
		go func() { do(); close(done) }()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			t.Fatalf("%s waits for the programs", name)
		}
	}
	b.routes = &waymark{signpost{b}, passed}
	meanwhile("a Plan that comes", func() { b.Receive(whole(1)) })
	<-slow.began
	meanwhile("the heartbeat", func() { b.Heartbeat() })
	meanwhile("a new stream", func() { b.Hello() })
	meanwhile("a Plan that serves", func() { b.Applied(&enginev1.Plan{Revision: 9}, nil) })
	meanwhile("a Plan that is refused", func() { b.Refused(&enginev1.Plan{Revision: 8}, nil) })
	meanwhile("a change of status", func() { b.Changed(new(enginev1.Status)) })
	meanwhile("a sample", func() { b.Sampled(new(dataplanev1.Sample)) })
	meanwhile("a verdict", func() { b.verdict(new(enginev1.ServerVerdict)) })
	select {
	case <-passed:
		t.Error("the Plan went on before the fast path was ready for it")
	default:
	}
	close(slow.done)
	<-passed
}

// waymark is routes that say when a Plan has come.
type waymark struct {
	signpost
	passed chan struct{}
}

func (w *waymark) Prepare(plan *enginev1.Plan) {
	w.signpost.Prepare(plan)
	close(w.passed)
}

func TestOfWhatWaitsForThePreparerOnlyTheNewestIsDone(t *testing.T) {
	b := newBench()
	b.Receive(whole(1))
	b.Refused(&enginev1.Plan{Revision: 3}, nil)
	b.Applied(&enginev1.Plan{Revision: 4}, nil)
	b.Receive(whole(2))
	b.told = nil
	b.expect(t, "fast path: plan 4 serves", "fast path: plan 2 comes", "routes: plan 2 comes")
	b.expect(t)
}
