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
// that serves one of them gets the clients of all. They get one decision, and have the same seats.

// set is the virtual services that go together, or a single one.
type set struct {
	all    []*model.VirtualService // in the order of their uuids
	before Assignment              // merged assignment of all, before the decision

	// What the set asks of its group, as of its last decision.
	group  *model.Group // nil: it asks for nothing
	wanted int          // number of engines, with the standby
	fresh  bool         // it waits for a fresh engine
}

// sharing is what virtual services that go together have in common.
type sharing struct {
	group   *model.Group
	address netip.Addr
}

// ordered returns sets in the order of their first virtual services.
func ordered(sets iter.Seq[*set]) []*set {
	return slices.SortedFunc(sets, func(a, b *set) int { return strings.Compare(a.all[0].UUID, b.all[0].UUID) })
}

// all returns all sets in order.
func (p *Placer) all() []*set {
	return ordered(func(yield func(*set) bool) {
		for uuid, set := range p.sets {
			if set.all[0].UUID == uuid && !yield(set) {
				return
			}
		}
	})
}

// regroup applies the changes of virtual services. It takes apart the sets of changed virtual services, and the sets
// that share an address with one of them. Then it forms new sets of all their virtual services. No other set has an
// address of any of them.
func (p *Placer) regroup(in Input) {
	var loose []*model.VirtualService
	apart, differ := map[*set]bool{}, map[string]bool{}
	for was, is := range sorted.Differences(p.last.Model.VirtualServices, in.Model.VirtualServices,
		(*model.VirtualService).Key) {
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

// sharesTheSame tells whether a virtual service goes together with the same ones as before.
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

// together splits virtual services into sets that share addresses, directly or by way of others. The rest are single.
func together(services []*model.VirtualService) [][]*model.VirtualService {
	first, set := make([]int, len(services)), map[sharing]int{} // leads to the first one of a set
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
	return vs.Group != nil && vs.TakesTraffic() && !vs.IsChild()
}

// merged combines the assignments of virtual services that go together. They differ only for a short time. A seat of
// one counts for all, in its most advanced state. Later decisions remove surplus seats.
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
			at := slices.IndexFunc(a.Shunned, func(s Shun) bool { return s.Engine == shun.Engine })
			if at < 0 {
				a.Shunned = append(a.Shunned, shun)
				continue
			}
			own := &a.Shunned[at]
			own.Outages = max(own.Outages, shun.Outages)
			if own.Until.Before(shun.Until) {
				own.Until = shun.Until
			}
		}
	}
	return a
}

// progress ranks states: a smaller number is closer to serving.
func progress(state SeatState) int {
	return slices.Index([]SeatState{Serving, Leaving, Starting, Draining, Stopped, Standby}, state)
}

// assignments returns the assignments of all virtual services that go together.
func (s *service) assignments() []Assignment {
	all := make([]Assignment, len(s.all))
	for i, vs := range s.all {
		all[i] = s.a.clone()
		all[i].VirtualService = vs.UUID
	}
	return all
}

// holdBack keeps Plans from engines that have only some of the virtual services, because one with engines of its own
// has come to the address of others. With such a Plan an engine would announce the address, and refuse the clients of
// the others. This holds until the decision is written. A virtual service without a seat does not count: engines get it
// later, and announce nothing new until then.
func (s *service) holdBack() {
	seated, has := 0, map[string]int{}
	for _, vs := range s.all {
		seats := s.in.Before.Of(vs.UUID).Seats
		if len(seats) > 0 {
			seated++
		}
		for _, seat := range seats {
			has[seat.Engine]++
		}
	}
	for engine, count := range has {
		if count < seated {
			s.out.Waiting[engine] = true
		}
	}
}

// holding returns what an engine has reported about all virtual services together: as much as it has reported about
// each of them. A virtual service that is in no Plan does not count: it is new, or it cannot be compiled and must not
// hold up the others. One for which the engine has no room does not count, either.
func (s *service) holding(engine string) Holding {
	var of Holding
	out := func(vs *model.VirtualService) bool { return s.unplanned(vs) || s.isLeftOut(vs, engine) }
	for i, vs := range slices.DeleteFunc(slices.Clone(s.all), out) {
		own := s.in.Engines[engine].Holds.Of(vs.UUID)
		if i > 0 {
			own = own.and(of)
		}
		of = own
	}
	return of
}

// isLeftOut tells whether the newest Plan of an engine has no room for a virtual service.
func (s *service) isLeftOut(vs *model.VirtualService, engine string) bool {
	return s.in.Engines[engine].Holds.Of(vs.UUID).Delivery == NoRoom
}

// lacksRoom tells whether the newest Plan of an engine has no room for one of them.
func (s *service) lacksRoom(engine string) bool {
	return slices.ContainsFunc(s.all, func(vs *model.VirtualService) bool { return s.isLeftOut(vs, engine) })
}

// holdsAny tells whether an engine has a duty to any of them, by the last Plan that it acknowledged.
func (s *service) holdsAny(engine string) bool {
	return slices.ContainsFunc(s.all, func(vs *model.VirtualService) bool {
		return s.in.Engines[engine].Holds.Of(vs.UUID).Duty != NoDuty
	})
}

func (s *service) unplanned(vs *model.VirtualService) bool {
	due := func(seat Seat) bool { return s.in.Engines[seat.Engine].Holds.Of(vs.UUID).Delivery.isDue() }
	return !slices.ContainsFunc(s.a.Seats, due)
}

// reach returns the reach of all virtual services together on an engine.
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
