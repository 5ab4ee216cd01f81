package place

import "fmt"

// take adds a seat on an engine. If the virtual service already has a seat there, take changes its state.
func (s *service) take(engine string, state SeatState, cause Cause) {
	if s.a.seat(engine) != nil {
		s.become(engine, state, cause)
		return
	}
	seat := Seat{Engine: engine, State: state, Since: s.in.Now, Cause: cause}
	s.a.Seats = append(s.a.Seats, seat)
	s.weigh(seat, 1)
	task := "to serve it"
	if state == Standby {
		task = "to stand by for it"
	}
	s.event("VS_ADD_SE", engine, "%s is %s (%s)", s.name(engine), task, cause)
}

func (s *service) become(engine string, state SeatState, cause Cause) {
	seat := s.a.seat(engine)
	s.weigh(*seat, -1)
	seat.State, seat.Cause, seat.Since = state, cause, s.in.Now
	s.weigh(*seat, 1)
}

// drop ends a seat.
func (s *service) drop(seat Seat, why string) {
	s.weigh(seat, -1)
	s.a.remove(seat.Engine)
	s.event("VS_REMOVED_SE", seat.Engine, "%s %s (%s)", s.name(seat.Engine), why, seat.Cause)
	if !seat.isEnding() {
		return
	}
	switch {
	case seat.Cause == ScaleIn:
		s.event("VS_SCALEIN_COMPLETE", seat.Engine, "%s no longer serves it", s.name(seat.Engine))
	// After SE_STATE_DISABLED_FORCE, perhaps no engine serves.
	case (seat.Cause == Migrate || seat.Cause == Disabled) && s.isServed():
		s.event("VS_MIGRATE_COMPLETE", seat.Engine, "%s no longer serves it, other engines do", s.name(seat.Engine))
	}
}

func (s *service) event(id, engine, format string, args ...any) {
	for _, vs := range s.all {
		s.out.Events = append(s.out.Events, Event{ID: id, VirtualService: vs, Engine: engine,
			Message: fmt.Sprintf(format, args...)})
	}
}
