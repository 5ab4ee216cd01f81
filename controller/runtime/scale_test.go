package runtime

import (
	"fmt"
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
)

// seated has the virtual service on both engines, the second one in some state.
func (s *stage) seated(second place.Seat, calledOff *place.Failure) schema.Object {
	assignment := fleettest.Both(s.VS)
	second.Engine = "se-two"
	assignment.Seats[1], assignment.CalledOff = second, calledOff
	state := s.State
	state.Assignments = place.Assignments(nil).With([]place.Assignment{assignment})
	s.Observe(state)
	return s.VirtualService("vs-1")
}

func TestWhatWasOrderedIsInProgressWhileAnEngineThatIsThereComesOrGoes(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one", "se-two")
	all := func(runtime schema.Object) string {
		return fmt.Sprint(runtime["scaleout_in_progress"], runtime["scalein_in_progress"],
			runtime["migrate_in_progress"])
	}
	for _, known := range []struct {
		seat place.Seat
		want string
	}{
		{place.Seat{State: place.Starting, Cause: place.ScaleOut}, "true false false"},
		{place.Seat{State: place.Draining, Cause: place.ScaleIn}, "false true false"},
		{place.Seat{State: place.Leaving, Cause: place.Disabled}, "false false true"},
		{place.Seat{State: place.Draining, Cause: place.Failover}, "false false false"},
		{place.Seat{State: place.Draining, Cause: place.Failed}, "false false false"},
	} {
		if got := all(s.seated(known.seat, nil)); got != known.want {
			t.Errorf("%v: got %s, want %s", known.seat, got, known.want)
		}
	}
	s.Contains(s.VirtualService("vs-1"), "percent_ses_up:100")
	s.Disconnected("se-two", "gone")
	s.Contains(s.seated(place.Seat{State: place.Draining, Cause: place.Failover}, nil), "percent_ses_up:100")
	s.Contains(s.seated(place.Seat{State: place.Serving, Cause: place.New}, nil), "percent_ses_up:50")
	if got := all(s.seated(place.Seat{State: place.Draining, Cause: place.ScaleIn}, nil)); got != "false false false" {
		t.Errorf("an engine that is away: %s", got)
	}
}

func TestAnOrderThatCameToNothingIsShown(t *testing.T) {
	s := newStage(t)
	serving := place.Seat{State: place.Serving, Cause: place.New}
	if _, shown := s.seated(serving, nil)["last_scale_status"]; shown {
		t.Error("nothing failed")
	}
	runtime := s.seated(
		serving, &place.Failure{Event: "VS_MIGRATE_FAILED", Why: "two did not serve it within 600 s",
			At: fleettest.Clock},
	)
	s.Contains(
		runtime["last_scale_status"], "MIGRATE_ERROR", "action_success:false", "two did not serve it within 600 s",
		"2026-11-20T12:00:00Z",
	)
	s.Contains(runtime["vip_summary"], "MIGRATE_ERROR")
}

func TestEngineThatDiedHasNoShareOfTheConnections(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one", "se-two")
	for _, uuid := range []string{"se-one", "se-two"} {
		s.Reported(uuid, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
			VirtualServices: []*dataplanev1.VirtualServiceCounters{{Uuid: "vs-1", ConnectionsTotal: 100}},
		}}})
	}
	shares := func() []any {
		var shares []any
		for _, engine := range s.VirtualService("vs-1")["service_engine"].([]any) {
			shares = append(shares, engine.(schema.Object)["connections_percent"])
		}
		return shares
	}
	if got := fmt.Sprint(shares()); got != "[50 50]" {
		t.Errorf("both work: %s", got)
	}
	s.Disconnected("se-one", "gone")
	if got := fmt.Sprint(shares()); got != "[<nil> 100]" {
		t.Errorf("one has died: %s", got)
	}
}
