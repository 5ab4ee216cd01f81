package place

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/model"
)

// Rebalance changes how many engines virtual services of a group are on, and which, so that no engine has more to do
// than max_cpu_usage says, and as few as possible less than min_cpu_usage. Loads are those of the last interval, by
// engine uuid; of an engine that is missing nothing is known. The next decision carries the changes out, as it does
// with orders.
//
// Under a load that stays the same it comes to rest: what makes room is only undone where the load would fit again with
// a margin, halfway between the two thresholds.
func Rebalance(in Input, group *model.Group, loads map[string]Load) ([]Assignment, []Event) {
	if group.HAMode == legacyMode {
		return nil, nil // one engine each, and the standby is to have room for it
	}
	b := &balancer{decider: newDecider(in), group: group, loads: loads, percent: map[string]float64{},
		touched: map[string]bool{}}
	for uuid, load := range loads {
		b.percent[uuid] = load.Percent
	}
	if !b.relieve() && !b.narrow() && group.PlacementAlgorithm != "PLACEMENT_ALGO_DISTRIBUTED" {
		b.pack()
	}
	return b.changed, b.out.Events
}

// Interval is how often a group is rebalanced.
func Interval(group *model.Group) time.Duration {
	return time.Duration(max(group.AutoRebalanceIntervalS, 1)) * time.Second
}

// balancer is a rebalancing in the making.
type balancer struct {
	*decider
	group   *model.Group
	loads   map[string]Load
	percent map[string]float64 // of each engine, once all is done that was decided
	touched map[string]bool    // virtual services: one step each
	changed []Assignment
}

func (b *balancer) most() float64  { return float64(b.group.MaxCPUUsage) }
func (b *balancer) least() float64 { return float64(b.group.MinCPUUsage) }

// roomy is what an engine may come to when work is put together.
func (b *balancer) roomy() float64 { return (b.most() + b.least()) / 2 }

// relieve takes something from every engine that has too much to do. True: one has.
func (b *balancer) relieve() bool {
	high := false
	for _, engine := range b.byLoad() {
		if b.percent[engine.UUID] > b.most() {
			high = true
			b.relieveEngine(engine)
		}
	}
	return high
}

// relieveEngine: what makes up most of the load comes to one engine more, anything smaller goes elsewhere.
func (b *balancer) relieveEngine(engine *model.Engine) {
	for _, s := range b.on(engine) {
		part := b.part(s, engine.UUID)
		if part <= 0 || !s.steady() {
			continue
		}
		if part < b.percent[engine.UUID]/2 && b.moveAway(s, engine, b.most(), nil) || b.widen(s, engine) ||
			b.moveAway(s, engine, b.most(), nil) {
			return
		}
	}
}

// widen brings a virtual service to one engine more, a fresh one if no other has room.
func (b *balancer) widen(s *service, high *model.Engine) bool {
	_, most := Limits(s.group)
	count := float64(len(s.counting()))
	if s.wanted() >= most {
		return false
	}
	share := b.total(s) / (count + 1)
	target := b.target(s, share, b.most(), nil)
	where := "a fresh engine"
	switch {
	case target != nil:
		s.take(target.UUID, Starting, ScaleOut)
		b.percent[target.UUID] += share
		where = target.Name
	case len(b.group.Engines) < int(b.group.MaxSE):
		s.a.Fresh = s.in.Now
	default:
		return false
	}
	for _, seat := range s.a.Seats {
		b.percent[seat.Engine] -= b.part(s, seat.Engine) / (count + 1)
	}
	s.a.Requested = s.wanted() + 1
	b.done(s, "REBALANCE_VS_SCALEOUT", high, "above max_cpu_usage, %d %%: it comes to %s too",
		b.group.MaxCPUUsage, where)
	return true
}

// moveAway brings a virtual service from one engine to another that has room for it; nil among means any.
func (b *balancer) moveAway(s *service, from *model.Engine, ceiling float64, among func(*model.Engine) bool) bool {
	part := b.part(s, from.UUID)
	target := b.target(s, part, ceiling, among)
	if target == nil {
		return false
	}
	s.become(from.UUID, Leaving, Migrate)
	s.take(target.UUID, Starting, Migrate)
	b.percent[from.UUID] -= part
	b.percent[target.UUID] += part
	why := fmt.Sprintf("above max_cpu_usage, %d %%", b.group.MaxCPUUsage)
	if among != nil {
		why = fmt.Sprintf("below min_cpu_usage, %d %%", b.group.MinCPUUsage)
	}
	b.done(s, "REBALANCE_VS_MIGRATE", from, "%s: it moves to %s", why, target.Name)
	return true
}

// narrow takes a virtual service from one of its engines where all have little to do. True: it has.
func (b *balancer) narrow() bool {
	for _, s := range b.services() {
		least, _ := Limits(s.group)
		seats := s.counting()
		if !s.steady() || s.wanted() <= least || len(seats) < 2 || !b.allBelow(s) {
			continue
		}
		leaver := slices.MinFunc(seats[1:], func(x, y Seat) int {
			return cmp.Compare(b.percent[x.Engine], b.percent[y.Engine])
		})
		share := b.total(s) / float64(len(seats)-1)
		fits := func(seat Seat) bool {
			return seat == leaver || b.percent[seat.Engine]-b.part(s, seat.Engine)+share <= b.roomy()
		}
		if slices.ContainsFunc(seats, func(seat Seat) bool { return !fits(seat) }) {
			continue
		}
		s.become(leaver.Engine, Leaving, ScaleIn)
		s.a.Requested = s.wanted() - 1
		b.done(s, "REBALANCE_VS_SCALEIN", b.engines[leaver.Engine],
			"and all its engines below min_cpu_usage, %d %%: it leaves this one", b.group.MinCPUUsage)
		return true
	}
	return false
}

// pack empties the engine with the least to do, where all that it has finds room on others that have something to do.
func (b *balancer) pack() {
	order := b.byLoad()
	slices.Reverse(order)
	for _, engine := range order {
		_, known := b.loads[engine.UUID]
		if b.load[engine.UUID] == 0 || !known || b.percent[engine.UUID] >= b.least() {
			continue
		}
		trial := b.copy()
		if all := trial.empty(engine); all {
			*b = *trial
			return
		}
	}
}

func (b *balancer) empty(engine *model.Engine) (all bool) {
	busy := func(other *model.Engine) bool { return other != engine && b.load[other.UUID] > 0 }
	for _, s := range b.on(engine) {
		if !s.steady() || !b.moveAway(s, engine, b.roomy(), busy) {
			return false
		}
	}
	return len(b.changed) > 0
}

// copy lets something be tried.
func (b *balancer) copy() *balancer {
	trial := *b
	trial.decider = newDecider(b.in)
	trial.percent, trial.touched = map[string]float64{}, map[string]bool{}
	for uuid, load := range b.loads {
		trial.percent[uuid] = load.Percent
	}
	return &trial
}

// target is the engine with the least to do among those that can take a share of a virtual service and stay below a
// ceiling, on a host of its own if the group wants that.
func (b *balancer) target(s *service, share, ceiling float64, among func(*model.Engine) bool) *model.Engine {
	var candidates []*model.Engine
	for _, engine := range b.group.Engines {
		_, known := b.loads[engine.UUID]
		switch {
		case among != nil && !among(engine), s.objection(engine) != "", s.onSameHost(engine) > 0:
		case !known && b.load[engine.UUID] > 0: // it has only just come to what it has
		case b.load[engine.UUID] == 0 && b.awaited(): // somebody waits for just that
		case b.percent[engine.UUID]+share <= ceiling:
			candidates = append(candidates, engine)
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	return slices.MinFunc(candidates, func(x, y *model.Engine) int {
		return cmp.Or(cmp.Compare(b.percent[x.UUID], b.percent[y.UUID]), cmp.Compare(x.Name, y.Name),
			cmp.Compare(x.UUID, y.UUID))
	})
}

// awaited tells whether a virtual service of the group waits for a fresh engine.
func (b *balancer) awaited() bool {
	return slices.ContainsFunc(b.in.Model.VirtualServices, func(vs *model.VirtualService) bool {
		return vs.Group == b.group && !b.in.Before.Of(vs.UUID).Fresh.IsZero()
	})
}

// steady: nothing is under way with it, nor was in the interval that the loads are of. On an engine that is away
// nothing is.
func (s *service) steady() bool {
	since := s.in.Now.Add(-Interval(s.group))
	moves := func(seat Seat) bool {
		if seat.State == Draining {
			return s.up(seat.Engine)
		}
		return seat.State != Serving || !s.up(seat.Engine) || seat.Since.After(since)
	}
	return s.a.Fresh.IsZero() && len(s.counting()) == s.wanted() && !slices.ContainsFunc(s.a.Seats, moves)
}

// on are the virtual services of an engine that were not touched yet, those with the largest part first.
func (b *balancer) on(engine *model.Engine) []*service {
	var found []*service
	for _, s := range b.services() {
		if s.a.seat(engine.UUID) != nil && !b.touched[s.vs.UUID] {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(x, y *service) int {
		return cmp.Compare(b.part(y, engine.UUID), b.part(x, engine.UUID))
	})
	return found
}

func (b *balancer) byLoad() []*model.Engine {
	sorted := slices.Clone(b.group.Engines)
	slices.SortStableFunc(sorted, func(x, y *model.Engine) int {
		return cmp.Compare(b.percent[y.UUID], b.percent[x.UUID])
	})
	return sorted
}

// services of the group, those that go together as one.
func (b *balancer) services() []*service {
	var found []*service
	for _, set := range b.kept.all() {
		if set.all[0].Group == b.group {
			found = append(found, b.service(set))
		}
	}
	return found
}

func (b *balancer) part(s *service, engine string) (sum float64) {
	for _, vs := range s.all {
		sum += b.loads[engine].Services[vs.UUID]
	}
	return sum
}

func (b *balancer) total(s *service) (sum float64) {
	for _, seat := range s.a.Seats {
		sum += b.part(s, seat.Engine)
	}
	return sum
}

func (b *balancer) allBelow(s *service) bool {
	for _, seat := range s.counting() {
		if load, known := b.loads[seat.Engine]; !known || load.Percent >= b.least() {
			return false
		}
	}
	return true
}

func (b *balancer) done(s *service, id string, engine *model.Engine, format string, args ...any) {
	load := b.loads[engine.UUID]
	b.touched[s.vs.UUID] = true
	s.a.CalledOff = nil
	b.changed = append(b.changed, s.assignments()...)
	s.event(id, engine.UUID, "%s is at %.0f %% of its %s, %s", engine.Name, load.Percent, load.Criterion,
		fmt.Sprintf(format, args...))
}
