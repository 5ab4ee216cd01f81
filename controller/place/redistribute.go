package place

import (
	"fmt"
	"slices"

	"github.com/weir-lb/weir/controller/model"
)

// Redistribute has virtual services of a group change places with their standbys until each engine is the active one of
// as many: after a failure one engine is that of all. What something is under way with stays as it is. The next
// decision carries it out, as it does with orders. Error: *Refusal.
func Redistribute(in Input, group *model.Group) ([]Assignment, error) {
	if group.HAMode != legacyMode {
		return nil, &Refusal{"ha_mode", fmt.Sprintf(
			"group %s is %s, where no engine stands by for another: auto_rebalance moves load there, or an order to migrate", group.Name, group.HAMode)}
	}
	if !group.DistributeStandby {
		return nil, &Refusal{"distribute_load_active_standby",
			fmt.Sprintf("group %s does not want its load distributed: set it to true first", group.Name)}
	}
	pairs, active := newDecider(in).pairs(group)
	var changed []Assignment
	for {
		i := steepest(pairs, active)
		if i < 0 {
			return changed, nil
		}
		p := pairs[i]
		pairs = slices.Delete(pairs, i, i+1)
		active[p.active]--
		active[p.standby]++
		p.a.CalledOff = nil
		p.become(p.active, Leaving, Switchover)
		changed = append(changed, p.assignments()...)
	}
}

// pair is a virtual service that serves on one engine, and could as well on the other.
type pair struct {
	*service
	active, standby string
}

// pairs of a group, and of how many each engine is the active one, or is about to be.
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
			s.up(seats[0].Engine) && s.up(seats[1].Engine) {
			found = append(found, pair{s, seats[0].Engine, seats[1].Engine})
		}
	}
	return found, active
}

// steepest is the pair whose change of places evens out most; -1: there is none that does.
func steepest(pairs []pair, active map[string]int) int {
	best, most := -1, 1
	for i, p := range pairs {
		if difference := active[p.active] - active[p.standby]; difference > most {
			best, most = i, difference
		}
	}
	return best
}
