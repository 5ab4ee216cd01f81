package place

import (
	"slices"

	"github.com/weir-lb/weir/controller/model"
)

// Engines in the same network have the same addresses, and only one of them can listen at an address. A virtual service
// moves from a disabled engine to another one of its network in these steps:
//
//   - The other one stands by: it has the virtual service in its Plan, and room for it.
//   - Once it has taken that Plan, the first one drains, and is Stopped.
//   - Once the first one has reported that it has stopped, the other one starts.
//   - Once the other one serves, the seat of the first one ends. If the other one fails, the first one serves again.

// beside returns the uuids of the engines in the network of an engine that have connected, with this one.
func (d *decider) beside(engine string) []string {
	network := d.in.Engines[engine].Network
	if network == "" {
		return nil
	}
	if d.networks == nil {
		d.networks = map[string][]string{}
		for _, engine := range d.in.Model.Engines {
			if at := d.in.Engines[engine.UUID].Network; at != "" {
				d.networks[at] = append(d.networks[at], engine.UUID)
			}
		}
	}
	return d.networks[network]
}

// mayShare tells whether two engines are in the same network. The network of an engine that has not connected yet may
// be any.
func (d *decider) mayShare(one, other string) bool {
	a, heardA := d.in.Engines[one]
	b, heardB := d.in.Engines[other]
	if heardA && heardB {
		return a.Network != "" && a.Network == b.Network
	}
	return (!heardA || a.Network != "") && (!heardB || b.Network != "")
}

// listenerBeside returns an engine that may listen where another engine in its network would; empty: there is none.
func (s *service) listenerBeside(engine *model.Engine) string {
	for _, other := range s.beside(engine.UUID) {
		if other != engine.UUID && s.mayListen(other) {
			return other
		}
	}
	for _, seat := range s.a.Seats {
		if !s.isHeard(seat.Engine) && s.mayShare(seat.Engine, engine.UUID) && s.mayListen(seat.Engine) {
			return seat.Engine
		}
	}
	return ""
}

func (d *decider) isHeard(engine string) bool {
	_, heard := d.in.Engines[engine]
	return heard
}

// mayListen tells whether an engine listens for clients, or is about to. It listens until it reports that it no longer
// has the virtual service. If an engine is lost, another one tries to take over.
func (s *service) mayListen(engine string) bool {
	lost, end := s.lost(engine)
	if s.again(end); lost {
		return false
	}
	switch seat := s.a.seat(engine); {
	case seat == nil, seat.State == Stopped:
		return s.listens(engine) || s.mayHaveMore(engine)
	case seat.State == Standby:
		return s.listens(engine)
	default:
		return !s.refusedAll(engine)
	}
}

// listens tells whether an engine has reported that it has the virtual service to serve or to drain.
func (s *service) listens(engine string) bool {
	return slices.ContainsFunc(s.all, func(vs *model.VirtualService) bool {
		duty := s.in.Engines[engine].Holds.Of(vs.UUID).Duty
		return duty == Serve || duty == Drain
	})
}

// mayHaveMore tells whether an engine has yet to report what it has. An engine that refuses its Plans never does.
func (s *service) mayHaveMore(engine string) bool {
	at, heard := s.in.Engines[engine]
	if !heard || at.Told {
		return !heard
	}
	end := at.Since.Add(unheardFor)
	s.again(end)
	return end.After(s.in.Now)
}

// isTakenBeside tells whether another engine in the network of an engine certainly listens.
func (s *service) isTakenBeside(engine string) bool {
	return slices.ContainsFunc(s.beside(engine), func(other string) bool {
		return other != engine && s.up(other) && s.listens(other)
	})
}

// refusedAll tells whether an engine refuses its Plan, and does not listen because of an earlier one: it says so, or
// another engine in its network listens. If it has an outdated version of the virtual service, the other one serves the
// newest.
func (s *service) refusedAll(engine string) bool {
	at := s.in.Engines[engine]
	if at.Plan != Refused {
		return false
	}
	if !s.listens(engine) {
		return at.Told || s.isTakenBeside(engine)
	}
	return s.holding(engine).Delivery != Current && slices.ContainsFunc(s.beside(engine), func(other string) bool {
		holding := s.holding(other)
		return other != engine && s.up(other) && holding.Delivery == Current && holding.Duty == Serve
	})
}

// successor returns the seat in the same network that takes over from a seat; nil: there is none.
func (s *service) successor(of Seat) *Seat {
	if of.Cause != Disabled {
		return nil
	}
	for i, next := range s.a.Seats {
		if next.Engine == of.Engine || !s.mayShare(next.Engine, of.Engine) || s.away(next.Engine) ||
			s.in.Engines[next.Engine].Plan == Refused && !s.bears(next) {
			continue
		}
		stands := next.State == Standby && s.engines[next.Engine].EnableState == "SE_STATE_ENABLED" &&
			!s.shuns(next.Engine) && s.isReachedLike(next.Engine, of.Engine)
		if stands || next.State == Starting && of.State == Stopped {
			return &s.a.Seats[i]
		}
	}
	return nil
}

// succeeds tells whether a seat takes over from another one.
func (s *service) succeeds(seat Seat) bool {
	return slices.ContainsFunc(s.a.Seats, func(other Seat) bool {
		if other.State != Leaving && !other.isEnding() {
			return false
		}
		next := s.successor(other)
		return next != nil && next.Engine == seat.Engine
	})
}

// reserve makes an engine stand by that is to take over from a disabled one in its network, if no other engine can take
// over. One engine gives way after the other.
func (s *service) reserve() {
	if len(s.present()) >= s.wanted() || slices.ContainsFunc(s.a.Seats, s.succeeds) {
		return
	}
	for _, seat := range slices.Clone(s.a.Seats) {
		if seat.Cause != Disabled || seat.State != Leaving && seat.State != Draining || !s.up(seat.Engine) {
			continue
		}
		if engine := s.relief(seat); engine != nil && !s.hasChoice() {
			s.take(engine.UUID, Standby, Disabled)
			return
		}
	}
}

// relief returns the best engine to take over from a seat in its network; nil: there is none.
func (s *service) relief(of Seat) *model.Engine {
	network := s.in.Engines[of.Engine].Network
	if network == "" {
		return nil
	}
	s.weigh(of, -1) // its engine is no longer in use, if this is its last seat
	defer s.weigh(of, 1)
	return s.best(func(engine *model.Engine) bool {
		at := s.in.Engines[engine.UUID]
		return engine.UUID != of.Engine && at.Network == network && at.Plan == Taken &&
			s.a.seat(engine.UUID) == nil && s.ownObjection(engine) == "" && s.isReachedLike(engine.UUID, of.Engine)
	})
}

// isReachedLike tells whether routers can know a route to an engine, if they can know one to the engine that stops for
// it.
func (s *service) isReachedLike(next, of string) bool {
	return s.reach(next).State == Up || s.reach(of).State != Up
}

// mayStop tells whether a seat on a disabled engine may drain before another engine serves: one in its network is ready
// to take over, no engine elsewhere could, and no other seat does the same.
func (s *service) mayStop(seat Seat) bool {
	next := s.successor(seat)
	stops := func(other Seat) bool { return other.isEnding() && s.successor(other) != nil }
	return next != nil && s.isReady(*next) && !slices.ContainsFunc(s.a.Seats, stops) && !s.hasChoice()
}

// isReady tells whether an engine has reported that it can take over: it stands by, and has taken its newest Plan.
func (s *service) isReady(next Seat) bool {
	s.restless = true
	holding := s.holding(next.Engine)
	return s.up(next.Engine) && s.in.Engines[next.Engine].Plan == Taken &&
		holding.Delivery == Current && holding.Duty == next.Duty()
}

// canReturn tells whether an engine that has stopped for another one could serve again.
func (s *service) canReturn() bool {
	return s.canBeCalledBack(func(seat Seat) bool { return seat.State == Stopped })
}

func (s *service) canBeCalledBack(is func(Seat) bool) bool {
	return slices.ContainsFunc(s.a.Seats, func(seat Seat) bool {
		return is(seat) && s.up(seat.Engine) && s.engines[seat.Engine].EnableState != forced
	})
}

// hasChoice tells whether an engine starts, or could.
func (s *service) hasChoice() bool {
	return s.grows() || s.hasAnother()
}
