package place

import (
	"fmt"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/model"
)

// service is one virtual service, or several that go together, during a decision.
type service struct {
	*decider
	all   []*model.VirtualService
	vs    *model.VirtualService // the first of all
	group *model.Group
	a     Assignment
	gone  map[string]bool // cached results of away, by engine uuid

	next     time.Time // when to decide again because of the time; zero: never
	restless bool      // it depended on something that Placer does not watch
}

func (d *decider) service(set *set) *service {
	return &service{decider: d, all: set.all, vs: set.all[0], group: set.all[0].Group, a: set.before.clone(),
		gone: map[string]bool{}}
}

// again asks for another decision at a time.
func (s *service) again(at time.Time) {
	s.next = sooner(s.next, at, s.in.Now)
	s.decider.again(at)
}

// serviceOf returns the service that includes a virtual service.
func (d *decider) serviceOf(vs *model.VirtualService) *service {
	return d.service(d.kept.sets[vs.UUID])
}

func (s *service) step() {
	s.forget()
	if !takesTraffic(s.vs) {
		s.clear()
		return
	}
	s.hear()
	s.stopWaiting()
	s.markLeaving()
	s.callBack()
	s.fill()
	s.trim()
	s.release()
	s.standby()
	s.rank()
	s.locate()
}

// locate records the next hop of each engine. An engine that is away keeps its next hop.
func (s *service) locate() {
	for i := range s.a.Seats {
		if at := s.in.Engines[s.a.Seats[i].Engine].NextHop; at.IsValid() {
			s.a.Seats[i].NextHop = at
		}
	}
}

// forget drops the seats on deleted engines, and the shuns that are over.
func (s *service) forget() {
	for _, seat := range slices.Clone(s.a.Seats) {
		if s.engines[seat.Engine] == nil {
			s.drop(seat, "is deleted")
		}
	}
	s.a.Shunned = slices.DeleteFunc(s.a.Shunned, func(shun Shun) bool { return !shun.Until.After(s.in.Now) })
	for _, shun := range s.a.Shunned {
		s.again(shun.Until)
	}
}

// clear drops all seats: the virtual service must not be served.
func (s *service) clear() {
	for _, seat := range slices.Clone(s.a.Seats) {
		s.drop(seat, "shall take no traffic")
	}
}

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

func (s *service) markLeaving() {
	for _, seat := range s.a.Seats {
		force := seat.State == Leaving && seat.Cause != Disabled && s.engines[seat.Engine].EnableState == forced
		if seat.counts() && !s.mayKeep(seat.Engine) || force {
			s.become(seat.Engine, Leaving, Disabled)
		}
	}
}

// callBack makes draining engines serve again if no other engine certainly serves: the others may have failed a moment
// ago. While serving engines may yet connect, draining engines get no new Plan.
func (s *service) callBack() {
	if s.isServed() {
		return
	}
	waits := s.awaits()
	for _, seat := range s.a.Seats {
		switch {
		case seat.State != Draining || !s.up(seat.Engine) || s.engines[seat.Engine].EnableState == forced:
		case waits:
			s.out.Waiting[seat.Engine], s.restless = true, true
		default:
			s.become(seat.Engine, Leaving, seat.Cause)
		}
	}
}

// mayKeep tells whether an engine may keep its seats. In SE_STATE_DISABLED_FOR_PLACEMENT it may.
func (s *service) mayKeep(engine string) bool {
	object := s.engines[engine]
	return object.Group == s.group && object.EnableState != "SE_STATE_DISABLED" && object.EnableState != forced
}

const forced = "SE_STATE_DISABLED_FORCE"

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
	has := func(seat Seat) bool { return seat.State != Draining && seat.State != Standby && !s.away(seat.Engine) }
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
	s.callOff(ScaleOut, "", fmt.Sprintf("no engine with nothing on it came within %d s", s.group.ScaleoutTimeoutS))
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
		if seat.State == Leaving && seat.Cause != ScaleIn && seat.Cause != Failed {
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

// release makes leaving seats drain, once enough others serve.
func (s *service) release() {
	serving := s.healthy()
	for _, seat := range slices.Clone(s.a.Seats) {
		goes := seat.State == Leaving || seat.counts() && s.away(seat.Engine)
		switch {
		case !goes:
		case serving >= s.wanted(),
			seat.Cause == Disabled && s.engines[seat.Engine].EnableState == forced,
			seat.Cause == Disabled && serving > 0 && !s.grows():
			cause := seat.Cause
			if seat.State != Leaving {
				cause = Failover
			}
			s.become(seat.Engine, Draining, cause)
		}
	}
}

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

// standby keeps one engine as standby if the group is active/standby. If the standby is away, it keeps its seat until
// there is another one.
func (s *service) standby() {
	ready, legacy := false, s.group.HAMode == legacyMode
	var away []Seat
	for _, seat := range slices.Clone(s.a.Seats) {
		switch {
		case seat.State != Standby:
		case !legacy || ready || !s.mayKeep(seat.Engine):
			s.drop(seat, "stands by no more")
		case s.away(seat.Engine):
			away = append(away, seat)
		default:
			ready = true
		}
	}
	if !ready && legacy && s.healthy() > 0 {
		if engine, _ := s.choose(); engine != nil && s.a.seat(engine.UUID) == nil {
			s.take(engine.UUID, Standby, New)
			ready = true
		}
	}
	if ready {
		for _, seat := range away {
			s.drop(seat, "stands by no more")
		}
	}
}

// rank puts the primary first. A primary stays primary while it serves.
func (s *service) rank() {
	serves := func(seat Seat) bool { return seat.State == Serving && !s.away(seat.Engine) }
	if first := slices.IndexFunc(s.a.Seats, serves); first > 0 {
		s.lead(first)
	}
}

// lead makes the engine of a seat the primary. If the engine that was first has never served, it was no primary, and
// there is no event.
func (s *service) lead(index int) {
	primary, before := s.a.Seats[index], s.a.Seats[0]
	s.a.Seats = slices.Insert(slices.Delete(s.a.Seats, index, index+1), 0, primary)
	if before.State == Starting && !s.holdsAny(before.Engine) {
		return
	}
	s.event("VS_SWITCHOVER", primary.Engine, "%s is the primary after %s", s.name(primary.Engine),
		s.name(before.Engine))
}
