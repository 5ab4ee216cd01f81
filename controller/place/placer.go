package place

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/sorted"
)

// Placer decides again and again. Each time it skips the sets of virtual services that are at rest. A set is at rest if
// its last decision changed nothing, added no event, and chose no engine. Such a decision stays the same until one of
// its inputs changes: the virtual services, their assignments, what engines have reported about them and about
// themselves, or the time at which the set asked for another decision. The other seats on engines are no such input,
// because only the choice of an engine depends on them. A set that waits until an engine has applied its newest Plan
// does not rest, either.
//
// The zero value has decided nothing. A Placer is not safe for concurrent use.
type Placer struct {
	last    Input
	engines map[string]*model.Engine // by uuid
	sets    map[string]*set          // by the uuid of each of its virtual services
	shared  map[sharing]*set         // of virtual services that take traffic
	strays  map[string]Assignment    // assignments of deleted virtual services, by uuid
	tally   tally                    // of the assignments before
	demands map[*model.Group]*demands

	awake  map[*set]bool      // sets that are not at rest
	alarms map[*set]time.Time // sets that rest until a time
}

// tally counts the seats on engines, by engine uuid.
type tally struct{ load, active, seats map[string]int }

func newTally() tally { return tally{map[string]int{}, map[string]int{}, map[string]int{}} }

func (t tally) weigh(seat Seat, by int) {
	add(t.seats, seat.Engine, by)
	if !seat.isEnding() {
		add(t.load, seat.Engine, by)
	}
	if !seat.isEnding() && seat.State != Standby {
		add(t.active, seat.Engine, by)
	}
}

// add changes a count, and deletes it if it is zero.
func add(counts map[string]int, engine string, by int) {
	if counts[engine] += by; counts[engine] == 0 {
		delete(counts, engine)
	}
}

func (t tally) weighAll(seats []Seat, by int) {
	for _, seat := range seats {
		t.weigh(seat, by)
	}
}

// demands has the number of engines that the sets of a group should have: how many sets want each number.
type demands struct {
	sets  map[int]int
	fresh int // sets that wait for a fresh engine
}

// Decide takes every virtual service one step further.
func (p *Placer) Decide(in Input) Decision {
	d := p.begin(in)
	for _, set := range ordered(maps.Keys(p.awake)) {
		d.decide(set)
	}
	for _, at := range p.alarms {
		d.again(at)
	}
	slices.SortFunc(d.out.Changed, func(a, b Assignment) int {
		return strings.Compare(a.VirtualService, b.VirtualService)
	})
	d.out.Gone = slices.Sorted(maps.Keys(p.strays))
	d.out.Needs = d.needs()
	d.out.Seated = seated(d.seats)
	return d.out
}

func seated(seats map[string]int) map[string]bool {
	engines := map[string]bool{}
	for engine := range seats {
		engines[engine] = true
	}
	return engines
}

// begin begins a decision.
func (p *Placer) begin(in Input) *decider {
	p.turn(in)
	return &decider{
		kept: p, in: in, out: Decision{Waiting: map[string]bool{}}, engines: p.engines,
		load: maps.Clone(p.tally.load), active: maps.Clone(p.tally.active), seats: maps.Clone(p.tally.seats),
	}
}

// decide takes a set one step further.
func (d *decider) decide(set *set) {
	s, events := d.service(set), len(d.out.Events)
	s.step()
	d.kept.demand(set, s.a)
	changed := s.changed()
	d.out.Changed = append(d.out.Changed, changed...)
	if len(changed) > 0 {
		s.holdBack()
	}
	if rests := len(changed) == 0 && len(d.out.Events) == events && !s.restless; !rests {
		delete(d.kept.alarms, set)
		return
	}
	delete(d.kept.awake, set)
	if delete(d.kept.alarms, set); !s.next.IsZero() {
		d.kept.alarms[set] = s.next
	}
}

// changed returns the assignments of the set that differ from those before.
func (s *service) changed() (changed []Assignment) {
	for _, a := range s.assignments() {
		if was := sorted.Find(s.in.Before, a.VirtualService, (*Assignment).key); was == nil || !was.Equal(a) {
			changed = append(changed, a)
		}
	}
	return changed
}

// demand records how many engines a set should have, according to an assignment.
func (p *Placer) demand(set *set, a Assignment) {
	p.undemand(set)
	vs := set.all[0]
	if !takesTraffic(vs) {
		return
	}
	set.group, set.wanted, set.fresh = vs.Group, Wanted(vs, a), !a.Fresh.IsZero()
	if vs.Group.HAMode == legacyMode {
		set.wanted++
	}
	of := p.demands[set.group]
	if of == nil {
		of = &demands{sets: map[int]int{}}
		p.demands[set.group] = of
	}
	if of.sets[set.wanted]++; set.fresh {
		of.fresh++
	}
}

func (p *Placer) undemand(set *set) {
	of := p.demands[set.group]
	if of == nil {
		return
	}
	if of.sets[set.wanted]--; of.sets[set.wanted] == 0 {
		delete(of.sets, set.wanted)
	}
	if set.fresh {
		of.fresh--
	}
	if len(of.sets) == 0 {
		delete(p.demands, set.group)
	}
	set.group = nil
}

// turn finds what has changed since the last decision, and wakes the sets that depend on it.
func (p *Placer) turn(in Input) {
	if p.sets == nil {
		*p = Placer{
			last: Input{Model: &model.Model{}}, sets: map[string]*set{}, shared: map[sharing]*set{},
			strays: map[string]Assignment{},
			tally:  newTally(), demands: map[*model.Group]*demands{}, awake: map[*set]bool{},
			alarms: map[*set]time.Time{},
		}
	}
	p.regroup(in)
	p.reassign(in)
	if !sorted.IsOne(p.last.Model.Engines, in.Model.Engines) {
		p.engines = make(map[string]*model.Engine, len(in.Model.Engines))
		for _, engine := range in.Model.Engines {
			p.engines[engine.UUID] = engine
		}
		p.wakeAll()
	}
	if !p.last.Began.Equal(in.Began) || !maps.EqualFunc(p.last.Engines, in.Engines, Engine.saysTheSame) {
		p.wakeAll()
	}
	for uuid, engine := range in.Engines {
		for _, virtualService := range p.last.Engines[uuid].Holds.changed(engine.Holds) {
			if set := p.sets[virtualService]; set != nil {
				p.awake[set] = true
			}
		}
	}
	for set, at := range p.alarms {
		if !at.After(in.Now) {
			p.awake[set] = true
		}
	}
	p.last = in
}

func (p *Placer) wakeAll() {
	for _, set := range p.sets {
		p.awake[set] = true
	}
}

// saysTheSame compares what engines report about themselves. It leaves out what only the choice of an engine depends
// on, and whether the engine has applied its newest Plan: each change would wake all sets.
func (e Engine) saysTheSame(other Engine) bool {
	return e.Up == other.Up && e.Since.Equal(other.Since) && e.Gathering.Equal(other.Gathering) &&
		e.Told == other.Told && e.Network == other.Network &&
		e.Plan.made() == other.Plan.made() && e.Refuses == other.Refuses && e.Refused.Equal(other.Refused) &&
		slices.Equal(e.Blames, other.Blames) && e.NextHop == other.NextHop &&
		maps.Equal(e.Sessions, other.Sessions)
}

// made returns the state without what the engine has applied.
func (s PlanState) made() PlanState {
	if s == Taken {
		return Settled
	}
	return s
}

// reassign applies the assignments that have changed since the last decision.
func (p *Placer) reassign(in Input) {
	anew := map[*set]bool{}
	for was, is := range p.last.Before.Differences(in.Before) {
		uuid := ""
		if is != nil {
			uuid = is.VirtualService
		} else {
			uuid = was.VirtualService
		}
		if set := p.sets[uuid]; set != nil {
			anew[set] = true
		}
		p.lookForStray(uuid, in)
	}
	for set := range anew {
		p.assign(set, in)
	}
}

// assign gives a set the assignment from before the decision.
func (p *Placer) assign(set *set, in Input) {
	p.tally.weighAll(set.before.Seats, -1)
	set.before = merged(set.all, in.Before)
	p.tally.weighAll(set.before.Seats, 1)
	p.awake[set] = true
}

func (p *Placer) lookForStray(uuid string, in Input) {
	delete(p.strays, uuid)
	if p.sets[uuid] == nil {
		if left := in.Before.Of(uuid); left.VirtualService != "" {
			p.strays[uuid] = left
		}
	}
}
