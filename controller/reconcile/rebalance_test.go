package reconcile_test

import (
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

func TestAGroupIsLookedAtOnceInEachOfItsIntervals(t *testing.T) {
	asked := 0
	r := &reconcile.Reconciler{}
	watched := &model.Group{ServiceEngineGroup: *schema.Defaults[kinds.ServiceEngineGroup]()}
	watched.UUID, watched.AutoRebalance, watched.AutoRebalanceIntervalS = "watched", true, 10
	m := &model.Model{Groups: []*model.Group{watched, {}}}
	start := time.Unix(1000, 0)
	step := func(second int) reconcile.Output {
		return r.Step(reconcile.Input{
			Input: place.Input{Model: m, Now: start.Add(time.Duration(second) * time.Second)},
			Usage: func() map[string]place.Usage { asked++; return nil },
		})
	}
	for _, c := range []struct{ second, asked, again int }{{0, 1, 10}, {1, 1, 10}, {9, 1, 10},
		{10, 2, 20}, {25, 3, 35}} {
		again := step(c.second).Again
		if want := start.Add(time.Duration(c.again) * time.Second); asked != c.asked || !again.Equal(want) {
			t.Errorf("after %d s: asked %d times, again at %v, want %d and %v", c.second, asked, again, c.asked, want)
		}
	}
	watched.AutoRebalance = false
	if again := step(0).Again; !again.IsZero() || asked != 3 {
		t.Errorf("nobody wants it: again at %v, asked %d times", again, asked)
	}
}
