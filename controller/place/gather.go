package place

import (
	"slices"
	"time"
)

// After a restart of the controller, or when it was cut off from all engines, these come back one by one. Meanwhile nobody
// is taken for lost, and who drains is not asked to serve again only because those that serve are yet to come.

// backAgain is when the first engine was back after all had been away at once, with the others yet to come: then it was
// the controller that was cut off. Zero: it was not.
func backAgain(engines map[string]Engine) time.Time {
	var first, left time.Time // when an engine that is up came, and when the last of the others went
	for _, state := range engines {
		if state.Up && (first.IsZero() || state.Since.Before(first)) {
			first = state.Since
		}
		if !state.Up && state.Since.After(left) {
			left = state.Since
		}
	}
	if !first.After(left) {
		return time.Time{}
	}
	return first
}

// awaits tells whether an engine that serves, by what was decided, may yet come and say so.
func (s *service) awaits() bool {
	began := s.in.Began
	if s.back.After(began) {
		began = s.back
	}
	end := began.Add(unheardFor)
	s.again(end)
	return end.After(s.in.Now) && slices.ContainsFunc(s.a.Seats, func(seat Seat) bool {
		return (seat.State == Serving || seat.State == Leaving) && s.engines[seat.Engine].EnableState != forced && s.mayYetTell(seat.Engine)
	})
}

// mayYetTell: an engine that went while others were there has told that it is away.
func (s *service) mayYetTell(engine string) bool {
	state, known := s.in.Engines[engine]
	switch {
	case !known:
		return true
	case state.Up:
		return !state.Told && state.Refuses == ""
	default:
		return s.back.After(state.Since)
	}
}
