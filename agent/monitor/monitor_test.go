package monitor

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

// running runs a Set on the test's own clock until the test ends.
func running(t *testing.T, set *Set) {
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { set.Run(ctx) })
	t.Cleanup(func() { cancel(); done.Wait() })
}

func TestTellsOfEachChangeOnceAndKeepsTheVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var healthy atomic.Bool
		healthy.Store(true)
		changes := make(chan bool, 100)
		set := New(Config{
			Probe:   func(context.Context, Target) Outcome { return Outcome{Up: healthy.Load(), Reason: "gone"} },
			Changed: func(verdict Verdict) { changes <- verdict.Up },
		})
		running(t, set)
		set.Watch(&plan.Plan{Pools: pools("p", monitors("m"), "one")})
		if !<-changes || !set.States(nil)[plan.Member{Pool: "p", Server: "one"}].Up {
			t.Error("a server that answers is not up")
		}
		healthy.Store(false)
		if <-changes || set.States(nil)[plan.Member{Pool: "p", Server: "one"}].Up {
			t.Error("a server that fails is up")
		}
		time.Sleep(time.Minute)
		if len(changes) != 0 {
			t.Errorf("%d more changes", len(changes))
		}
	})
}

func TestRunsNoMoreChecksAtOnceThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, all atomic.Int64
		set := New(Config{
			Probe: func(context.Context, Target) Outcome {
				all.Add(1)
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(4 * time.Second)
				now.Add(-1)
				return Outcome{Reason: "no answer"}
			},
			Changed: func(Verdict) {},
		})
		set.most = 256
		running(t, set)
		names := make([]string, 1000)
		for i := range names {
			names[i] = fmt.Sprint(i)
		}
		set.Watch(&plan.Plan{Pools: pools("p", monitors("m"), names...)})
		time.Sleep(time.Minute)
		if most.Load() != int64(set.most) || all.Load() < 1000 {
			t.Errorf("%d at once, %d in all", most.Load(), all.Load())
		}
	})
}

func TestEndsItsChecksWhenItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := make(chan struct{})
		set := New(Config{
			Probe: func(ctx context.Context, _ Target) Outcome {
				close(begun)
				<-ctx.Done()
				return Outcome{}
			},
			Changed: func(Verdict) {},
		})
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { set.Run(ctx) })
		set.Watch(&plan.Plan{Pools: pools("p", monitors("m"), "one")})
		<-begun
		cancel()
		done.Wait()
	})
}
