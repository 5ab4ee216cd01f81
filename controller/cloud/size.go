package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
)

// forgetBusy drops the times since when engines have been idle, for engines that are idle no more.
func (w *world) forgetBusy() {
	idle := map[string]bool{}
	for _, need := range w.needs {
		for _, engine := range need.Idle {
			idle[engine] = true
		}
	}
	for engine := range w.memory.idleSince {
		if !idle[engine] {
			delete(w.memory.idleSince, engine)
		}
	}
}

// retireIdle retires the engines that have been idle for the time that their group sets.
func (w *world) retireIdle(d *decision, need place.Need) {
	delay := time.Duration(need.Group.DeprovisionDelayMin) * time.Minute
	for _, engine := range need.Idle {
		i := slices.IndexFunc(w.instances, func(i Instance) bool { return i.Engine == engine && i.State == Joined })
		if i < 0 {
			continue
		}
		if _, known := w.memory.idleSince[engine]; !known {
			w.memory.idleSince[engine] = w.now
		}
		if end := w.memory.idleSince[engine].Add(delay); end.After(w.now) {
			d.wake(end, w.now)
			continue
		}
		w.become(d, w.instances[i], Retiring, "DELETING_SE",
			fmt.Sprintf("group %s wants %d engines, and it had nothing to do for %v", need.Group.Name,
				need.Wanted, delay))
	}
}

// fill starts the engines that a group lacks, in free places.
func (w *world) fill(d *decision, need place.Need) {
	group := need.Group
	if group.Cloud == nil {
		return
	}
	listing, starts := w.clouds[group.Cloud.UUID]
	missing := min(need.Wanted-len(need.Present)-w.coming(d, need), w.allowed(group))
	if !starts || missing <= 0 {
		delete(w.memory.lacking, group.UUID)
		return
	}
	if !w.isFresh(d, group.Cloud.UUID, listing) {
		return
	}
	for ; missing > 0; missing-- {
		free, found := w.free(d, listing)
		if !found {
			w.tellLack(d, need, listing)
			return
		}
		w.begin(d, need, free)
	}
	delete(w.memory.lacking, group.UUID)
}

// coming counts the engines that are about to connect.
func (w *world) coming(d *decision, need place.Need) int {
	count := 0
	for _, instance := range w.instances {
		switch {
		case instance.Group != need.Group.UUID || slices.Contains(need.Present, instance.Engine):
		case instance.State == Starting, instance.State == Joined && w.comesAgain(d, instance):
			count++
		}
	}
	return count
}

// comesAgain tells whether an engine that has ended is about to connect again. It counts on the first restart only.
func (w *world) comesAgain(d *decision, instance Instance) bool {
	if w.memory.working[instance.Engine] || w.justStarted(d, instance) {
		return true
	}
	switch w.placeOf(d, instance).State {
	case Free, Stopped:
		return w.memory.failures[instance.Name].count == 0
	case unlisted:
		return true
	default:
		return false
	}
}

// allowed returns how many more engines the group may have. Engines that are away count, too.
func (w *world) allowed(group *model.Group) int {
	allowed := int(group.MaxSE) - len(group.Engines)
	for _, instance := range w.instances {
		is := func(e *model.Engine) bool { return e.UUID == instance.Engine }
		if instance.Group == group.UUID && instance.State != Retiring && !slices.ContainsFunc(group.Engines, is) {
			allowed--
		}
	}
	return allowed
}

// free returns the best free place: one in the zone with the fewest instances.
func (w *world) free(d *decision, listing listing) (best Place, found bool) {
	var candidates []Place
	for _, place := range listing.places {
		held := func(i Instance) bool { return i.Name == place.Engine }
		if place.State == Free && !w.names[place.Engine] && !slices.ContainsFunc(w.instances, held) &&
			w.memory.failures.mayTry(d, place.Engine, w.now) {
			candidates = append(candidates, place)
		}
	}
	if len(candidates) == 0 {
		return best, false
	}
	return slices.MinFunc(candidates, func(a, b Place) int {
		return cmp.Or(cmp.Compare(w.memory.failures[a.Engine].count, w.memory.failures[b.Engine].count),
			cmp.Compare(w.inZone(a.Zone), w.inZone(b.Zone)))
	}), true
}

func (w *world) inZone(zone string) int {
	count := 0
	for _, instance := range w.instances {
		if instance.Zone == zone {
			count++
		}
	}
	return count
}

func (w *world) begin(d *decision, need place.Need, free Place) {
	instance := Instance{
		Engine: w.uuid(), Name: free.Engine, Cloud: need.Group.Cloud.UUID, Group: need.Group.UUID, Zone: free.Zone,
		State: Starting, Since: w.now,
	}
	w.instances = append(w.instances, instance)
	d.changed = append(d.changed, instance)
	d.tasks = append(d.tasks, task{create, instance})
	d.news = append(d.news, news{"CREATING_SE", instance,
		fmt.Sprintf("group %s wants %d engines and has %d: cloud %s starts it", need.Group.Name, need.Wanted, need.Have,
			need.Group.Cloud.Name)})
}
