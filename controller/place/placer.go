package place

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/sorted"
)

// Placer decides again and again, and each time only upon what does not rest. A set of virtual services rests when a
// decision left it as it was, told nothing of it, and chose no engine for it. Then the next decision would do the same
// for as long as what it went by stays: its virtual services, what was decided about them, what engines have said of
// them and of themselves, and the time until which it asked to be left alone. How much else there is on engines is not
// among that, since only who chooses asks for it.
//
// The zero value begins with nothing decided. It is for one goroutine.
type Placer struct {
	last    Input
	engines map[string]*model.Engine // by uuid
	sets    map[string]*set          // by the uuid of each of its virtual services
	shared  map[sharing]*set         // of those that take traffic
	strays  map[string]Assignment    // of virtual services that are not there any more
	tally   tally                    // of what was decided before
	demands map[*model.Group]*demands

	awake  map[*set]bool      // do not rest
	alarms map[*set]time.Time // rest until then
}

// tally counts the seats on engines, by their uuid.
type tally struct{ load, active, seats map[string]int }

func newTally() tally { return tally{map[string]int{}, map[string]int{}, map[string]int{}} }

func (t tally) weigh(seat Seat, by int) {
	t.seats[seat.Engine] += by
	if seat.State != Draining {
		t.load[seat.Engine] += by
	}
	if seat.State != Draining && seat.State != Standby {
		t.active[seat.Engine] += by
	}
}

func (t tally) weighAll(seats []Seat, by int) {
	for _, seat := range seats {
		t.weigh(seat, by)
	}
}

// demands are how many engines the sets of a group shall have: the count of sets by that number.
type demands struct {
	sets  map[int]int
	fresh int // sets that wait for an engine with nothing on it
}

// Decide takes every virtual service one step further.
func (p *Placer) Decide(in Input) Decision {
	p.turn(in)
	d := p.decider(in)
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
	d.out.Seated, d.out.SeatedBefore = seated(d.seats), seated(p.tally.seats)
	for _, stray := range p.strays {
		for _, seat := range stray.Seats {
			d.out.SeatedBefore[seat.Engine] = true
		}
	}
	return d.out
}

func seated(seats map[string]int) map[string]bool {
	engines := map[string]bool{}
	for engine, count := range seats {
		if count > 0 {
			engines[engine] = true
		}
	}
	return engines
}

func (p *Placer) decider(in Input) *decider {
	return &decider{
		kept: p, in: in, out: Decision{Waiting: map[string]bool{}}, engines: p.engines,
		load: maps.Clone(p.tally.load), active: maps.Clone(p.tally.active), seats: maps.Clone(p.tally.seats),
	}
}

// decide takes a set one step further.
func (d *decider) decide(set *set) {
	s, told := d.service(set), len(d.out.Events)
	s.step()
	d.kept.demand(set, s.a)
	changed := s.changed()
	d.out.Changed = append(d.out.Changed, changed...)
	if rests := len(changed) == 0 && len(d.out.Events) == told && !s.restless; !rests {
		delete(d.kept.alarms, set)
		return
	}
	delete(d.kept.awake, set)
	if delete(d.kept.alarms, set); !s.next.IsZero() {
		d.kept.alarms[set] = s.next
	}
}

// changed are the assignments of all that go together, where they are not as before.
func (s *service) changed() (changed []Assignment) {
	for _, a := range s.assignments() {
		if was := sorted.Find(s.in.Before, a.VirtualService, (*Assignment).key); was == nil || !was.Equal(a) {
			changed = append(changed, a)
		}
	}
	return changed
}

// demand notes how many engines a set shall have by an assignment.
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

// turn finds out what is not as in the last decision, and wakes the sets that go by it.
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

// saysTheSame of the engine itself, beside what is only looked at to choose one.
func (e Engine) saysTheSame(other Engine) bool {
	return e.Up == other.Up && e.Since.Equal(other.Since) && e.Gathering.Equal(other.Gathering) &&
		e.Told == other.Told &&
		e.Plan == other.Plan && e.Refuses == other.Refuses && e.NextHop == other.NextHop &&
		maps.Equal(e.Sessions, other.Sessions)
}

// reassign takes over what is decided otherwise than last.
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

// assign takes over what was decided about a set before.
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
