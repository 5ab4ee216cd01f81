package dataplane

import (
	"github.com/weir-lb/weir/agent/plan"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// step is the way from one Plan of the data plane to the next: what is sent, and what changes about the sockets.
type step struct {
	frame *dataplanev1.ToDataplane
	whole bool // a whole Plan is sent
	// where the next Plan listens, of the virtual services that it says; sockets may be there already
	comes      places
	goes       []slot        // where nobody listens then
	members    []plan.Member // servers of the pools that it says
	advertises bool          // it may say something else of the addresses than before
}

// stepTo is the step to a Plan from the one that the data plane has (nil: it is told all of it), while it listens at
// serving.
func stepTo(next, base *plan.Plan, serving places, workers uint32) step {
	if base == nil {
		return wholeStep(next, serving, workers)
	}
	difference := next.Since(base)
	taken := step{
		frame: &dataplanev1.ToDataplane{Frame: &dataplanev1.ToDataplane_PlanChange{PlanChange: difference.Change}},
		comes: placesOf(difference.Come, workers), members: difference.Members, advertises: difference.Advertises,
	}
	for place := range placesOf(difference.Gone, workers) {
		if _, stays := taken.comes[place]; !stays {
			taken.goes = append(taken.goes, place)
		}
	}
	return taken
}

func wholeStep(next *plan.Plan, serving places, workers uint32) step {
	taken := step{
		frame: &dataplanev1.ToDataplane{Frame: &dataplanev1.ToDataplane_Plan{Plan: next.Dataplane()}},
		whole: true, comes: placesOf(next.Listeners, workers), advertises: true,
	}
	for place := range serving {
		if _, stays := taken.comes[place]; !stays {
			taken.goes = append(taken.goes, place)
		}
	}
	return taken
}

// take makes serving where the next Plan listens, and returns where nobody does any more.
func (s *step) take(serving places) []slot {
	for place, listener := range s.comes {
		serving[place] = listener
	}
	for _, place := range s.goes {
		delete(serving, place)
	}
	return s.goes
}

// newIn is where the next Plan listens and what serves does not.
func (s *step) newIn(serving places) []slot {
	var all []slot
	for place := range s.comes {
		if _, serves := serving[place]; !serves {
			all = append(all, place)
		}
	}
	return all
}
