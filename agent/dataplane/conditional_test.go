package dataplane

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/agent/plan"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// whileUp is a Plan with a virtual service that listens while its pool is up; without a condition it always does.
func whileUp(revision uint64, port uint32, conditional bool) *plan.Plan {
	return planWith(revision, conditionalAt("vs", port, conditional))
}

// planWith is a Plan with these virtual services and their pool.
func planWith(revision uint64, services ...*enginev1.Resource) *plan.Plan {
	pool := &dataplanev1.Pool{Uuid: "p", Servers: []*dataplanev1.Server{{Id: "s", Address: "127.0.0.1", Enabled: true}}}
	return planOf(revision, append(services, &enginev1.Resource{Uuid: "p",
		Body: &enginev1.Resource_Pool{Pool: &enginev1.Pool{Pool: pool}}})...)
}

// conditionalAt is a virtual service that listens while its pool is up; without a condition it always does.
func conditionalAt(uuid string, port uint32, conditional bool) *enginev1.Resource {
	resource := serviceAt(port)
	resource.Uuid = uuid
	service := resource.GetVirtualService()
	service.Uuid, service.PoolUuid = uuid, "p"
	if conditional {
		service.ListenWhileUp = &dataplanev1.ListenWhileUp{}
	}
	return resource
}

// take listens at a port that is free, as another program.
func (r *rig) take(port uint32) net.Listener {
	r.Helper()
	other, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { other.Close() })
	return other
}

// sample has the data plane say whether it goes to the server of whileUp, and waits until the agent has heard it.
func (r *rig) sample(far net.Conn, up bool) {
	r.Helper()
	servers := []*dataplanev1.ServerCounters{{PoolUuid: "p", ServerId: "s", Up: up}}
	r.answer(far, &dataplanev1.FromDataplane{Frame: &dataplanev1.FromDataplane_Sample{
		Sample: &dataplanev1.Sample{UnixMs: 1, Servers: servers}}})
	r.expect("sample 1")
}

func (r *rig) expectListening(port uint32, when string, want bool) {
	r.Helper()
	switch connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); {
	case err == nil:
		connection.Close()
		if !want {
			r.Errorf("it listens %s", when)
		}
	case want || !errors.Is(err, unix.ECONNREFUSED):
		r.Errorf("%s: %v", when, err)
	}
}

func TestVirtualServiceListensWhileItIsUp(t *testing.T) {
	r := newRig(t)
	port := freePort(t)
	far := r.serve(whileUp(1, port, true))
	r.sample(far, false)
	r.expectListening(port, "after the first Sample, which may be from before the states", true)
	r.sample(far, false)
	r.expectListening(port, "while it is down", false)
	r.sample(far, true)
	for range 20 { // of both workers
		r.expectListening(port, "when it is up again", true)
	}
	r.sample(far, false)
	r.expectListening(port, "while it is down again", false)
	r.supervisor.Apply(whileUp(2, port, true))
	r.expectFrames(far, "change 1 to 2: 0 services, 0 pools, 0 gone")
	r.answer(far, ackOf(2))
	r.expect("running at 2", "applied 2")
	r.expectListening(port, "when another Plan has come", false)
	r.supervisor.Apply(whileUp(3, port, false))
	r.expectFrames(far, "change 2 to 3: 1 services, 0 pools, 0 gone")
	r.answer(far, ackOf(3))
	r.expect("running at 3", "applied 3")
	r.expectListening(port, "without a condition", true)
	r.sample(far, false)
	r.sample(far, false)
	r.expectListening(port, "without a condition, while it is down", true)
}

func TestSegmentsHaveTheirLimitAlsoAtASocketThatWasShut(t *testing.T) {
	r := newRig(t)
	r.segments.set(1000)
	port := freePort(t)
	far := r.serve(whileUp(1, port, true))
	r.sample(far, false)
	r.sample(far, false)
	r.expectListening(port, "while it is down", false)
	r.sample(far, true)
	for range 20 { // of both workers
		if got := segmentTo(t, port); got > 1000 || got < 900 {
			t.Fatalf("segments of %d", got)
		}
	}
}

func TestNewDataPlaneGetsSocketsThatAreShut(t *testing.T) {
	r := newRig(t)
	port := freePort(t)
	far := r.serve(whileUp(1, port, true))
	r.sample(far, false)
	r.sample(far, false)
	r.expectListening(port, "while it is down", false)
	far.Close()
	far = r.accept(0)
	r.expect("running at 0")
	r.expectFrames(far, "1 states", "2 sockets", "plan 1")
	r.answer(far, ackOf(1))
	r.expect("running at 1")
	r.expectListening(port, "for a data plane that is new", false)
	r.sample(far, true)
	r.expectListening(port, "when it is up again", true)
}

func TestPortThatAnotherProgramTookKeepsNoPlanFromANewDataPlane(t *testing.T) {
	r := newRig(t)
	port, always := freePort(t), freePort(t)
	far := r.serve(planWith(1, conditionalAt("vs", port, true), conditionalAt("always", always, false)))
	r.sample(far, false)
	r.sample(far, false)
	other := r.take(port)
	far.Close()
	far = r.accept(0)
	r.expect("running at 0")
	r.expectFrames(far, "1 states", "4 sockets", "plan 1")
	r.answer(far, ackOf(1))
	r.expect("running at 1")
	r.expectListening(always, "for a data plane that is new", true)
	other.Close()
	r.sample(far, true)
	r.expectListening(port, "when the other program has ended", true)
}

func TestPortThatAnotherProgramTookKeepsNoOtherShut(t *testing.T) {
	r := newRig(t)
	taken, free := freePort(t), freePort(t)
	taken, free = min(taken, free), max(taken, free)
	far := r.serve(planWith(1, conditionalAt("a", taken, true), conditionalAt("b", free, true)))
	r.sample(far, false)
	r.sample(far, false)
	other := r.take(taken)
	r.apply(far, planWith(2, conditionalAt("a", taken, false), conditionalAt("b", free, false)), 2)
	r.expectListening(free, "behind one whose port is taken", true)
	r.sample(far, false)
	other.Close()
	r.sample(far, false)
	r.expectListening(taken, "one Sample after the other program has ended", true)
}

func TestServiceThatIsConditionalAgainIsNotHadListenAnyMore(t *testing.T) {
	r := newRig(t)
	port := freePort(t)
	far := r.serve(whileUp(1, port, true))
	r.sample(far, false)
	r.sample(far, false)
	other := r.take(port)
	r.apply(far, whileUp(2, port, false), 1)
	r.sample(far, false)
	r.apply(far, whileUp(3, port, true), 1)
	other.Close()
	r.sample(far, false)
	r.expectListening(port, "while it is down", false)
}

func TestPlansThatChangeOtherServicesKeepNoneListening(t *testing.T) {
	r := newRig(t)
	port := freePort(t)
	own := conditionalAt("vs", port, true)
	far := r.serve(planWith(1, own))
	r.sample(far, true)
	r.sample(far, true)
	for revision := uint64(2); revision < 5; revision++ {
		r.supervisor.Apply(planWith(revision, own, standbyOf(revision)))
		r.expectFrames(far, fmt.Sprintf("change %d to %d: 1 services, 0 pools, 0 gone", revision-1, revision))
		r.answer(far, ackOf(revision))
		r.expect(fmt.Sprintf("running at %d", revision), fmt.Sprintf("applied %d", revision))
		r.sample(far, false)
		r.expectListening(port, fmt.Sprintf("while it is down, at %d", revision), false)
	}
	// What a Plan changes gets its time.
	own = conditionalAt("vs", port, true)
	own.GetVirtualService().Name = "renamed"
	r.apply(far, planWith(5, own, standbyOf(4)), 1)
	r.sample(far, true)
	r.expectListening(port, "when it is up", true)
	r.apply(far, planWith(6, conditionalAt("vs", port, true), standbyOf(4)), 1)
	r.sample(far, false)
	r.expectListening(port, "after the first Sample since a Plan changed it", true)
	r.sample(far, false)
	r.expectListening(port, "after the second", false)
}

// standbyOf is a virtual service that listens nowhere, and differs from revision to revision.
func standbyOf(revision uint64) *enginev1.Resource {
	return &enginev1.Resource{Uuid: "vs-2", Body: &enginev1.Resource_VirtualService{
		VirtualService: &dataplanev1.VirtualService{Uuid: "vs-2", Name: fmt.Sprint(revision),
			Duty: dataplanev1.Duty_DUTY_STANDBY}}}
}

func TestSampleThatChangesNothingCostsNothingForConditionalServices(t *testing.T) {
	r := newRig(t)
	services := make([]*enginev1.Resource, 20)
	for i := range services {
		services[i] = conditionalAt(fmt.Sprint("vs-", i), freePort(t), true)
	}
	s := r.supervisor
	s.workers, s.rollout.applied = 8, &attempt{plan: planWith(1, services...)}
	t.Cleanup(s.sockets.closeAll)
	s.serving = placesOf(s.rollout.applied.plan.Listeners, s.workers)
	if err := s.sockets.open(s.serving, s.Segments); err != nil {
		t.Fatal(err)
	}
	for _, up := range []bool{true, false} {
		sample := map[plan.Member]bool{{Pool: "p", Server: "s"}: up}
		s.tend(sample)
		s.tend(sample)
		if allocations := testing.AllocsPerRun(10, func() { s.tend(sample) }); allocations > 5 {
			t.Errorf("%v allocations while up is %t", allocations, up)
		}
		for place, descriptor := range s.sockets {
			if isListening(descriptor) != up {
				t.Fatalf("%v: while up is %t", place, up)
			}
		}
	}
}

// apply has the data plane apply a change of so many virtual services.
func (r *rig) apply(far *net.UnixConn, next *plan.Plan, services int) {
	r.Helper()
	r.supervisor.Apply(next)
	r.expectFrames(far, fmt.Sprintf("change %d to %d: %d services, 0 pools, 0 gone", next.Revision-1, next.Revision,
		services))
	r.answer(far, ackOf(next.Revision))
	r.expect(fmt.Sprintf("running at %d", next.Revision), fmt.Sprintf("applied %d", next.Revision))
}

func TestLogSaysOnceWhichVirtualServiceHasWhichError(t *testing.T) {
	r := newRig(t)
	var logged bytes.Buffer
	r.supervisor.Log = slog.New(slog.NewTextHandler(&logged, nil))
	failed := func(uuid string, port uint32, stops bool) *listenError {
		return &listenError{plan.Listener{At: at("127.0.0.1", port), Service: plan.Object{UUID: uuid}},
			stops, unix.EBADF}
	}
	lines := func(failed ...*listenError) (lines []string) {
		logged.Reset()
		r.supervisor.complain(failed)
		for line := range strings.Lines(logged.String()) {
			_, line, _ = strings.Cut(line, " uuid=")
			lines = append(lines, strings.TrimSpace(line))
		}
		return lines
	}
	first := `a name="" reason="cannot listen on 127.0.0.1:1: bad file descriptor"`
	second := `b name="" reason="cannot stop listening on 127.0.0.1:2: bad file descriptor"`
	for i, step := range []struct{ got, want []string }{
		{lines(failed("a", 1, false)), []string{first}},
		{lines(failed("a", 1, false), failed("b", 2, true)), []string{second}},
		{lines(failed("b", 2, true)), nil},
		{lines(failed("a", 1, false), failed("b", 2, true)), []string{first}},
	} {
		if !slices.Equal(step.got, step.want) {
			t.Errorf("step %d: got %q, want %q", i, step.got, step.want)
		}
	}
}

func TestSocketThatIsShutKeepsItsPort(t *testing.T) {
	owned, port := sockets{}, freePort(t)
	where, err := openFor(t, owned, listeningAt(at("127.0.0.1", port)), 3)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if changed, err := owned.setListening(where, false, &limit{}); !changed || len(err) > 0 {
			t.Fatalf("shutting: changed %t, %v", changed, err)
		}
		if changed, err := owned.setListening(where, false, &limit{}); changed || len(err) > 0 {
			t.Errorf("shutting again: changed %t, %v", changed, err)
		}
		if connects(port) {
			t.Error("it listens")
		}
		if changed, err := owned.setListening(where, true, &limit{}); !changed || len(err) > 0 {
			t.Fatalf("listening: changed %t, %v", changed, err)
		}
		used := map[slot]int{}
		for range 60 {
			if !connects(port) {
				t.Fatal("it does not listen")
			}
		}
		for place, descriptor := range owned {
			for {
				taken, _, err := unix.Accept(descriptor)
				if err != nil {
					break
				}
				used[place]++
				unix.Close(taken)
			}
		}
		if len(used) != 3 {
			t.Errorf("of three workers, these get clients: %v", used)
		}
	}
}

func TestAnotherProgramThatTookThePortIsNamed(t *testing.T) {
	owned, port := sockets{}, freePort(t)
	where, err := openFor(t, owned, listeningAt(at("127.0.0.1", port)), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := owned.setListening(where, false, &limit{}); len(err) > 0 {
		t.Fatal(err)
	}
	other, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("cannot listen on 127.0.0.1:%d: another program on this engine listens there; "+
		"stop it or choose another port", port)
	if _, err := owned.setListening(where, true, &limit{}); len(err) != 1 || err[0].Error() != want {
		t.Errorf("got %v", err)
	}
	other.Close()
	if _, err := owned.setListening(where, true, &limit{}); len(err) > 0 || !connects(port) {
		t.Errorf("afterwards: %v", err)
	}
}
