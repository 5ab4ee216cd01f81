package place

import (
	"fmt"
	"slices"

	"github.com/weir-lb/weir/controller/model"
)

// Redistribute makes virtual services of a group change places with their standbys, until each engine is the active one
// of about the same number. After a failure, one engine is active for all of them. A virtual service with a change
// under way stays as it is, and so does one whose standby cannot serve before the active one has stopped. The next
// decision carries out the changes, like those of orders. Error: *Refusal.
func (p *Placer) Redistribute(in Input, group *model.Group) ([]Assignment, error) {
	if group.HAMode != legacyMode {
		return nil, &Refusal{"ha_mode", fmt.Sprintf(
			"group %s has no standbys in %s: use auto_rebalance there, or migrate virtual services",
			group.Name, group.HAMode)}
	}
	if !group.DistributeStandby {
		return nil, &Refusal{"distribute_load_active_standby",
			fmt.Sprintf("group %s does not distribute its load: set it to true first", group.Name)}
	}
	pairs, active := p.begin(in).pairs(group)
	var changed []Assignment
	for {
		i := steepest(pairs, active)
		if i < 0 {
			return changed, nil
		}
		pair := pairs[i]
		pairs = slices.Delete(pairs, i, i+1)
		active[pair.active]--
		active[pair.standby]++
		pair.a.CalledOff = nil
		pair.become(pair.active, Leaving, Switchover)
		changed = append(changed, pair.assignments()...)
	}
}

// pair is a virtual service that serves on one engine, and has its standby on another.
type pair struct {
	*service
	active, standby string
}

// pairs returns the pairs of a group. active is the number of virtual services for which each engine is the active one,
// or is about to be.
func (d *decider) pairs(group *model.Group) (found []pair, active map[string]int) {
	active = map[string]int{}
	for _, set := range d.kept.all() {
		s := d.service(set)
		if s.group != group || !takesTraffic(s.vs) {
			continue
		}
		if present := s.present(); len(present) > 0 {
			active[present[0].Engine]++
		}
		if seats := s.a.Seats; len(seats) == 2 && seats[0].State == Serving && seats[1].State == Standby &&
			s.up(seats[0].Engine) && s.up(seats[1].Engine) && !s.mayShare(seats[0].Engine, seats[1].Engine) {
			found = append(found, pair{s, seats[0].Engine, seats[1].Engine})
		}
	}
	return found, active
}

// steepest returns the index of the pair whose change of places evens out most; -1: none does.
func steepest(pairs []pair, active map[string]int) int {
	best, most := -1, 1
	for i, p := range pairs {
		if difference := active[p.active] - active[p.standby]; difference > most {
			best, most = i, difference
		}
	}
	return best
}
