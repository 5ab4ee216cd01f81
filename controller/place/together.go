package place

import (
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/sorted"
)

// Virtual services of a group that share an address go together: routers know addresses and not ports, so an engine
// that serves one of them gets the clients of all. They are decided upon as one, and have the same seats.

// set is virtual services that go together, or one that is alone.
type set struct {
	all    []*model.VirtualService // in the order of their uuids
	before Assignment              // what was decided about all together

	// What it asks of its group since it was last decided upon.
	group  *model.Group // nil: nothing
	wanted int          // engines, those that stand by too
	fresh  bool         // one of them with nothing on it
}

// sharing is what virtual services have in common that go together.
type sharing struct {
	group   *model.Group
	address netip.Addr
}

// ordered are sets in the order of their first virtual services.
func ordered(sets iter.Seq[*set]) []*set {
	return slices.SortedFunc(sets, func(a, b *set) int { return strings.Compare(a.all[0].UUID, b.all[0].UUID) })
}

// all the sets there are, in their order.
func (p *Placer) all() []*set {
	return ordered(func(yield func(*set) bool) {
		for uuid, set := range p.sets {
			if set.all[0].UUID == uuid && !yield(set) {
				return
			}
		}
	})
}

// regroup takes over the virtual services that are not as they were. Their sets come apart, and so do those that have
// an address of one; what was in them goes together anew. No other set has an address of any of them.
func (p *Placer) regroup(in Input) {
	var loose []*model.VirtualService
	apart, differ := map[*set]bool{}, map[string]bool{}
	for was, is := range sorted.Differences(p.last.Model.VirtualServices, in.Model.VirtualServices, uuidOf) {
		if was != nil && is != nil && sharesTheSame(was, is) {
			set := p.sets[is.UUID]
			set.all = slices.Clone(set.all)
			set.all[slices.Index(set.all, was)] = is
			p.awake[set] = true
			continue
		}
		if was != nil {
			apart[p.sets[was.UUID]], differ[was.UUID] = true, true
		}
		if is != nil {
			differ[is.UUID], loose = true, append(loose, is)
			for _, sharing := range sharingsOf(is) {
				if set := p.shared[sharing]; set != nil {
					apart[set] = true
				}
			}
		}
	}
	for set := range apart {
		p.takeApart(set)
		loose = slices.AppendSeq(loose, notIn(differ, set.all))
	}
	slices.SortFunc(loose, func(a, b *model.VirtualService) int { return strings.Compare(a.UUID, b.UUID) })
	for _, all := range together(loose) {
		p.putTogether(all, in)
	}
	for uuid := range differ {
		p.lookForStray(uuid, in)
	}
}

func uuidOf(vs *model.VirtualService) string { return vs.UUID }

func notIn(some map[string]bool, all []*model.VirtualService) iter.Seq[*model.VirtualService] {
	return func(yield func(*model.VirtualService) bool) {
		for _, vs := range all {
			if !some[vs.UUID] && !yield(vs) {
				return
			}
		}
	}
}

func (p *Placer) takeApart(set *set) {
	p.tally.weighAll(set.before.Seats, -1)
	p.undemand(set)
	delete(p.awake, set)
	delete(p.alarms, set)
	for _, vs := range set.all {
		delete(p.sets, vs.UUID)
		for _, sharing := range sharingsOf(vs) {
			delete(p.shared, sharing)
		}
	}
}

func (p *Placer) putTogether(all []*model.VirtualService, in Input) {
	set := &set{all: all}
	for _, vs := range all {
		p.sets[vs.UUID] = set
		for _, sharing := range sharingsOf(vs) {
			p.shared[sharing] = set
		}
	}
	p.assign(set, in)
}

// sharesTheSame tells whether a virtual service goes with others as it did before.
func sharesTheSame(was, is *model.VirtualService) bool {
	return was.Group == is.Group && takesTraffic(was) == takesTraffic(is) && slices.Equal(was.Addresses, is.Addresses)
}

func sharingsOf(vs *model.VirtualService) []sharing {
	if !takesTraffic(vs) {
		return nil
	}
	sharings := make([]sharing, len(vs.Addresses))
	for i, address := range vs.Addresses {
		sharings[i] = sharing{vs.Group, address}
	}
	return sharings
}

// together splits virtual services into those that share addresses, directly or by way of others; the rest is alone.
func together(services []*model.VirtualService) [][]*model.VirtualService {
	first, set := make([]int, len(services)), map[sharing]int{} // first is that of the same set, or on the way there
	find := func(i int) int {
		for first[i] != i {
			i = first[i]
		}
		return i
	}
	for i, vs := range services {
		first[i] = i
		for _, at := range sharingsOf(vs) {
			if other, shared := set[at]; shared {
				x, y := find(other), find(i)
				first[max(x, y)] = min(x, y)
			}
			set[at] = find(i)
		}
	}
	var sets [][]*model.VirtualService
	index := make([]int, len(services))
	for i, vs := range services {
		if root := find(i); root != i {
			index[i] = index[root]
			sets[index[i]] = append(sets[index[i]], vs)
			continue
		}
		index[i] = len(sets)
		sets = append(sets, []*model.VirtualService{vs})
	}
	return sets
}

func takesTraffic(vs *model.VirtualService) bool {
	return vs.Group != nil && vs.Enabled && vs.TrafficEnabled
}

// merged is what was decided about virtual services that go together. It differs where they do not for long: each seat
// counts for all, as far as it has come for any of them, and what is too much goes the way of all seats.
func merged(all []*model.VirtualService, before Assignments) Assignment {
	a := before.Of(all[0].UUID).clone()
	a.VirtualService = all[0].UUID
	for _, vs := range all[1:] {
		other := before.Of(vs.UUID)
		a.Requested = max(a.Requested, other.Requested)
		if a.Fresh.IsZero() {
			a.Fresh = other.Fresh
		}
		if a.CalledOff == nil {
			a.CalledOff = other.CalledOff
		}
		for _, seat := range other.Seats {
			if own := a.seat(seat.Engine); own == nil {
				a.Seats = append(a.Seats, seat)
			} else if progress(seat.State) < progress(own.State) {
				*own = seat
			}
		}
		for _, shun := range other.Shunned {
			if !slices.ContainsFunc(a.Shunned, func(s Shun) bool { return s.Engine == shun.Engine }) {
				a.Shunned = append(a.Shunned, shun)
			}
		}
	}
	return a
}

// progress ranks states: less is closer to serving.
func progress(state SeatState) int {
	return slices.Index([]SeatState{Serving, Leaving, Starting, Draining, Standby}, state)
}

// assignments are those of all that go together.
func (s *service) assignments() []Assignment {
	all := make([]Assignment, len(s.all))
	for i, vs := range s.all {
		all[i] = s.a.clone()
		all[i].VirtualService = vs.UUID
	}
	return all
}

// holding is what an engine has said of all together: as much as it has said of each. What is in no Plan does not
// count: it is new, or it cannot be compiled and shall not be in the way of the others.
func (s *service) holding(engine string) Holding {
	var of Holding
	for i, vs := range slices.DeleteFunc(slices.Clone(s.all), s.unplanned) {
		own := s.in.Engines[engine].Holds.Of(vs.UUID)
		if i > 0 {
			own = own.and(of)
		}
		of = own
	}
	return of
}

// holdsAny tells whether an engine has something to do with any of them, by the Plan that it acknowledged last.
func (s *service) holdsAny(engine string) bool {
	return slices.ContainsFunc(s.all, func(vs *model.VirtualService) bool {
		return s.in.Engines[engine].Holds.Of(vs.UUID).Duty != NoDuty
	})
}

func (s *service) unplanned(vs *model.VirtualService) bool {
	due := func(seat Seat) bool { return s.in.Engines[seat.Engine].Holds.Of(vs.UUID).Delivery.isDue() }
	return !slices.ContainsFunc(s.a.Seats, due)
}

// reach is how far the sessions of an engine have come for all together.
func (s *service) reach(engine string) Reach {
	reach := Reach{State: Up}
	for _, vs := range s.all {
		of := ReachOf(vs, s.in.Engines[engine].Sessions)
		if of.State != Up {
			return of
		}
		if of.Since.After(reach.Since) {
			reach.Since = of.Since
		}
	}
	return reach
}
