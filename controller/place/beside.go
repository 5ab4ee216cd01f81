package place

import "github.com/weir-lb/weir/controller/model"

// Engines in the same network have the same addresses, and only one of them can listen at an address. A virtual service
// moves between them with a gap: one engine lets its clients finish and stops, then the other one starts.

// beside returns the uuids of the engines in the network of an engine, with this one.
func (d *decider) beside(engine string) []string {
	network := d.in.Engines[engine].Network
	if network == "" {
		return nil
	}
	if d.networks == nil {
		d.networks = map[string][]string{}
		for uuid, at := range d.in.Engines {
			if at.Network != "" && d.engines[uuid] != nil {
				d.networks[at.Network] = append(d.networks[at.Network], uuid)
			}
		}
	}
	return d.networks[network]
}

// listenerBeside returns an engine that may listen where another engine in its network would; empty: there is none.
func (s *service) listenerBeside(engine *model.Engine) string {
	for _, other := range s.beside(engine.UUID) {
		if other != engine.UUID && s.mayListen(other) {
			return other
		}
	}
	return ""
}

// mayListen tells whether an engine listens for clients, or is about to. It listens until it reports that it no longer
// has the virtual service. An engine that is away reports nothing: another one tries to take over.
func (s *service) mayListen(engine string) bool {
	if s.away(engine) {
		return false
	}
	switch seat := s.a.seat(engine); {
	case seat == nil:
		return s.holdsAny(engine) || !s.in.Engines[engine].Told
	case seat.State == Standby:
		return false
	default:
		return seat.State != Starting || !s.refusedAll(engine)
	}
}

// refusedAll tells whether an engine refuses its Plan, and has nothing of the virtual service from an earlier one.
func (s *service) refusedAll(engine string) bool {
	at := s.in.Engines[engine]
	return at.Plan == Refused && at.Told && !s.holdsAny(engine)
}

// givesWay tells whether a seat on a disabled engine ends before another engine serves: another engine in its network
// has room, and starts once this one has stopped.
func (s *service) givesWay(seat Seat) bool {
	if seat.Cause != Disabled {
		return false
	}
	for _, other := range s.beside(seat.Engine) {
		engine := s.engines[other]
		if other == seat.Engine || engine.Group != s.group {
			continue
		}
		if own := s.a.seat(other); own != nil && own.State == Starting && !s.away(other) {
			return true
		}
		if s.in.Engines[other].Plan != Refused && s.ownObjection(engine) == "" &&
			s.load[other]+s.promised(seat) < int(s.group.MaxVSPerSE) {
			return true
		}
	}
	return false
}

// promised counts the other seats that drain in a network, because they may all come to the same engine in it.
func (s *service) promised(seat Seat) int {
	count := 0
	for _, engine := range s.beside(seat.Engine) {
		count += s.seats[engine] - s.load[engine]
	}
	if seat.State == Draining {
		count-- // this one
	}
	return count
}

// hasChoice tells whether an engine starts, or could.
func (s *service) hasChoice() bool {
	if s.grows() {
		return true
	}
	engine, _ := s.choose()
	return engine != nil
}
