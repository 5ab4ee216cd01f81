package slowness

import (
	"slices"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
)

// pool is a pool of two servers under load, and a watch that looks each five seconds.
type pool struct {
	*fleettest.Stage
	watch   *Watch
	seconds int
	servers [2]counted
}

// counted is what an engine has counted of a server. It has a bucket for fast answers and one for slow ones.
type counted struct{ fast, slow uint64 }

func newPool(t *testing.T) *pool {
	p := &pool{Stage: fleettest.New(t)}
	p.watch = New(p.Fleet, p.Events, func() time.Time { return p.Now })
	p.Serve("se-one", "se-two")
	return p
}

// pass lets some seconds pass, in each of which the servers give that many answers: fast ones after 1 ms, slow ones
// after 250 ms. It returns the events.
func (p *pool) pass(seconds int, first, second counted) []string {
	return p.Told(func() {
		for range seconds {
			p.Now, p.seconds = p.Now.Add(time.Second), p.seconds+1
			sample := &dataplanev1.Sample{Pid: 7, UnixMs: uint64(p.Now.UnixMilli())}
			for i, more := range []counted{first, second} {
				all := &p.servers[i]
				all.fast, all.slow = all.fast+more.fast, all.slow+more.slow
				sample.Servers = append(sample.Servers, &dataplanev1.ServerCounters{
					PoolUuid: "pool-1", ServerId: []string{"10.0.0.1:80", "10.0.0.2:80"}[i],
					AppResponse: &dataplanev1.Histogram{SumTicks: all.fast<<10 + all.slow<<18, First: 20,
						Counts: append(append([]uint32{uint32(all.fast)}, make([]uint32, 15)...), uint32(all.slow))},
				})
			}
			p.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Sample{Sample: sample}})
			if p.seconds%5 == 0 {
				p.watch.Look()
			}
		}
	})
}

var (
	fast = counted{fast: 100}
	// slow has few answers: a pool that counts connections gives a slow server less to do.
	slow = counted{slow: 4}
)

func TestServerThatBecomesSlowIsFoundWithinSecondsWhateverItHasDoneBefore(t *testing.T) {
	for before := 60; before < 85; before++ {
		p := newPool(t)
		if told := p.pass(before, fast, fast); len(told) > 0 {
			t.Fatalf("got %q", told)
		}
		began := p.Now
		told := p.pass(10, fast, slow)
		want := "SERVER_SLOW POOL web-pool server 10.0.0.2:80 needs "
		if len(told) != 1 || !slices.ContainsFunc(told, func(one string) bool { return one[:len(want)] == want }) {
			t.Fatalf("slow after %d s: got %q", before, told)
		}
		found := p.watch.Of("pool-1")
		if len(found) != 1 || found[0].ID != "10.0.0.2:80" || found[0].Since.Before(began) {
			t.Fatalf("slow after %d s: got %+v", before, found)
		}
	}
}

func TestServerIsSlowSinceItWasFoundAndUntilItIsFast(t *testing.T) {
	p := newPool(t)
	p.pass(60, fast, fast)
	p.pass(10, fast, slow)
	since := p.watch.Of("pool-1")[0].Since
	if told := p.pass(300, fast, slow); len(told) > 0 {
		t.Errorf("one slow server has further events: %q", told)
	}
	found := p.watch.Of("pool-1")[0]
	if found.Since != since || found.Mean != 250*time.Millisecond ||
		found.Others.Round(time.Millisecond) != time.Millisecond {
		t.Errorf("got %+v, at first since %v", found, since)
	}
	told := p.pass(90, fast, fast)
	if want := "SERVER_SLOW_ENDED POOL web-pool server 10.0.0.2:80 is not slow any more"; !slices.Equal(
		told, []string{want}) {
		t.Errorf("got %q", told)
	}
	if left := p.watch.Of("pool-1"); len(left) > 0 {
		t.Errorf("still slow: %+v", left)
	}
}

func TestServerOnTheBorderHasOneEvent(t *testing.T) {
	p := newPool(t)
	p.pass(60, fast, fast)
	told := p.pass(10, fast, slow)
	for range 20 {
		told = append(told, p.pass(5, fast, fast)...)
		told = append(told, p.pass(5, fast, slow)...)
	}
	if len(told) != 1 {
		t.Errorf("got %q", told)
	}
}

func TestServerWithoutAnswersIsNotSlow(t *testing.T) {
	p := newPool(t)
	p.pass(60, fast, fast)
	if told := p.pass(60, fast, counted{}); len(told) > 0 {
		t.Errorf("got %q", told)
	}
}

func TestPoolThatIsDeletedHasNoSlowServers(t *testing.T) {
	p := newPool(t)
	p.pass(60, fast, fast)
	p.pass(10, fast, slow)
	p.Want(11)
	p.Fleet.Observe(p.State)
	p.State.Model.Pools = nil
	p.watch.Look()
	if left := p.watch.Of("pool-1"); len(left) > 0 {
		t.Errorf("still slow: %+v", left)
	}
}

func TestTimesAreShort(t *testing.T) {
	for took, want := range map[time.Duration]string{
		402_345_678: "402.35ms", 1_234_567_890: "1.23s", 2_345_678: "2.35ms", 210_400: "210µs",
		90_500_000_000: "1m30.5s",
	} {
		if got := short(took); got != want {
			t.Errorf("%v is %s, not %s", took, got, want)
		}
	}
}
