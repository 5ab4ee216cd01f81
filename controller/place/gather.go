package place

import "slices"

// After a restart of the controller, or after it was cut off from all engines, the engines come back one by one.
// Meanwhile no engine counts as lost. A draining engine is not called back only because those that serve have not
// connected yet.

// awaits tells whether an engine that was assigned to serve may yet connect and report that it does.
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

// mayYetTell tells whether an engine may yet report what it has. An engine that left while others were connected is
// known to be away.
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
