package fleet

import (
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/place"
)

func (s *stage) sampled(engine string, open uint64) {
	s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
		VirtualServices: []*dataplanev1.VirtualServiceCounters{{Uuid: "vs-1", OpenConnections: open}},
	}}})
}

func TestVirtualServiceHasDrainedWhenNoClientWasThereForThreeSamples(t *testing.T) {
	s := newStage(t)
	s.serve("se-one")
	if held := s.Facts()["se-one"].Holds["vs-1"]; held.Duty != place.Serve || !held.Current || !held.Led {
		t.Fatalf("serving: %+v", held)
	}
	plan := planOf(11, "vs-1", "pool-1")
	plan.GetResources()[0].GetVirtualService().Duty = dataplanev1.Duty_DUTY_DRAIN
	s.Applied("se-one", plan, nil)
	for i, open := range []uint64{1, 0, 0, 1, 0, 0, 0} {
		if s.Facts()["se-one"].Holds["vs-1"].Idle {
			t.Errorf("idle before sample %d", i)
		}
		s.sampled("se-one", open)
	}
	if held := s.Facts()["se-one"].Holds["vs-1"]; !held.Idle || held.Duty != place.Drain {
		t.Errorf("drained: %+v", held)
	}
}

func TestEngineIsUpFromTheMomentItServesAndUnknownBeforeItIsHeardOf(t *testing.T) {
	s := newStage(t)
	if _, known := s.Facts()["se-one"]; known {
		t.Error("it has not said anything")
	}
	s.serve("se-one")
	s.Disconnected("se-one", "gone")
	if facts := s.Facts()["se-one"]; facts.Up || !facts.Since.Equal(clock) {
		t.Errorf("away: %+v", facts)
	}
	select {
	case <-s.Moved():
	default:
		t.Error("nobody is told")
	}
}
