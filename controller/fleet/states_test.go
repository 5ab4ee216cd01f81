package fleet_test

import (
	"slices"
	"testing"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/place"
)

func TestEngineThatIsAboutToLeaveDoesNotCountBesideItsSuccessor(t *testing.T) {
	for _, each := range []struct {
		one, two place.SeatState
		serve    []string
		want     int
	}{
		{place.Serving, place.Serving, []string{"se-one", "se-two"}, 2},
		{place.Serving, place.Serving, []string{"se-one"}, 1},
		{place.Leaving, place.Starting, []string{"se-one"}, 1},
		{place.Leaving, place.Serving, []string{"se-one", "se-two"}, 1},
		{place.Draining, place.Serving, []string{"se-one", "se-two"}, 1},
		{place.Leaving, place.Standby, []string{"se-one"}, 1},
		{place.Draining, place.Standby, []string{"se-one"}, 1},
		{place.Stopped, place.Standby, nil, 0},
	} {
		s := fleettest.New(t)
		s.State.Assignments = place.Assignments(nil).With([]place.Assignment{{VirtualService: "vs-1",
			Seats: []place.Seat{
				{Engine: "se-one", State: each.one}, {Engine: "se-two", State: each.two}}}})
		s.Observe(s.State)
		s.Serve(each.serve...)
		s.Read(func(known *fleet.Known) {
			if got := known.EnginesWith(known.Pool("pool-1")); got != each.want {
				t.Errorf("%+v: %d", each, got)
			}
		})
	}
}

func TestEnginesThatHaveNotHeardOfThePool(t *testing.T) {
	s := fleettest.New(t)
	want := func(names ...string) {
		t.Helper()
		s.Read(func(known *fleet.Known) {
			if got := known.Unheard(known.Pool("pool-1")); !slices.Equal(got, names) {
				t.Errorf("%v, want %v", got, names)
			}
		})
	}
	want("one", "two")
	s.Serve("se-one", "se-two")
	want()
	s.Want(11, "vs-1")
	plans := s.Want(12, "vs-1", "pool-1") // the pool is another one
	s.Applied("se-one", plans["se-one"], nil)
	s.Refused("se-two", plans["se-two"], nil)
	want("two")
}
