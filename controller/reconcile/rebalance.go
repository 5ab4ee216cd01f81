package reconcile

import (
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
)

// look is what was used up when a group was looked at last.
type look struct {
	at    time.Time
	usage map[string]place.Usage // of engines, by uuid
}

// rebalance looks at the loads of groups with auto_rebalance, each at its own interval; a controller that restarts
// begins an interval anew. It returns what follows for the groups whose interval is over, and when the next one's is;
// zero: no group is looked at.
func (r *Reconciler) rebalance(in Input) (changed []place.Assignment, happened []place.Event, again time.Time) {
	watched := map[string]look{}
	for _, group := range in.Model.Groups {
		if !group.AutoRebalance {
			continue
		}
		interval := place.Interval(group)
		last, known := r.looked[group.UUID]
		if end := last.at.Add(interval); !known || !end.After(in.Now) {
			now := look{in.Now, in.Usage()}
			if known {
				assignments, events := place.Rebalance(in.Input, group, loadsBetween(group, last, now))
				changed, happened = append(changed, assignments...), append(happened, events...)
			}
			last = now
		}
		watched[group.UUID] = last
		again = earlier(again, last.at.Add(interval))
	}
	r.looked = watched
	return changed, happened, again
}

func loadsBetween(group *model.Group, then, now look) map[string]place.Load {
	loads := map[string]place.Load{}
	for _, engine := range group.Engines {
		before, was := then.usage[engine.UUID]
		after, is := now.usage[engine.UUID]
		if load, known := place.LoadBetween(group, before, after); was && is && known {
			loads[engine.UUID] = load
		}
	}
	return loads
}
