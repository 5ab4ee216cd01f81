package place

import (
	"slices"

	"github.com/weir-lb/weir/controller/model"
)

// Need is how many engines a group shall have and what it has. Who starts engines closes the gap; who stops them takes
// the idle ones.
type Need struct {
	Group   *model.Group
	Wanted  int
	Have    int      // enabled and up
	Present []string // uuids of these, and of those that may come back before others take over from them
	Idle    []string // uuids of engines with nothing on them, beyond Wanted
}

func (d *decider) needs() []Need {
	var needs []Need
	for _, group := range d.in.Model.Groups {
		need := Need{Group: group, Wanted: d.enginesWanted(group)}
		for _, engine := range group.Engines {
			if engine.EnableState != "SE_STATE_ENABLED" || d.lost(engine.UUID) {
				continue
			}
			need.Present = append(need.Present, engine.UUID)
			if d.up(engine.UUID) {
				need.Have++
			}
		}
		need.Idle = d.idle(group, need.Have-need.Wanted)
		needs = append(needs, need)
	}
	return needs
}

// enginesWanted: as many as hold all seats and the widest virtual service, and with N+M so many more that may fail.
func (d *decider) enginesWanted(group *model.Group) int {
	seats, widest, fresh := 0, 0, 0
	for _, all := range d.sets {
		if vs := all[0]; vs.Group == group && takesTraffic(vs) {
			assignment := d.out.Assignments[vs.UUID]
			wanted := Wanted(vs, assignment)
			if !assignment.Fresh.IsZero() {
				fresh++
			}
			if group.HAMode == legacyMode {
				wanted++
			}
			seats, widest = seats+wanted, max(widest, wanted)
		}
	}
	perEngine := max(int(group.MaxVSPerSE), 1)
	wanted := max((seats+perEngine-1)/perEngine, widest)
	if group.HAMode == "HA_MODE_SHARED" && wanted > 0 {
		wanted += int(group.BufferSE)
	}
	if fresh > 0 {
		wanted = max(wanted, d.busy(group)+fresh)
	}
	return min(max(wanted, int(group.MinSE)), int(group.MaxSE))
}

// busy counts the engines that have something on them.
func (d *decider) busy(group *model.Group) int {
	count := 0
	for _, engine := range group.Engines {
		if d.load[engine.UUID] > 0 && !d.lost(engine.UUID) {
			count++
		}
	}
	return count
}

func (d *decider) idle(group *model.Group, surplus int) []string {
	seated := map[string]bool{}
	for _, a := range d.out.Assignments {
		for _, seat := range a.Seats {
			seated[seat.Engine] = true
		}
	}
	var idle []string
	for _, created := range []bool{true, false} { // who was started by hand is stopped by hand
		for _, engine := range slices.Backward(group.Engines) {
			may := engine.ControllerCreated == created && !seated[engine.UUID] && engine.EnableState == "SE_STATE_ENABLED"
			if len(idle) < surplus && may && d.up(engine.UUID) {
				idle = append(idle, engine.UUID)
			}
		}
	}
	return idle
}
