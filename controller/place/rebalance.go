package place

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/model"
)

// Rebalance changes how many engines the virtual services of a group are on, and which, so that no engine stays above
// max_cpu_usage, and as few as possible are below min_cpu_usage. loads has the loads of the last interval, by engine
// uuid; the load of a missing engine is not known. The next decision carries the changes out, like those of orders.
//
// Under a constant load Rebalance comes to rest: it undoes a scale-out or a move only if the load would fit again with
// a margin. The limit for that is halfway between the two thresholds.
func (p *Placer) Rebalance(in Input, group *model.Group, loads map[string]Load) ([]Assignment, []Event) {
	if group.HAMode == legacyMode {
		return nil, nil // each virtual service has one engine, and its standby keeps room for it
	}
	b := newBalancer(p.begin(in), group, loads)
	if !b.relieve() && !b.narrow() && group.PlacementAlgorithm != "PLACEMENT_ALGO_DISTRIBUTED" {
		b.pack()
	}
	return b.changed, b.out.Events
}

// Interval is how often a group is rebalanced.
func Interval(group *model.Group) time.Duration {
	return time.Duration(max(group.AutoRebalanceIntervalS, 1)) * time.Second
}

// balancer makes one rebalancing.
type balancer struct {
	*decider
	group   *model.Group
	sets    []*set // of the group
	awaited bool   // a virtual service of the group waits for a fresh engine
	loads   map[string]Load
	percent map[string]float64 // expected load of each engine after the changes
	touched map[string]bool    // virtual services by uuid; each gets one change at most
	changed []Assignment
}

func newBalancer(d *decider, group *model.Group, loads map[string]Load) *balancer {
	b := &balancer{decider: d, group: group, loads: loads, percent: map[string]float64{}, touched: map[string]bool{}}
	for uuid, load := range loads {
		b.percent[uuid] = load.Percent
	}
	for _, set := range d.kept.all() {
		if set.all[0].Group == group {
			b.sets = append(b.sets, set)
			b.awaited = b.awaited || !set.before.Fresh.IsZero()
		}
	}
	return b
}

func (b *balancer) most() float64  { return float64(b.group.MaxCPUUsage) }
func (b *balancer) least() float64 { return float64(b.group.MinCPUUsage) }

// roomy is the limit for the load of an engine that takes over work from others.
func (b *balancer) roomy() float64 { return (b.most() + b.least()) / 2 }

// relieve takes load from every engine above max_cpu_usage. It returns whether there is one.
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

// relieveEngine moves a virtual service that makes up less than half of the load to another engine, and spreads a
// larger one to one engine more. If one of these is impossible, it tries the other.
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

// widen adds an engine to a virtual service; a fresh one if no other has room.
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
	b.done(s, "REBALANCE_VS_SCALEOUT", high, "above max_cpu_usage, %d %%: the virtual service is scaled out to %s",
		b.group.MaxCPUUsage, where)
	return true
}

// moveAway moves a virtual service from one engine to another that has room for it. among limits the choice; nil: any
// engine.
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
	b.done(s, "REBALANCE_VS_MIGRATE", from, "%s: the virtual service is moved to %s", why, target.Name)
	return true
}

// narrow takes one engine from a virtual service whose engines are all below min_cpu_usage. It returns whether it found
// such a virtual service.
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
			"and all engines of the virtual service are below min_cpu_usage, %d %%: it is scaled in",
			b.group.MinCPUUsage)
		return true
	}
	return false
}

// pack empties the engine with the least load, if everything on it fits on other engines that are in use.
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

// copy returns a balancer in which changes can be tried. The balancer itself has changed nothing yet.
func (b *balancer) copy() *balancer {
	trial := *b
	trial.decider = b.kept.begin(b.in)
	trial.percent, trial.touched = maps.Clone(b.percent), maps.Clone(b.touched)
	return &trial
}

// target returns the engine with the least load, among those that stay below a ceiling with a share of a virtual
// service. If the group wants separate hosts, the engine is on a host of its own.
func (b *balancer) target(s *service, share, ceiling float64, among func(*model.Engine) bool) *model.Engine {
	var candidates []*model.Engine
	for _, engine := range b.group.Engines {
		_, known := b.loads[engine.UUID]
		switch {
		case among != nil && !among(engine), s.objection(engine) != "", s.onSameHost(engine) > 0:
		case !known && b.load[engine.UUID] > 0: // its seats are new, and their load is not known yet
		case b.load[engine.UUID] == 0 && b.awaited: // a virtual service waits for a fresh engine
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

// steady tells whether the virtual service has all its engines, and all of them have served it since before the
// interval of the loads. A draining seat on an engine that is away does not count.
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

// on returns the virtual services of an engine that have no change yet, sorted by their load, largest first.
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

// services returns the virtual services of the group. Those that go together are one.
func (b *balancer) services() []*service {
	var found []*service
	for _, set := range b.sets {
		found = append(found, b.service(set))
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
