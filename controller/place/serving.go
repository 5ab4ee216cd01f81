package place

import "slices"

// A seat may go only while enough other engines certainly serve: they have reported that they do.

// healthy counts the engines that certainly serve, and are to stay.
func (s *service) healthy() int {
	return s.certain(func(seat Seat) bool { return seat.State == Serving })
}

// isServed tells whether an engine certainly serves, and will do so until others serve.
func (s *service) isServed() bool {
	return s.certain(func(seat Seat) bool {
		return seat.State == Serving || seat.State == Leaving && s.engines[seat.Engine].EnableState != forced
	}) > 0
}

// certain counts the seats of a kind on which clients are certainly served. If routes lead clients to any engine,
// engines without a route do not count. If the virtual service is down, no engine has a route, and all count.
func (s *service) certain(counts func(Seat) bool) int {
	up, led, anyLed := 0, 0, false
	for _, seat := range s.a.Seats {
		if !s.serves(seat.Engine) || s.cutOff(seat.Engine) {
			continue
		}
		leads := s.holding(seat.Engine).Clients == Led && s.reach(seat.Engine).State == Up
		anyLed = anyLed || leads
		if counts(seat) {
			up++
			if leads {
				led++
			}
		}
	}
	if anyLed {
		return led
	}
	return up
}

// serves tells whether an engine serves now, and is not about to stop.
func (s *service) serves(engine string) bool {
	holding := s.holding(engine)
	return s.up(engine) && holding.Duty == Serve && holding.Delivery != Turning
}

// grows tells whether an engine is about to serve.
func (s *service) grows() bool {
	return slices.ContainsFunc(s.a.Seats, func(seat Seat) bool {
		return seat.State == Starting && !s.away(seat.Engine)
	})
}
