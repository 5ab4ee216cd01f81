package reconcile

import (
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
)

// look is the usage of engines at the time when the loads of a group were last examined.
type look struct {
	at    time.Time
	usage map[string]place.Usage // by engine uuid
}

// rebalance examines the loads of groups with auto_rebalance, each group at its own interval. A controller that
// restarts begins all intervals again. rebalance returns the changes for the groups whose interval has ended, and the
// time when the next interval ends; zero: no group has auto_rebalance.
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
				assignments, events := r.placer.Rebalance(in.Input, group, loadsBetween(group, last, now))
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
