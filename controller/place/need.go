package place

import (
	"slices"

	"github.com/weir-lb/weir/controller/model"
)

// Need is the number of engines that a group should have, and the engines that it has. A cloud starts missing engines,
// and stops idle ones.
type Need struct {
	Group   *model.Group
	Wanted  int
	Have    int      // enabled, up, and not cut off from routers
	Present []string // uuids of these, and of engines that may come back before others take over
	Idle    []string // uuids of engines without a seat that the group does not need
}

func (d *decider) needs() []Need {
	var needs []Need
	for _, group := range d.in.Model.Groups {
		unreachable := d.unreachable(group)
		gone := func(engine string) bool {
			lost, end := d.lost(engine)
			d.again(end)
			return lost || unreachable[engine]
		}
		need := Need{Group: group, Wanted: d.enginesWanted(group, gone)}
		for _, engine := range group.Engines {
			if engine.EnableState != "SE_STATE_ENABLED" || gone(engine.UUID) {
				continue
			}
			need.Present = append(need.Present, engine.UUID)
			if d.up(engine.UUID) {
				need.Have++
			}
		}
		need.Idle = d.idle(group, need.Have-need.Wanted, gone)
		needs = append(needs, need)
	}
	return needs
}

// unreachable returns the uuids of engines that clients do not reach, while they reach another engine of the same
// group. The seats of these engines move to others.
func (d *decider) unreachable(group *model.Group) map[string]bool {
	unreachable := map[string]bool{}
	if !group.BGPPeerMonitorFailover {
		return unreachable
	}
	var suspects []string
	for _, engine := range group.Engines {
		if d.up(engine.UUID) && d.hasLostRouter(engine.UUID) {
			suspects = append(suspects, engine.UUID)
		}
	}
	if len(suspects) == 0 {
		return unreachable
	}
	looked := map[string]bool{} // at virtual services with these routes
	for uuid, set := range d.kept.sets {
		if vs := set.all[0]; vs.UUID != uuid || vs.Group != group || !takesTraffic(vs) {
			continue
		}
		routes := routes(set.all)
		if looked[routes] {
			continue
		}
		looked[routes] = true
		for _, engine := range (&service{decider: d, all: set.all, vs: set.all[0], group: group}).cutOffOf(suspects) {
			unreachable[engine] = true
		}
	}
	return unreachable
}

// hasLostRouter is a quick check: only an engine that has lost a router needs a look at every virtual service.
func (d *decider) hasLostRouter(engine string) bool {
	for _, session := range d.in.Engines[engine].Sessions {
		if !session.Up {
			return true
		}
	}
	return false
}

// enginesWanted returns as many engines as it takes to hold all seats and the virtual service with the most seats. With
// N+M, buffer_se more are wanted, because engines may fail. Virtual services that wait for a fresh engine want one
// each.
func (d *decider) enginesWanted(group *model.Group, gone func(engine string) bool) int {
	seats, widest, fresh := 0, 0, 0
	if demands := d.kept.demands[group]; demands != nil {
		for wanted, sets := range demands.sets {
			seats, widest = seats+wanted*sets, max(widest, wanted)
		}
		fresh = demands.fresh
	}
	perEngine := max(int(group.MaxVSPerSE), 1)
	wanted := max((seats+perEngine-1)/perEngine, widest)
	if group.HAMode == "HA_MODE_SHARED" && wanted > 0 {
		wanted += int(group.BufferSE)
	}
	if fresh > 0 {
		wanted = max(wanted, d.busy(group, gone)+fresh)
	}
	return min(max(wanted, int(group.MinSE)), int(group.MaxSE))
}

// busy counts the engines with seats that are not gone.
func (d *decider) busy(group *model.Group, gone func(engine string) bool) int {
	count := 0
	for _, engine := range group.Engines {
		if d.load[engine.UUID] > 0 && !gone(engine.UUID) {
			count++
		}
	}
	return count
}

// idle returns the engines that may be stopped: those that clients do not reach, and as many more as there are too
// many.
func (d *decider) idle(group *model.Group, surplus int, gone func(engine string) bool) []string {
	if surplus < 0 {
		return nil
	}
	var useless, idle []string
	for _, created := range []bool{true, false} { // engines that the controller created go first
		for _, engine := range slices.Backward(group.Engines) {
			may := engine.ControllerCreated == created && d.seats[engine.UUID] == 0 &&
				engine.EnableState == "SE_STATE_ENABLED"
			switch {
			case !may || !d.up(engine.UUID):
			case gone(engine.UUID):
				useless = append(useless, engine.UUID)
			case len(idle) < surplus:
				idle = append(idle, engine.UUID)
			}
		}
	}
	return append(useless, idle...)
}
