package place

import (
	"net/netip"
	"slices"

	"github.com/weir-lb/weir/controller/model"
)

// Virtual services of a group that share an address go together: routers know addresses and not ports, so an engine that
// serves one of them gets the clients of all. They are decided upon as one, and have the same seats.

// together splits virtual services into those that share addresses, directly or by way of others; the rest is alone.
func together(services []*model.VirtualService) [][]*model.VirtualService {
	type key struct {
		group   *model.Group
		address netip.Addr
	}
	first, set := make([]int, len(services)), map[key]int{} // first is that of the same set, or on the way there
	find := func(i int) int {
		for first[i] != i {
			i = first[i]
		}
		return i
	}
	for i, vs := range services {
		first[i] = i
		if !takesTraffic(vs) {
			continue
		}
		for _, address := range vs.Addresses {
			at := key{vs.Group, address}
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
func merged(all []*model.VirtualService, before map[string]Assignment) Assignment {
	a := before[all[0].UUID].clone()
	a.VirtualService = all[0].UUID
	for _, vs := range all[1:] {
		other := before[vs.UUID]
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

// holding is what an engine has said of all together: as much as it has said of each. What is in no Plan does not count:
// it is new, or it cannot be compiled and shall not be in the way of the others.
func (s *service) holding(engine string) Holding {
	var of Holding
	for i, vs := range slices.DeleteFunc(slices.Clone(s.all), s.unplanned) {
		own := s.in.Engines[engine].Holds[vs.UUID]
		if i > 0 {
			own = own.and(of)
		}
		of = own
	}
	return of
}

// holdsAny tells whether an engine has something to do with any of them, by the Plan that it acknowledged last.
func (s *service) holdsAny(engine string) bool {
	return slices.ContainsFunc(s.all, func(vs *model.VirtualService) bool { return s.in.Engines[engine].Holds[vs.UUID].Duty != NoDuty })
}

func (s *service) unplanned(vs *model.VirtualService) bool {
	due := func(seat Seat) bool { return s.in.Engines[seat.Engine].Holds[vs.UUID].Due }
	return !slices.ContainsFunc(s.a.Seats, due)
}

func (h Holding) and(other Holding) Holding {
	if other.Duty != h.Duty {
		h.Duty = NoDuty
	}
	if other.Since.After(h.Since) {
		h.Since = other.Since
	}
	h.Due = h.Due || other.Due
	h.Current, h.Idle, h.Led = h.Current && other.Current, h.Idle && other.Idle, h.Led && other.Led
	h.Turning = h.Turning || other.Turning
	return h
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
