package dataplane

import (
	"github.com/weir-lb/weir/agent/plan"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// step takes the data plane from one Plan to the next: the frame to send, and which sockets to open and to close.
type step struct {
	frame   *dataplanev1.ToDataplane
	whole   bool          // the frame is a whole Plan, not a change
	comes   places        // listeners of the virtual services in the frame; some have sockets already
	goes    []slot        // places that the next Plan does not listen at any more
	members []plan.Member // servers of the pools in the frame
}

// stepTo is the step from the Plan that the data plane has (nil: none of ours) to the next one. It listens at serving.
func stepTo(next, base *plan.Plan, serving places, workers uint32) step {
	if base == nil {
		return wholeStep(next, serving, workers)
	}
	difference := next.Since(base)
	taken := step{
		frame: &dataplanev1.ToDataplane{Frame: &dataplanev1.ToDataplane_PlanChange{PlanChange: difference.Change}},
		comes: placesOf(difference.Come, workers), members: difference.Members,
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
		whole: true, comes: placesOf(next.Listeners, workers),
	}
	for place := range serving {
		if _, stays := taken.comes[place]; !stays {
			taken.goes = append(taken.goes, place)
		}
	}
	return taken
}

// take updates serving to where the next Plan listens, and returns the places that it leaves.
func (s *step) take(serving places) []slot {
	for place, listener := range s.comes {
		serving[place] = listener
	}
	for _, place := range s.goes {
		delete(serving, place)
	}
	return s.goes
}

// newIn are the places of the next Plan that are not in serving.
func (s *step) newIn(serving places) []slot {
	var all []slot
	for place := range s.comes {
		if _, serves := serving[place]; !serves {
			all = append(all, place)
		}
	}
	return all
}
