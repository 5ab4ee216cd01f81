package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

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

// bench is an engine whose parts record what they are told.
type bench struct {
	*engine
	notes sync.Mutex // of told
	told  []string
	plans []*plan.Plan // that the data plane was asked for
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
		log: slog.New(slog.DiscardHandler), dir: b, session: new(link.Session),
		idle:         make(chan struct{}, 1),
		routes:       &signpost{b},
		detour:       &siding{bench: b},
		stateChanged: func(plan.Member) { note("data plane: states") },
		watch:        func(plan *plan.Plan) { note("monitors: plan %d", plan.Revision) },
		verdicts:     func() []monitor.Verdict { return []monitor.Verdict{{}} },
		keep:         func(plan *plan.Plan) { note("disk: plan %d", plan.Revision) },
		send: func(report *enginev1.Report) {
			switch body := report.GetBody().(type) {
			case *enginev1.Report_Ack:
				note("controller: ack %s, %d warnings", body.Ack.GetNonce(), len(body.Ack.GetWarnings()))
			case *enginev1.Report_Nack:
				note("controller: nack %s %v, %d errors", body.Nack.GetNonce(), body.Nack.GetCause(),
					len(body.Nack.GetErrors()))
			default:
				note("controller: %T", body)
			}
		},
	}
	b.preparer = newPreparer(&siding{bench: b}, b.Refused)
	return b
}

// signpost is the routes of a bench.
type signpost struct{ *bench }

func (s *signpost) note(format string, arguments ...any) {
	s.bench.note("routes: "+format, arguments...)
}

func (s *signpost) Prepare(plan *plan.Plan) {
	s.plans = append(s.plans, plan)
	s.note("plan %d comes", plan.Revision)
}
func (s *signpost) Applied(plan *plan.Plan)          { s.note("plan %d serves", plan.Revision) }
func (s *signpost) Refused(plan *plan.Plan)          { s.note("plan %d is refused", plan.Revision) }
func (s *signpost) Status(dataplane route.Dataplane) { s.note("data plane %d", dataplane) }
func (s *signpost) Sampled(map[plan.Member]bool)     { s.note("sample") }
func (s *signpost) Routing() *route.Routing {
	return &route.Routing{Peers: []route.PeerState{{Address: netip.MustParseAddr("10.0.0.1")}}}
}

// siding is the fast path of a bench.
type siding struct {
	*bench
	lacks []plan.Finding
}

func (s *siding) note(format string, arguments ...any) {
	s.bench.note("fast path: "+format, arguments...)
}

func (s *siding) Expect(plan *plan.Plan) []plan.Finding {
	s.note("plan %d comes", plan.Revision)
	return s.lacks
}

func (s *siding) Hold(plan *plan.Plan)    { s.note("plan %d serves", plan.Revision) }
func (s *siding) Assume(plan *plan.Plan)  { s.note("plan %d stands for a newer one", plan.Revision) }
func (s *siding) Refused(plan *plan.Plan) { s.note("plan %d is refused", plan.Revision) }
func (s *siding) Attend()                 { s.note("attended to") }
func (s *siding) Beat()                   { s.note("beat") }

func (s *siding) Detours() *detour.Counts { return nil }

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
	b.Applied(b.plans[0], []plan.Finding{{}})
	b.expect(t, "controller: ack n1, 1 warnings", "monitors: plan 1", "routes: plan 1 serves", "disk: plan 1",
		"fast path: plan 1 serves")
}

func TestRefusedPlanIsNeitherKeptNorMonitored(t *testing.T) {
	b := newBench()
	b.receive(whole(1))
	b.Applied(b.plans[0], nil)
	b.receive(whole(2))
	b.preparer.work()
	b.told = nil
	b.Refused(b.plans[1], []plan.Finding{{Message: "no"}})
	b.expect(t, "controller: nack n2 NACK_CAUSE_REFUSED, 1 errors", "routes: plan 2 is refused",
		"fast path: plan 2 is refused")
	if hello := b.Hello(); hello.GetRevision() != 1 {
		t.Errorf("says that it holds %d", hello.GetRevision())
	}
}

func TestKernelIsNotBroughtToAPlanThatStandsForANewerOne(t *testing.T) {
	b := newBench()
	b.receive(whole(1))
	b.told = nil
	b.Assumed(b.plans[0])
	b.expect(t, "controller: ack n1, 0 warnings", "monitors: plan 1", "routes: plan 1 serves", "disk: plan 1",
		"fast path: plan 1 stands for a newer one")
}

func TestPlanForWhichTheKernelCannotBePreparedIsRefused(t *testing.T) {
	b := newBench()
	b.preparer = newPreparer(&siding{b, []plan.Finding{{Message: "no permission"}}}, b.Refused)
	b.receive(whole(1))
	if len(b.plans) != 0 {
		t.Error("the data plane gets it")
	}
	b.preparer.work()
	b.expect(t, "fast path: plan 1 comes", "controller: nack n1 NACK_CAUSE_REFUSED, 1 errors",
		"routes: plan 1 is refused", "fast path: plan 1 is refused")
}

func TestAsksForAWholePlanWhenADeltaIsForAnother(t *testing.T) {
	b := newBench()
	b.Receive(&enginev1.PlanDelta{BaseRevision: 3, Revision: 4, Nonce: "n"})
	b.expect(t, "controller: nack n NACK_CAUSE_RESYNC, 0 errors")
}

func TestHelloTellsEverything(t *testing.T) {
	b := newBench()
	b.Changed(dataplane.Status{PID: 7})
	hello := b.Hello()
	if hello.GetStatus().GetDataplanePid() != 7 || len(hello.GetVerdicts().GetVerdicts()) != 1 ||
		hello.GetResources().GetCores() == 0 ||
		len(hello.GetRouting().GetPeers()) != 1 {
		t.Errorf("got %v", hello)
	}
	if b.Heartbeat().GetDataplanePid() != 7 {
		t.Error("the heartbeat tells of another status")
	}
}

func TestRoutesHearWhetherTheDataPlaneServes(t *testing.T) {
	for status, want := range map[dataplane.Status]route.Dataplane{
		{State: dataplane.Starting}:                       route.Away,
		{State: dataplane.BackingOff, ServingRevision: 1}: route.Away,
		{State: dataplane.Running}:                        route.Idle,
		{State: dataplane.Running, ServingRevision: 1}:    route.Serves,
	} {
		b := newBench()
		b.Changed(status)
		b.expect(t, fmt.Sprintf("routes: data plane %d", want), "controller: *enginev1.Report_Status")
	}
}

func TestVerdictGoesToTheControllerWhenTheDataPlaneGoesByIt(t *testing.T) {
	b := newBench()
	sampleWith := func(up bool) dataplane.Sample {
		return dataplane.Sample{Up: map[plan.Member]bool{{Pool: "p", Server: "s"}: up}}
	}
	b.verdict(monitor.Verdict{Member: plan.Member{Pool: "p", Server: "s"}, Up: true})
	b.expect(t, "data plane: states")
	b.Sampled(sampleWith(false))
	b.expect(t, "routes: sample", "fast path: beat", "controller: *enginev1.Report_Sample", "fast path: attended to")
	b.Sampled(sampleWith(true))
	b.expect(t, "routes: sample", "fast path: beat", "controller: *enginev1.Report_Sample",
		"controller: *enginev1.Report_Verdicts", "fast path: attended to")
	b.Sampled(sampleWith(true))
	b.expect(t, "routes: sample", "fast path: beat", "controller: *enginev1.Report_Sample", "fast path: attended to")
}

func TestVerdictOnAServerThatTheDataPlaneDoesNotHaveIsNotHeldBack(t *testing.T) {
	b := newBench()
	b.verdict(monitor.Verdict{Member: plan.Member{Pool: "p", Server: "gone"}})
	b.told = nil
	b.Sampled(dataplane.Sample{})
	b.expect(t, "routes: sample", "fast path: beat", "controller: *enginev1.Report_Sample",
		"controller: *enginev1.Report_Verdicts", "fast path: attended to")
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

func (l *loading) Expect(plan *plan.Plan) []plan.Finding {
	close(l.began)
	<-l.done
	return l.siding.Expect(plan)
}

// promptly fails when something takes long.
func promptly(t *testing.T, name string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { do(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatalf("%s waits", name)
	}
}

func TestHeartbeatsAndReportsGoOnWhileProgramsAreLoaded(t *testing.T) {
	b := newBench()
	slow := &loading{siding{bench: b}, make(chan struct{}), make(chan struct{})}
	b.preparer = newPreparer(slow, b.Refused)
	passed := make(chan struct{})
	go b.preparer.run(t.Context())
	meanwhile := func(name string, do func()) {
		t.Helper()
		promptly(t, name, do)
	}
	b.routes = &waymark{signpost{b}, passed}
	meanwhile("a Plan that comes", func() { b.Receive(whole(1)) })
	<-slow.began
	meanwhile("the heartbeat", func() { b.Heartbeat() })
	meanwhile("a new stream", func() { b.Hello() })
	meanwhile("a Plan that serves", func() { b.Applied(&plan.Plan{Revision: 9}, nil) })
	meanwhile("a Plan that is refused", func() { b.Refused(&plan.Plan{Revision: 8}, nil) })
	meanwhile("a change of status", func() { b.Changed(dataplane.Status{}) })
	meanwhile("a sample", func() { b.Sampled(dataplane.Sample{}) })
	meanwhile("a verdict", func() { b.verdict(monitor.Verdict{}) })
	select {
	case <-passed:
		t.Error("the Plan went on before the fast path was ready for it")
	default:
	}
	close(slow.done)
	<-passed
}

// gate is a log, a disk and a fast path that take until open is closed.
type gate struct {
	siding
	slog.Handler
	reached, open chan struct{}
}

func (g *gate) wait() {
	select {
	case g.reached <- struct{}{}:
	default:
	}
	<-g.open
}

func (g *gate) Enabled(context.Context, slog.Level) bool  { return true }
func (g *gate) Handle(context.Context, slog.Record) error { g.wait(); return nil }
func (g *gate) SaveIdentity(*state.Identity) error        { g.wait(); return nil }
func (g *gate) Detours() *detour.Counts                   { g.wait(); return nil }

func TestHeartbeatsGoOnWhateverTheLogTheDiskAndTheKernelAreAt(t *testing.T) {
	for name, do := range map[string]func(*bench){
		"a Plan serves":              func(b *bench) { b.Applied(&plan.Plan{Revision: 1}, nil) },
		"a Plan is refused":          func(b *bench) { b.Refused(&plan.Plan{Revision: 1}, []plan.Finding{{}}) },
		"a change is for another":    func(b *bench) { b.Receive(&enginev1.PlanDelta{BaseRevision: 3}) },
		"a stream begins":            func(b *bench) { b.Hello() },
		"a server is found up":       func(b *bench) { b.verdict(monitor.Verdict{}) },
		"the engine has joined":      func(b *bench) { b.Joined(new(state.Identity)) },
		"the data plane lives":       func(b *bench) { b.Sampled(dataplane.Sample{}) },
		"the certificate is renewed": func(b *bench) { b.Renewed(new(state.Identity)) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			slow := &gate{siding: siding{bench: b}, reached: make(chan struct{}, 1), open: make(chan struct{})}
			b.log, b.dir, b.detour = slog.New(slow), slow, slow
			var running sync.WaitGroup
			running.Go(func() { do(b) })
			<-slow.reached
			promptly(t, "the heartbeat", func() { b.Heartbeat() })
			close(slow.open)
			running.Wait()
		})
	}
}

// waymark is routes that say when a Plan has come.
type waymark struct {
	signpost
	passed chan struct{}
}

func (w *waymark) Prepare(plan *plan.Plan) {
	w.signpost.Prepare(plan)
	close(w.passed)
}

func TestOfWhatWaitsForThePreparerOnlyTheNewestIsDoneAndEachRefusal(t *testing.T) {
	b := newBench()
	b.Receive(whole(1))
	b.Refused(&plan.Plan{Revision: 3}, nil)
	b.Refused(&plan.Plan{Revision: 5}, nil)
	b.Applied(&plan.Plan{Revision: 4}, nil)
	b.Receive(whole(2))
	b.told = nil
	b.expect(t, "fast path: plan 4 serves", "fast path: plan 3 is refused", "fast path: plan 5 is refused",
		"fast path: plan 2 comes", "routes: plan 2 comes")
	b.expect(t)
}

func TestQuestionIsAnsweredAtOnceWhereTheDataPlaneDoesNotRun(t *testing.T) {
	b := newBench()
	var sent []*enginev1.Report
	b.send = func(report *enginev1.Report) { sent = append(sent, report) }
	b.ask = func(*dataplanev1.Question) bool { return false }
	b.Ask(&dataplanev1.Question{Id: 3})
	b.Changed(dataplane.Status{State: dataplane.Running})
	b.Ask(&dataplanev1.Question{Id: 4})
	b.ask = func(*dataplanev1.Question) bool { return true }
	b.Ask(&dataplanev1.Question{Id: 5})
	var said []string
	for _, report := range sent {
		if explanation := report.GetExplanation(); explanation != nil {
			said = append(said, fmt.Sprint(explanation.GetId(), " ", explanation.GetError()))
		}
	}
	want := []string{"3 its data plane does not run", "4 too many questions wait for its data plane"}
	if !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
}
