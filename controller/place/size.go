package place

import (
	"fmt"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/model"
)

// A virtual service should have a number of engines. Seats are added while it has too few, and leave while it has too
// many.

// wanted returns how many engines should serve.
func (s *service) wanted() int { return Wanted(s.vs, s.a) }

// Wanted returns how many engines should serve a virtual service, within the limits of its group.
func Wanted(vs *model.VirtualService, a Assignment) int {
	least, most := Limits(vs.Group)
	return min(max(a.Requested, least), most)
}

// Limits returns the minimum and the maximum number of engines of one virtual service in a group.
func Limits(group *model.Group) (least, most int) {
	least, most = int(group.MinScaleoutPerVS), int(group.MaxScaleoutPerVS)
	switch group.HAMode {
	case "HA_MODE_SHARED_PAIR": // active/active
		least = max(least, 2)
	case legacyMode:
		least, most = 1, 1
	}
	return least, max(least, most)
}

const legacyMode = "HA_MODE_LEGACY_ACTIVE_STANDBY"

// present returns the wanted seats on engines that are not away.
func (s *service) present() []Seat {
	var present []Seat
	for _, seat := range s.a.Seats {
		if seat.counts() && !s.away(seat.Engine) {
			present = append(present, seat)
		}
	}
	return present
}

// fill adds seats until there are enough.
func (s *service) fill() {
	cause, wanted := s.growth(), s.wanted()
	for len(s.present()) < wanted {
		if s.keep() {
			continue
		}
		engine, why := s.chooseNext(wanted - len(s.present()))
		if engine == nil {
			for _, vs := range s.all {
				s.out.Unplaced = append(s.out.Unplaced, Unplaced{VirtualService: vs.UUID, Wanted: wanted,
					Placed: len(s.present()), Why: why})
			}
			return
		}
		s.take(engine.UUID, Starting, cause)
	}
}

// chooseNext finds an engine for the next missing seat. If the virtual service waits for a fresh engine, the last
// missing seat has to wait for it, as long as another engine has a seat.
func (s *service) chooseNext(missing int) (*model.Engine, string) {
	has := func(seat Seat) bool { return !seat.isEnding() && seat.State != Standby && !s.away(seat.Engine) }
	if s.a.Fresh.IsZero() || missing > 1 || !slices.ContainsFunc(s.a.Seats, has) {
		return s.choose()
	}
	engine, why := s.chooseFresh()
	if engine != nil {
		s.a.Fresh = time.Time{}
	}
	return engine, why
}

// stopWaiting ends the wait for a fresh engine that did not join in time, or is no longer needed.
func (s *service) stopWaiting() {
	if s.a.Fresh.IsZero() {
		return
	}
	if len(s.present()) >= s.wanted() {
		s.a.Fresh = time.Time{}
		return
	}
	deadline := s.a.Fresh.Add(time.Duration(s.group.ScaleoutTimeoutS) * time.Second)
	if deadline.After(s.in.Now) {
		s.again(deadline)
		return
	}
	s.a.Fresh = time.Time{}
	if !slices.ContainsFunc(s.a.Seats, func(seat Seat) bool { return seat.State == Leaving && seat.Cause == Migrate }) {
		s.a.Requested = s.wanted() - 1
	}
	s.callOff(ScaleOut, "", fmt.Sprintf("no unused engine joined within %d s", s.group.ScaleoutTimeoutS))
}

// keep keeps a leaving seat, unless its engine may not have it or an operator wants it elsewhere. The seat starts
// again, because a Plan that makes it drain may be on its way. keep returns whether there was such a seat.
func (s *service) keep() bool {
	elsewhere := []Cause{Migrate, Switchover, Disabled}
	for _, seat := range s.a.Seats {
		unneeded := seat.State == Leaving && !slices.Contains(elsewhere, seat.Cause) && !s.shuns(seat.Engine)
		if unneeded && s.up(seat.Engine) && !s.away(seat.Engine) && s.mayKeep(seat.Engine) {
			s.become(seat.Engine, Starting, seat.Cause)
			return true
		}
	}
	return false
}

// growth returns the cause of new seats.
func (s *service) growth() Cause {
	if len(s.a.Seats) == 0 {
		return New
	}
	for _, seat := range s.a.Seats {
		if seat.State == Stopped || seat.State == Leaving && seat.Cause != ScaleIn && seat.Cause != Failed {
			return seat.Cause
		}
		if seat.counts() && s.away(seat.Engine) {
			return Failover
		}
	}
	return ScaleOut
}

// trim makes surplus seats leave: first those that have not started, then the last in rank.
func (s *service) trim() {
	for surplus := len(s.present()) - s.wanted(); surplus > 0; surplus-- {
		present := s.present()
		victim := present[len(present)-1]
		for _, seat := range slices.Backward(present) {
			if seat.State == Starting {
				victim = seat
				break
			}
		}
		s.become(victim.Engine, Leaving, ScaleIn)
	}
}
