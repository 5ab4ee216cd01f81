package fleet

import (
	"fmt"
	"slices"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
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
	if held := s.Facts()["se-one"].Holds.Of("vs-1"); held.Duty != place.Serve || held.Delivery != place.Current || held.Clients != place.Led {
		t.Fatalf("serving: %+v", held)
	}
	plan := planOf(11, "vs-1", "pool-1")
	plan.GetResources()[1].GetVirtualService().Duty = dataplanev1.Duty_DUTY_DRAIN
	s.Applied("se-one", plan, nil)
	for i, open := range []uint64{1, 0, 0, 1, 0, 0, 0} {
		if s.Facts()["se-one"].Holds.Of("vs-1").Clients == place.Idle {
			t.Errorf("idle before sample %d", i)
		}
		s.sampled("se-one", open)
	}
	if held := s.Facts()["se-one"].Holds.Of("vs-1"); held.Clients != place.Idle || held.Duty != place.Drain {
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

func TestAnEngineThatGoesBeforeItSaysWhoItIsIsAsUnknownAsBefore(t *testing.T) {
	s := newStage(t)
	s.Disconnected("se-one", "gone")
	if facts, known := s.Facts()["se-one"]; known {
		t.Errorf("nothing was heard of it: %+v", facts)
	}
}

func TestEventsTellOfTheFirstStartOnlyThatItServesOrFails(t *testing.T) {
	status := func(state enginev1.DataplaneState) *enginev1.Status { return &enginev1.Status{Dataplane: state} }
	const starting, backingOff = enginev1.DataplaneState_DATAPLANE_STATE_STARTING, enginev1.DataplaneState_DATAPLANE_STATE_BACKING_OFF
	for _, story := range []struct {
		states []*enginev1.Status
		want   string
	}{
		{[]*enginev1.Status{status(starting), running}, "[SE_UP]"},
		{[]*enginev1.Status{{}, status(starting), running}, "[SE_UP]"},
		{[]*enginev1.Status{status(starting), status(backingOff), status(starting), running}, "[SE_UP SE_DOWN]"},
		{[]*enginev1.Status{running, status(backingOff), status(starting), status(backingOff)}, "[SE_DOWN SE_UP]"},
	} {
		log := events.New(quiet(), time.Now)
		fleet := New(nil, quiet(), log, time.Now)
		fleet.Connected("se-one", &enginev1.Hello{Status: story.states[0]})
		for _, state := range story.states[1:] {
			fleet.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Status{Status: state}})
		}
		var told []string
		for _, entry := range log.Entries() {
			told = append(told, entry.ID)
		}
		if got := fmt.Sprint(told); got != story.want {
			t.Errorf("newest first %s, want %s", got, story.want)
		}
	}
}

func TestEventsTellAnEngineThatFellSilentFromOneWhoseConnectionIsLost(t *testing.T) {
	log := events.New(quiet(), time.Now)
	fleet := New(nil, quiet(), log, time.Now)
	fleet.Missed("se-one", 5) // nobody has heard of it
	fleet.Connected("se-one", &enginev1.Hello{Status: running})
	fleet.Missed("se-one", 5)
	fleet.Disconnected("se-one", "no heartbeat from the agent")
	fleet.Missed("se-one", 5) // nor is it there
	var told []string
	for _, entry := range log.Entries() {
		told = append(told, entry.ID+" "+entry.Message)
	}
	want := []string{
		"SE_DOWN no heartbeat from the agent",
		"SE_HEARTBEAT_FAILURE 5 heartbeats in a row did not come: its agent is cut off from the controller, or hangs",
		"SE_UP serves",
	}
	if !slices.Equal(told, want) {
		t.Errorf("newest first %q, want %q", told, want)
	}
}

func TestEnginesAreYetToComeWhenOneIsBackAfterAllWereAway(t *testing.T) {
	now := clock
	s := &stage{T: t, Fleet: New(nil, quiet(), events.New(quiet(), time.Now), func() time.Time { return now })}
	come := func(engine string) { s.Connected(engine, &enginev1.Hello{Status: running}) }
	gathering := func(engine string) time.Time { return s.Facts()[engine].Gathering }
	come("se-one")
	s.Disconnected("se-one", "gone")
	come("se-two")
	if at := gathering("se-one"); !at.IsZero() {
		t.Errorf("one that is new says nothing of the other: %v", at)
	}
	s.Disconnected("se-two", "gone")
	now = now.Add(time.Minute)
	come("se-two")
	back := now
	s.Disconnected("se-two", "gone")
	now = now.Add(time.Minute)
	come("se-two")
	if at := gathering("se-one"); !at.Equal(back) {
		t.Errorf("one that does not come is waited for from %v, and not from %v", at, back)
	}
	if at := gathering("se-two"); !at.Equal(now) {
		t.Errorf("one that is back was among those that were away: %v", at)
	}
}
