package dataplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/agent/plan"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// patience is far more than anything here takes.
const patience = 2 * time.Minute

// rig is a Supervisor with the far end of its protocol played by the test, as a data plane that runs already.
type rig struct {
	*testing.T
	supervisor *Supervisor
	listener   net.Listener
	told       chan string // what the observer heard
	states     map[plan.Member]plan.State
	old        bool // the data plane is of a version that takes no changes
	segments   limit
}

func (r *rig) Applied(plan *plan.Plan, _ []plan.Finding) {
	r.told <- fmt.Sprintf("applied %d", plan.Revision)
}
func (r *rig) Assumed(plan *plan.Plan) { r.told <- fmt.Sprintf("assumed %d", plan.Revision) }
func (r *rig) Refused(plan *plan.Plan, errors []plan.Finding) {
	r.told <- fmt.Sprintf("refused %d: %s", plan.Revision, errors[0].Message)
}
func (r *rig) Changed(status Status) {
	name := map[State]string{Starting: "starting", Running: "running", BackingOff: "backing off",
		Stopped: "stopped"}[status.State]
	r.told <- fmt.Sprintf("%s at %d %s", name, status.ServingRevision, status.Reason)
}
func (r *rig) Sampled(sample Sample) {
	r.told <- fmt.Sprintf("sample %d", sample.Wire.GetUnixMs())
}
func (r *rig) Demanded(*dataplanev1.KeyDemands) {}

func (r *rig) Explained(explanation *dataplanev1.Explanation) {
	r.told <- fmt.Sprintf("explanation %d: %s", explanation.GetId(), explanation.GetServerId())
}

func (r *rig) expect(want ...string) {
	r.Helper()
	for _, want := range want {
		select {
		case got := <-r.told:
			if !strings.HasPrefix(got, want) {
				r.Fatalf("want %q, got %q", want, got)
			}
		case <-time.After(patience):
			r.Fatalf("never heard %q", want)
		}
	}
}

// newRig makes a Supervisor that will find the data plane that accept plays. It keeps it, because that is this process.
func newRig(t *testing.T) *rig {
	t.Helper()
	path := filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{
		T: t, listener: listener, told: make(chan string, 100),
		states: map[plan.Member]plan.State{{Pool: "p", Server: "s"}: {Up: true}},
	}
	r.supervisor = New(Config{
		Socket: path, Keep: true, States: r.statesOf, Observer: r, Segments: &r.segments,
		Log: slog.New(slog.DiscardHandler),
	})
	return r
}

func (r *rig) statesOf(members map[plan.Member]bool) map[plan.Member]plan.State {
	known := maps.Clone(r.states)
	maps.DeleteFunc(known, func(member plan.Member, _ plan.State) bool { return members != nil && !members[member] })
	return known
}

func (r *rig) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.supervisor.Run(ctx) })
	r.Cleanup(func() { cancel(); running.Wait(); r.listener.Close() })
}

// serve runs the supervisor with a first Plan, until a data plane has applied it.
func (r *rig) serve(first *plan.Plan) (far *net.UnixConn) {
	r.Helper()
	r.supervisor.Apply(first)
	r.run()
	far = r.accept(0)
	r.expect("running at 0")
	r.expectFrames(far, "1 states", fmt.Sprintf("%d sockets", 2*len(first.Listeners)), "plan 1")
	r.answer(far, ackOf(1))
	r.expect("running at 1", "applied 1")
	r.expectFrames(far, "1 states")
	return far
}

// accept plays a data plane of two workers that serves this revision with these sockets.
func (r *rig) accept(revision uint64, held ...*dataplanev1.Socket) *net.UnixConn {
	r.Helper()
	connection, err := r.listener.Accept()
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { connection.Close() })
	far := connection.(*net.UnixConn)
	if message, _ := receive(r.T, far); message.GetGreeting() == nil {
		r.Errorf("the first frame is %v", message)
	}
	far.Write(frameBytes(r.T, &dataplanev1.FromDataplane{Frame: &dataplanev1.FromDataplane_Hello{
		Hello: &dataplanev1.Hello{Workers: 2, AppliedRevision: revision, TakesChanges: !r.old},
	}}))
	var descriptors []int
	for _, socket := range held {
		descriptor, err := listen(slot{at: at(socket.GetAddress(), socket.GetPort())})
		if err != nil {
			r.Fatal(err)
		}
		descriptors = append(descriptors, descriptor)
	}
	content := frameBytes(r.T, &dataplanev1.FromDataplane{Frame: &dataplanev1.FromDataplane_Sockets{
		Sockets: &dataplanev1.Sockets{Sockets: held, Last: true},
	}})
	if _, _, err := far.WriteMsgUnix(content, unix.UnixRights(descriptors...), nil); err != nil {
		r.Fatal(err)
	}
	closeAll(descriptors)
	return far
}

// next reads one frame and writes it as a line.
func (r *rig) next(far *net.UnixConn) string {
	r.Helper()
	message, descriptors := receive(r.T, far)
	switch frame := message.GetFrame().(type) {
	case *dataplanev1.ToDataplane_Sockets:
		return fmt.Sprintf("%d sockets", descriptors)
	case *dataplanev1.ToDataplane_ServerStates:
		return fmt.Sprintf("%d states", len(frame.ServerStates.GetStates()))
	case *dataplanev1.ToDataplane_Question:
		return fmt.Sprintf("question %d", frame.Question.GetId())
	case *dataplanev1.ToDataplane_Plan:
		return fmt.Sprintf("plan %d", frame.Plan.GetRevision())
	case *dataplanev1.ToDataplane_PlanChange:
		change, removed := frame.PlanChange.GetChanged(), frame.PlanChange.GetRemoved()
		return fmt.Sprintf("change %d to %d: %d services, %d pools, %d gone", frame.PlanChange.GetBaseRevision(),
			change.GetRevision(), len(change.GetVirtualServices()), len(change.GetPools()),
			len(removed.GetVirtualServices())+len(removed.GetPools()))
	default:
		return fmt.Sprintf("%T", frame)
	}
}

func (r *rig) expectFrames(far *net.UnixConn, want ...string) {
	r.Helper()
	for _, want := range want {
		if got := r.next(far); got != want {
			r.Fatalf("want %q, got %q", want, got)
		}
	}
}

func (r *rig) answer(far io.Writer, message *dataplanev1.FromDataplane) {
	r.Helper()
	if _, err := far.Write(frameBytes(r.T, message)); err != nil {
		r.Fatal(err)
	}
}

func ackOf(revision uint64) *dataplanev1.FromDataplane {
	return &dataplanev1.FromDataplane{Frame: &dataplanev1.FromDataplane_Ack{Ack: &dataplanev1.Ack{Revision: revision}}}
}

func nackOf(revision uint64, message string) *dataplanev1.FromDataplane {
	return &dataplanev1.FromDataplane{Frame: &dataplanev1.FromDataplane_Nack{
		Nack: &dataplanev1.Nack{Revision: revision, Errors: []*dataplanev1.Finding{{Message: message}}},
	}}
}

func planAt(revision uint64, ports ...uint32) *plan.Plan {
	return planOf(revision, serviceAt(ports...))
}

func planOf(revision uint64, resources ...*enginev1.Resource) *plan.Plan {
	read, findings := plan.Read(&enginev1.Plan{Revision: revision, Resources: resources})
	if findings != nil {
		panic(findings)
	}
	return read
}

func serviceAt(ports ...uint32) *enginev1.Resource {
	service := &dataplanev1.VirtualService{Uuid: "vs", Name: "shop"}
	for _, port := range ports {
		service.Listeners = append(service.Listeners, &dataplanev1.Listener{Address: "127.0.0.1", Port: port})
	}
	return &enginev1.Resource{Uuid: "vs", Body: &enginev1.Resource_VirtualService{VirtualService: service}}
}

// connects tells whether somebody listens on this port.
func connects(port uint32) bool {
	connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err == nil {
		connection.Close()
	}
	return err == nil
}

func TestGivesSocketsAndStatesBeforeThePlanAndStatesAgainAfterIt(t *testing.T) {
	r := newRig(t)
	port := freePort(t)
	far := r.serve(planAt(1, port))
	r.answer(far,
		&dataplanev1.FromDataplane{Frame: &dataplanev1.FromDataplane_Sample{Sample: &dataplanev1.Sample{UnixMs: 5}}})
	r.expect("sample 5")
}

func TestTakesOverTheSocketsOfADataPlaneThatRuns(t *testing.T) {
	r := newRig(t)
	port, old := freePort(t), freePort(t)
	r.supervisor.Apply(planAt(2, port))
	r.run()
	socket := func(port, worker uint32) *dataplanev1.Socket {
		return &dataplanev1.Socket{Address: "127.0.0.1", Port: port, Worker: worker}
	}
	far := r.accept(1, socket(port, 0), socket(port, 1), socket(old, 0))
	r.expect("running at 1")
	r.expectFrames(far, "1 states", "plan 2")
	if !connects(port) || !connects(old) {
		t.Error("a socket was closed before the Plan was answered")
	}
	r.answer(far, ackOf(2))
	r.expect("running at 2", "applied 2")
	r.expectFrames(far, "1 states")
	if !connects(port) || connects(old) {
		t.Errorf("used one open: %v, unused one open: %v", connects(port), connects(old))
	}
}

func TestClosesWhatARefusedPlanWantedAndKeepsWhatServes(t *testing.T) {
	r := newRig(t)
	first, second := freePort(t), freePort(t)
	r.run()
	far := r.accept(0)
	r.expect("running at 0")
	r.expectFrames(far, "1 states")
	r.supervisor.Apply(planAt(1, first))
	r.expectFrames(far, "2 sockets", "plan 1")
	r.answer(far, ackOf(1))
	r.expect("running at 1", "applied 1")
	r.expectFrames(far, "1 states")
	r.supervisor.Apply(planAt(2, second))
	r.expectFrames(far, "2 sockets", "change 1 to 2: 1 services, 0 pools, 0 gone")
	r.answer(far, nackOf(2, "no such cipher"))
	r.expect("refused 2: no such cipher")
	if !connects(first) || connects(second) {
		t.Errorf("serving one open: %v, refused one open: %v", connects(first), connects(second))
	}
	r.supervisor.Apply(planAt(3, second))
	r.expectFrames(far, "2 sockets", "change 1 to 3: 1 services, 0 pools, 0 gone")
}

// The data plane has dropped the sockets that came with it.
func TestPlanThatServedAndIsRefusedByANewDataPlaneComesAgainWithItsSockets(t *testing.T) {
	r := newRig(t)
	port := freePort(t)
	far := r.serve(planAt(1, port))
	far.Close()
	far = r.accept(0)
	r.expectFrames(far, "1 states", "2 sockets", "plan 1")
	r.supervisor.Apply(planAt(2, port))
	r.answer(far, nackOf(1, "no descriptors"))
	r.expectFrames(far, "2 sockets", "plan 2")
	r.answer(far, ackOf(2))
	r.expect("running at 0", "running at 2", "applied 2")
}

func TestSendsWhatAPlanChangesAndTellsStatesOfItsPoolsAlone(t *testing.T) {
	r := newRig(t)
	first, second := freePort(t), freePort(t)
	r.states = map[plan.Member]plan.State{{Pool: "p", Server: "s"}: {Up: true}, {Pool: "q", Server: "s"}: {Up: true}}
	resources := []*enginev1.Resource{poolNamed("p", "s"), poolNamed("q", "s"), serviceAt(first)}
	follow := func(before *plan.Plan, revision uint64) *plan.Plan {
		next, _ := before.Next(&enginev1.Plan{Revision: revision, Resources: slices.Clone(resources)})
		return next
	}
	one := follow(nil, 1)
	r.supervisor.Apply(one)
	r.run()
	far := r.accept(0)
	r.expect("running at 0")
	r.expectFrames(far, "2 states", "2 sockets", "plan 1")
	r.answer(far, ackOf(1))
	r.expect("running at 1", "applied 1")
	r.expectFrames(far, "2 states")

	resources[2] = serviceAt(second)
	two := follow(one, 2)
	r.supervisor.Apply(two)
	r.expectFrames(far, "2 sockets", "change 1 to 2: 1 services, 0 pools, 0 gone")
	r.answer(far, ackOf(2))
	r.expect("running at 2", "applied 2")
	if connects(first) || !connects(second) {
		t.Errorf("the place that was left is open: %v, the new one: %v", connects(first), connects(second))
	}

	resources[1] = poolNamed("q", "s", "t")
	r.supervisor.Apply(follow(two, 3))
	r.expectFrames(far, "change 2 to 3: 0 services, 1 pools, 0 gone")
	r.answer(far, ackOf(3))
	r.expect("running at 3", "applied 3")
	r.expectFrames(far, "1 states")
}

func TestSendsTheWholePlanToADataPlaneThatDoesNotHaveTheOneBefore(t *testing.T) {
	r := newRig(t)
	first, second := freePort(t), freePort(t)
	far := r.serve(planAt(1, first))
	r.supervisor.Apply(planAt(2, first, second))
	r.expectFrames(far, "2 sockets", "change 1 to 2: 1 services, 0 pools, 0 gone")
	resync := &dataplanev1.Nack{Revision: 2, Resync: true}
	r.answer(far, &dataplanev1.FromDataplane{Frame: &dataplanev1.FromDataplane_Nack{Nack: resync}})
	r.expectFrames(far, "2 sockets", "plan 2")
	r.answer(far, ackOf(2))
	r.expect("running at 2", "applied 2")
	if !connects(first) || !connects(second) {
		t.Errorf("open: %v, %v", connects(first), connects(second))
	}
}

func TestRefusesAPlanItselfWhenAPortIsInUse(t *testing.T) {
	r := newRig(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	r.supervisor.Apply(planAt(1, uint32(netip.MustParseAddrPort(taken.Addr().String()).Port())))
	r.run()
	far := r.accept(0)
	r.expect("running at 0", "refused 1: cannot listen on "+taken.Addr().String())
	r.supervisor.Apply(planAt(2))
	r.expectFrames(far, "1 states", "plan 2")
}

func TestComesBackToADataPlaneWhoseConnectionBroke(t *testing.T) {
	r := newRig(t)
	port := freePort(t)
	r.supervisor.Apply(planAt(1, port))
	r.run()
	far := r.accept(0)
	r.expectFrames(far, "1 states", "2 sockets", "plan 1")
	r.answer(far, ackOf(1))
	r.expect("running at 0", "running at 1", "applied 1")
	r.expectFrames(far, "1 states")
	far.Close()
	r.expectFrames(r.accept(1), "1 states", "2 sockets", "plan 1")
	if !connects(port) {
		t.Error("the socket did not stay open")
	}
}

func TestSendsWholePlansToADataPlaneThatTakesNoChanges(t *testing.T) {
	r := newRig(t)
	r.old = true
	first, second := freePort(t), freePort(t)
	far := r.serve(planAt(1, first))
	r.supervisor.Apply(planAt(2, second))
	r.expectFrames(far, "2 sockets", "plan 2")
	r.answer(far, ackOf(2))
	r.expect("running at 2", "applied 2")
	if connects(first) || !connects(second) {
		t.Errorf("the place that was left is open: %v, the new one: %v", connects(first), connects(second))
	}
}

func TestGivesADataPlaneThatComesAmidAChangeTheWholePlanBeforeAndThenTheChange(t *testing.T) {
	r := newRig(t)
	first, second := freePort(t), freePort(t)
	r.supervisor.Apply(planAt(1, first))
	r.run()
	far := r.accept(0)
	r.expectFrames(far, "1 states", "2 sockets", "plan 1")
	r.answer(far, ackOf(1))
	r.expect("running at 0", "running at 1", "applied 1")
	r.expectFrames(far, "1 states")
	r.supervisor.Apply(planAt(2, second))
	r.expectFrames(far, "2 sockets", "change 1 to 2: 1 services, 0 pools, 0 gone")
	far.Close()

	far = r.accept(0)
	r.expect("running at 0")
	r.expectFrames(far, "1 states", "2 sockets", "plan 1")
	r.answer(far, ackOf(1))
	r.expect("running at 1")
	r.expectFrames(far, "1 states", "2 sockets", "change 1 to 2: 1 services, 0 pools, 0 gone")
	r.answer(far, ackOf(2))
	r.expect("running at 2", "applied 2")
	if connects(first) || !connects(second) {
		t.Errorf("the place that was left is open: %v, the new one: %v", connects(first), connects(second))
	}
}

func TestTasksAreSentOncePerReportAndNobodyWaitsForTheirSample(t *testing.T) {
	r := newRig(t)
	server := plan.Member{Pool: "p", Server: "s"}
	state := plan.State{Up: true}
	var mu sync.Mutex
	r.supervisor.States = func(map[plan.Member]bool) map[plan.Member]plan.State {
		mu.Lock()
		defer mu.Unlock()
		return map[plan.Member]plan.State{server: state}
	}
	far := r.serve(planAt(1, freePort(t)))
	for _, tasks := range []plan.Tasks{{Report: 1, Known: true, Count: 7},
		{Report: 2, Known: true, Count: 7}, {Report: 3}} {
		mu.Lock()
		state.Tasks = tasks
		mu.Unlock()
		r.supervisor.StateChanged(server)
		message, _ := receive(t, far)
		states := message.GetServerStates()
		if len(states.GetStates()) != 1 || !states.GetSampleLater() {
			t.Fatalf("got %v", message)
		}
		said := states.GetStates()[0]
		if !said.GetUp() || said.GetTasks() == nil || (said.GetTasks().Tasks != nil) != tasks.Known ||
			said.GetTasks().GetTasks() != tasks.Count {
			t.Errorf("got %v, want %+v", said, tasks)
		}
	}
}

func TestChangeOfOneServersStateSendsThatStateAndAsksForASampleAtOnce(t *testing.T) {
	r := newRig(t)
	changed := plan.Member{Pool: "p", Server: "s"}
	r.supervisor.States = func(members map[plan.Member]bool) map[plan.Member]plan.State {
		if members == nil {
			return r.states
		}
		if !maps.Equal(members, map[plan.Member]bool{changed: true}) {
			t.Errorf("asked for the states of %v", members)
		}
		return map[plan.Member]plan.State{changed: {}}
	}
	far := r.serve(planAt(1, freePort(t)))
	r.supervisor.StateChanged(changed)
	message, _ := receive(t, far)
	if states := message.GetServerStates(); len(states.GetStates()) != 1 || states.GetSampleLater() {
		t.Errorf("got %v", message)
	}
}

// mortal lets the supervisor kill the data plane that the test plays.
func (r *rig) mortal() {
	exited := make(chan struct{})
	r.supervisor.process = &process{pid: os.Getpid(), exited: exited, signal: func(os.Signal) error {
		defer close(exited)
		return r.listener.Close()
	}}
}

func TestReplacesADataPlaneThatLivesAndDoesNotServe(t *testing.T) {
	r := newRig(t)
	r.mortal()
	r.supervisor.beat = time.Millisecond
	r.run()
	r.accept(3)
	r.expect("running at 3", "backing off at 0 it was stuck: no Sample for 5ms")
}

func TestRefusesAPlanThatTwoDataPlanesDiedOfAndSaysWhatChangedInIt(t *testing.T) {
	r := newRig(t)
	deadly := &attempt{plan: planAt(2, 81), deaths: deathsMax - 1}
	r.supervisor.rollout = rollout{applied: &attempt{plan: planAt(1, 80)}, pending: deadly, flight: deadly}
	r.supervisor.ended(t.Context(), errors.New("signal: aborted"), 0)
	r.expect("backing off at 0 signal: aborted",
		"refused 2: the data plane died 2 times while taking a Plan in which this object changed: signal: aborted")
}

func TestLogsOnceWhyAPlanThatServedCannotServeAgain(t *testing.T) {
	r := newRig(t)
	var logged strings.Builder
	r.supervisor.Log = slog.New(slog.NewTextHandler(&logged, nil))
	served := &attempt{plan: planAt(1)}
	life := &life{}
	for _, reason := range []string{"no descriptors", "no descriptors", "no such cipher"} {
		r.supervisor.rollout = rollout{applied: served, flight: served}
		r.supervisor.conclude(life, false, []plan.Finding{{Message: reason}})
	}
	for _, reason := range []string{"no descriptors", "no such cipher"} {
		if count := strings.Count(logged.String(), reason); count != 1 {
			t.Errorf("%q stands %d times in the log:\n%s", reason, count, logged.String())
		}
	}
}

func TestCountsADataPlaneAsStuckOnlyWhenNoSampleComesForLong(t *testing.T) {
	r := newRig(t)
	for name, c := range map[string]struct {
		applying bool
		most     int
	}{"serving": {false, silenceMax}, "taking a Plan": {true, applyMax}} {
		t.Run(name, func(t *testing.T) {
			l := &life{}
			for beats := 1; beats < c.most; beats++ {
				if l.stuck(c.applying) {
					t.Fatalf("stuck after %d beats, want %d", beats, c.most)
				}
			}
			r.supervisor.hear(l, &dataplanev1.FromDataplane{Frame: &dataplanev1.FromDataplane_Sample{}})
			if l.stuck(c.applying) {
				t.Error("stuck though a Sample came")
			}
			for l.silence < c.most-1 {
				l.stuck(c.applying)
			}
			if !l.stuck(c.applying) {
				t.Error("never stuck")
			}
		})
	}
}

func TestExitOfTheProcessExplainsTheEndOfItsConnection(t *testing.T) {
	ended := &process{exited: make(chan struct{}), ending: "exit status 101"}
	time.AfterFunc(20*time.Millisecond, func() { close(ended.exited) })
	err := New(Config{}).lost(t.Context(), &life{process: ended}, io.EOF)
	if err == nil || err.Error() != ended.ending {
		t.Errorf("got %v", err)
	}
}

func TestQuestionsAndTheirAnswersPass(t *testing.T) {
	r := newRig(t)
	first := freePort(t)
	far := r.serve(planAt(1, first))
	if !r.supervisor.Ask(&dataplanev1.Question{Id: 7}) {
		t.Fatal("the question finds no place")
	}
	r.expectFrames(far, "question 7")
	r.answer(far, &dataplanev1.FromDataplane{Frame: &dataplanev1.FromDataplane_Explanation{
		Explanation: &dataplanev1.Explanation{Id: 7, ServerId: "10.0.0.1:80"}}})
	r.expect("explanation 7: 10.0.0.1:80")
}

func TestQuestionsThatNobodyTakesAreBounded(t *testing.T) {
	r := newRig(t)
	for range questionsMax {
		r.supervisor.Ask(new(dataplanev1.Question))
	}
	if r.supervisor.Ask(new(dataplanev1.Question)) {
		t.Error("one more finds a place")
	}
}

func TestNewDataPlaneGetsNoSharesThatWereForTheLastOne(t *testing.T) {
	r := newRig(t)
	r.supervisor.Share(&dataplanev1.KeyShares{Number: 1})
	r.supervisor.Share(&dataplanev1.KeyShares{Number: 2})
	far := r.serve(planAt(1, freePort(t)))
	r.supervisor.Share(&dataplanev1.KeyShares{Number: 3})
	if message, _ := receive(t, far); message.GetKeyShares().GetNumber() != 3 {
		t.Errorf("it gets %v", message)
	}
}
