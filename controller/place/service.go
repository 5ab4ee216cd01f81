package place

import (
	"fmt"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/model"
)

// service is one virtual service while it is taken a step further.
type service struct {
	*decider
	vs    *model.VirtualService
	group *model.Group
	a     Assignment
}

func (d *decider) service(vs *model.VirtualService) *service {
	a := d.in.Before[vs.UUID].clone()
	a.VirtualService = vs.UUID
	return &service{decider: d, vs: vs, group: vs.Group, a: a}
}

func (s *service) step() Assignment {
	s.forget()
	if s.group == nil || !s.vs.Enabled || !s.vs.TrafficEnabled {
		s.clear()
		return s.a
	}
	s.hear()
	s.markLeaving()
	s.callBack()
	s.fill()
	s.trim()
	s.release()
	s.standby()
	s.rank()
	return s.a
}

// forget drops the seats of engines that are deleted.
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

// clear ends all: nobody shall be served.
func (s *service) clear() {
	for _, seat := range slices.Clone(s.a.Seats) {
		s.drop(seat, "shall take no traffic")
	}
}

// wanted is how many engines shall serve.
func (s *service) wanted() int { return Wanted(s.vs, s.a) }

// Wanted is how many engines shall serve a virtual service, within what its group allows.
func Wanted(vs *model.VirtualService, a Assignment) int {
	least, most := Limits(vs.Group)
	return min(max(a.Requested, least), most)
}

// Limits are the fewest and the most engines of one virtual service in a group.
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

// ---- What engines have said

func (s *service) hear() {
	for _, seat := range slices.Clone(s.a.Seats) {
		switch seat.State {
		case Starting:
			s.hearStarting(seat)
		case Draining:
			s.hearDraining(seat)
		case Leaving:
			s.hearLeaving(seat)
		}
	}
}

func (s *service) hearStarting(seat Seat) {
	engine := s.in.Engines[seat.Engine]
	holding := engine.Holds[s.vs.UUID]
	deadline := seat.Since.Add(time.Duration(s.group.ScaleoutTimeoutS) * time.Second)
	switch {
	case engine.Up && holding.Current && holding.Duty == Serve: // not by a Plan that another is on its way to replace
		s.become(seat.Engine, Serving, seat.Cause)
		if seat.Cause == ScaleOut {
			s.event("VS_SCALEOUT_COMPLETE", seat.Engine, "%s serves it too", s.name(seat.Engine))
		}
	case engine.Up && engine.Refuses != "" && holding.Due && s.canDoWithout(seat):
		s.fail(seat, "refuses it: "+engine.Refuses)
	case holding.Due && !deadline.After(s.in.Now):
		s.fail(seat, fmt.Sprintf("did not serve it within %d s", s.group.ScaleoutTimeoutS))
	default:
		s.again(deadline)
	}
}

// canDoWithout tells whether others serve or could. Otherwise an engine that refuses keeps the seat, and with it what
// an operator has to see and to change.
func (s *service) canDoWithout(seat Seat) bool {
	another, _ := s.choose()
	return seat.Cause == ScaleOut || seat.Cause == Migrate || another != nil
}

// fail gives up a seat that does not start, and what an operator wanted with it.
func (s *service) fail(seat Seat, why string) {
	s.a.Shunned = append(s.a.Shunned, Shun{Engine: seat.Engine, Until: s.in.Now.Add(shunFor)})
	s.again(s.in.Now.Add(shunFor))
	id := "VS_SCALEOUT_FAILED"
	switch seat.Cause {
	case ScaleOut:
		s.a.Requested = s.wanted() - 1
	case Migrate:
		id = "VS_MIGRATE_FAILED"
		s.stay(Migrate)
	}
	s.event(id, seat.Engine, "%s %s", s.name(seat.Engine), why)
	if s.in.Engines[seat.Engine].Refuses != "" {
		s.a.remove(seat.Engine)
		s.load[seat.Engine]--
		return
	}
	s.become(seat.Engine, Draining, seat.Cause) // it may hold it already, and not have said so
}

// stay calls off the leaving of seats.
func (s *service) stay(cause Cause) {
	for _, seat := range s.a.Seats {
		if seat.State == Leaving && seat.Cause == cause {
			s.become(seat.Engine, Serving, cause)
		}
	}
}

// hearDraining ends a seat when its engine says that nobody is left, or had its time. One that is away says nothing: it
// may serve somebody, and drains when it is back.
func (s *service) hearDraining(seat Seat) {
	engine := s.in.Engines[seat.Engine]
	holding := engine.Holds[s.vs.UUID]
	if !engine.Up {
		return
	}
	if !holding.Due {
		s.drop(seat, "does not have it")
		return
	}
	if !holding.Current || holding.Duty != Drain {
		return
	}
	deadline := holding.Since.Add(time.Duration(s.group.ScaleinTimeoutS) * time.Second)
	switch {
	case holding.Idle:
		s.drop(seat, "has no client left")
	case !deadline.After(s.in.Now):
		s.drop(seat, fmt.Sprintf("had %d s for its clients", s.group.ScaleinTimeoutS))
	default:
		s.again(deadline)
	}
}

// hearLeaving calls off what has lost its reason, or takes too long.
func (s *service) hearLeaving(seat Seat) {
	switch seat.Cause {
	case Disabled:
		if s.mayKeep(seat.Engine) {
			s.become(seat.Engine, Serving, New)
		}
	case Migrate:
		deadline := seat.Since.Add(time.Duration(s.group.ScaleoutTimeoutS) * time.Second)
		if deadline.After(s.in.Now) {
			s.again(deadline)
			return
		}
		s.become(seat.Engine, Serving, New)
		s.event("VS_MIGRATE_FAILED", seat.Engine, "no other engine took it within %d s", s.group.ScaleoutTimeoutS)
	}
}

// ---- How many

func (s *service) markLeaving() {
	for _, seat := range s.a.Seats {
		if seat.counts() && !s.mayKeep(seat.Engine) {
			s.become(seat.Engine, Leaving, Disabled)
		}
	}
}

// callBack has those serve on that drain, when nobody else certainly serves: the others may only just have failed.
func (s *service) callBack() {
	if s.healthy() > 0 {
		return
	}
	for _, seat := range s.a.Seats {
		if seat.State == Draining && s.up(seat.Engine) && s.engines[seat.Engine].EnableState != forced {
			s.become(seat.Engine, Leaving, seat.Cause)
		}
	}
}

// mayKeep: SE_STATE_DISABLED_FOR_PLACEMENT keeps what an engine has.
func (s *service) mayKeep(engine string) bool {
	object := s.engines[engine]
	return object.Group == s.group && object.EnableState != "SE_STATE_DISABLED" && object.EnableState != forced
}

const forced = "SE_STATE_DISABLED_FORCE"

// present are the seats that count, of engines that are not lost.
func (s *service) present() []Seat {
	var present []Seat
	for _, seat := range s.a.Seats {
		if seat.counts() && !s.lost(seat.Engine) {
			present = append(present, seat)
		}
	}
	return present
}

// fill finds engines for what is missing.
func (s *service) fill() {
	cause, wanted := s.growth(), s.wanted()
	for len(s.present()) < wanted {
		engine, why := s.choose()
		if engine == nil {
			s.out.Unplaced = append(s.out.Unplaced, Unplaced{
				VirtualService: s.vs.UUID, Wanted: wanted, Placed: len(s.present()), Why: why,
			})
			return
		}
		s.take(engine.UUID, Starting, cause)
	}
}

// growth is why seats come now.
func (s *service) growth() Cause {
	if len(s.a.Seats) == 0 {
		return New
	}
	for _, seat := range s.a.Seats {
		if seat.State == Leaving {
			return seat.Cause
		}
		if seat.counts() && s.lost(seat.Engine) {
			return Failover
		}
	}
	return ScaleOut
}

// trim lets go what is more than wanted: what has not started first, then the newest.
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

// release has those drain that shall go, once enough others serve.
func (s *service) release() {
	serving := s.healthy()
	for _, seat := range slices.Clone(s.a.Seats) {
		goes := seat.State == Leaving || seat.counts() && s.lost(seat.Engine)
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

// healthy counts those that certainly serve and shall go on. While routes lead clients to any engine, those that none
// leads to do not count; they lead to none where the virtual service is down.
func (s *service) healthy() int {
	up, led, anyLed := 0, 0, false
	for _, seat := range s.a.Seats {
		holding := s.in.Engines[seat.Engine].Holds[s.vs.UUID]
		if !s.up(seat.Engine) || holding.Duty != Serve {
			continue
		}
		anyLed = anyLed || holding.Led
		if seat.State == Serving {
			up++
			if holding.Led {
				led++
			}
		}
	}
	if anyLed {
		return led
	}
	return up
}

// grows tells whether an engine is about to serve.
func (s *service) grows() bool {
	return slices.ContainsFunc(s.a.Seats, func(seat Seat) bool { return seat.State == Starting && !s.lost(seat.Engine) })
}

// standby keeps one engine ready where the group has active and standby.
func (s *service) standby() {
	ready := false
	for _, seat := range slices.Clone(s.a.Seats) {
		if seat.State != Standby {
			continue
		}
		if s.group.HAMode != legacyMode || ready || s.lost(seat.Engine) || !s.mayKeep(seat.Engine) {
			s.drop(seat, "stands by no more")
			continue
		}
		ready = true
	}
	if s.group.HAMode != legacyMode || ready || s.healthy() == 0 {
		return
	}
	if engine, _ := s.choose(); engine != nil && s.a.seat(engine.UUID) == nil {
		s.take(engine.UUID, Standby, New)
	}
}

// rank puts the primary first: who is it stays it for as long as it serves.
func (s *service) rank() {
	serves := func(seat Seat) bool { return seat.State == Serving && !s.lost(seat.Engine) }
	if first := slices.IndexFunc(s.a.Seats, serves); first > 0 {
		s.lead(first)
	}
}

// lead makes the engine of a seat the primary.
func (s *service) lead(index int) {
	primary, before := s.a.Seats[index], s.a.Seats[0]
	s.a.Seats = slices.Insert(slices.Delete(s.a.Seats, index, index+1), 0, primary)
	s.event("VS_SWITCHOVER", primary.Engine, "%s is the primary after %s", s.name(primary.Engine), s.name(before.Engine))
}

// ---- Seats

// take gives the virtual service a seat on an engine, or the one that it has there a new state.
func (s *service) take(engine string, state SeatState, cause Cause) {
	if s.a.seat(engine) != nil {
		s.become(engine, state, cause)
		return
	}
	s.a.Seats = append(s.a.Seats, Seat{Engine: engine, State: state, Since: s.in.Now, Cause: cause})
	s.load[engine]++
	s.event("VS_ADD_SE", engine, "%s is %s (%s)", s.name(engine), describe(state), cause)
}

func describe(state SeatState) string {
	switch state {
	case Starting:
		return "to serve it"
	case Standby:
		return "to stand by for it"
	default:
		return "to let it go"
	}
}

func (s *service) become(engine string, state SeatState, cause Cause) {
	seat := s.a.seat(engine)
	if seat.State == Draining {
		s.load[engine]++
	}
	if state == Draining {
		s.load[engine]--
	}
	seat.State, seat.Cause, seat.Since = state, cause, s.in.Now
}

// drop ends a seat.
func (s *service) drop(seat Seat, why string) {
	if seat.State != Draining {
		s.load[seat.Engine]--
	}
	s.a.remove(seat.Engine)
	s.event("VS_REMOVED_SE", seat.Engine, "%s %s (%s)", s.name(seat.Engine), why, seat.Cause)
	if seat.State != Draining {
		return
	}
	switch seat.Cause {
	case ScaleIn:
		s.event("VS_SCALEIN_COMPLETE", seat.Engine, "%s serves it no more", s.name(seat.Engine))
	case Migrate, Disabled:
		s.event("VS_MIGRATE_COMPLETE", seat.Engine, "%s serves it no more, others do", s.name(seat.Engine))
	}
}

func (s *service) event(id, engine, format string, args ...any) {
	s.out.Events = append(s.out.Events, Event{ID: id, VirtualService: s.vs, Engine: engine, Message: fmt.Sprintf(format, args...)})
}
