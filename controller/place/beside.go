package place

import "github.com/weir-lb/weir/controller/model"

// Engines in the same network have the same addresses, and only one of them can listen at an address. A virtual service
// moves between them with a gap: one engine lets its clients finish and stops, then the other one starts.

// listenerBeside returns an engine that may listen where another engine in its network would; empty: there is none.
func (s *service) listenerBeside(engine *model.Engine) string {
	for _, other := range s.group.Engines {
		if s.areBeside(engine.UUID, other.UUID) && s.mayListen(other.UUID) {
			return other.UUID
		}
	}
	return ""
}

func (s *service) areBeside(one, other string) bool {
	network := s.in.Engines[one].Network
	return one != other && network != "" && network == s.in.Engines[other].Network
}

// mayListen tells whether an engine listens for clients, or is about to. It listens until it reports that it no longer
// has the virtual service. An engine that is away reports nothing: another one tries to take over.
func (s *service) mayListen(engine string) bool {
	if s.away(engine) {
		return false
	}
	seat := s.a.seat(engine)
	return seat != nil && seat.State != Standby || seat == nil && s.holdsAny(engine)
}

// givesWay tells whether another engine in the same network starts, or could start, once this engine has stopped.
func (s *service) givesWay(engine string) bool {
	for _, other := range s.group.Engines {
		if !s.areBeside(engine, other.UUID) {
			continue
		}
		seat := s.a.seat(other.UUID)
		starts := seat != nil && seat.State == Starting && !s.away(other.UUID)
		if starts || s.ownObjection(other) == "" {
			return true
		}
	}
	return false
}

// hasChoice tells whether an engine starts, or could.
func (s *service) hasChoice() bool {
	if s.grows() {
		return true
	}
	engine, _ := s.choose()
	return engine != nil
}
