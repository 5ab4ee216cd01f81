package place

import "slices"

// After a restart of the controller, or when it was cut off from all engines, these come back one by one. Meanwhile
// nobody is taken for lost, and who drains is not asked to serve again only because those that serve are yet to come.

// awaits tells whether an engine that serves, by what was decided, may yet come and say so.
func (s *service) awaits() bool {
	return slices.ContainsFunc(s.a.Seats, func(seat Seat) bool {
		if seat.State != Serving && seat.State != Leaving || s.engines[seat.Engine].EnableState == forced ||
			!s.mayYetTell(seat.Engine) {
			return false
		}
		began := s.in.Began
		if gathering := s.in.Engines[seat.Engine].Gathering; gathering.After(began) {
			began = gathering
		}
		end := began.Add(unheardFor)
		s.again(end)
		return end.After(s.in.Now)
	})
}

// mayYetTell: an engine that went while others were there has told that it is away.
func (s *service) mayYetTell(engine string) bool {
	state, known := s.in.Engines[engine]
	switch {
	case !known:
		return true
	case state.Up:
		return !state.Told && state.Plan != Refused
	default:
		return !state.Gathering.IsZero()
	}
}
