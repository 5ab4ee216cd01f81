package place

import (
	"fmt"
	"slices"
	"time"
)

// hear looks at starting and draining seats first: if one fails to start, the seat that was to leave for it stays.
func (s *service) hear() {
	for _, seat := range slices.Clone(s.a.Seats) {
		switch seat.State {
		case Starting:
			s.hearStarting(seat)
		case Draining:
			s.hearDraining(seat)
		case Serving:
			s.hearServing(seat)
		case Standby:
			s.hearStandby(seat)
		}
	}
	for _, seat := range slices.Clone(s.a.Seats) {
		if seat.State == Leaving {
			s.hearLeaving(seat)
		}
	}
}

func (s *service) hearStarting(seat Seat) {
	engine := s.in.Engines[seat.Engine]
	holding := s.holding(seat.Engine)
	deadline := seat.Since.Add(time.Duration(s.group.ScaleoutTimeoutS) * time.Second)
	switch {
	case s.lacksRoom(seat.Engine) && (s.isServed() || s.hasAnother()):
		s.fail(seat, noRoom)
	// only if no other Plan is on its way
	case engine.Up && holding.Delivery == Current && holding.Duty == Serve:
		s.become(seat.Engine, Serving, seat.Cause)
		s.trust(seat.Engine)
		if seat.Cause == ScaleOut {
			s.event("VS_SCALEOUT_COMPLETE", seat.Engine, "%s serves it now", s.name(seat.Engine))
		}
	case engine.Up && engine.Plan == Refused && holding.Delivery.isDue() && !s.bears(seat) && s.canDoWithout(seat):
		s.fail(seat, "refuses it: "+engine.Refuses)
	case holding.Delivery.isDue() && !deadline.After(s.in.Now):
		s.fail(seat, fmt.Sprintf("did not serve it within %d s", s.group.ScaleoutTimeoutS))
	default:
		s.again(deadline)
	}
}

// bears tells whether a seat waits although its engine refuses its Plan: for something else, which may go from there.
// Where nobody serves meanwhile, or could, it does not wait.
func (s *service) bears(seat Seat) bool {
	engine := s.in.Engines[seat.Engine]
	end := engine.Refused.Add(bearFor)
	if len(engine.Blames) == 0 || !end.After(s.in.Now) ||
		!s.isServed() && !s.canBeCalledBack(Seat.isEnding) {
		return false
	}
	for _, vs := range s.all {
		concerns := vs.Concerns()
		if slices.ContainsFunc(engine.Blames, func(uuid string) bool { return concerns[uuid] }) {
			return false
		}
	}
	s.again(end)
	return true
}

// canDoWithout tells whether other engines serve, or could. Otherwise an engine that refuses its Plan keeps the seat,
// so that the operator sees the reason and can change it.
func (s *service) canDoWithout(seat Seat) bool {
	return seat.Cause == ScaleOut || seat.Cause == Migrate || seat.Cause == Switchover || s.hasAnother() ||
		s.canReturn() || s.isTakenBeside(seat.Engine)
}

func (s *service) hasAnother() bool {
	another, _ := s.choose()
	return another != nil
}

// hearServing ends the seat of an engine that was away and cannot serve any more, because another one has begun to
// listen in its network. If the virtual service has outgrown its engine, the seat starts again, so that another engine
// is tried.
func (s *service) hearServing(seat Seat) {
	switch {
	case s.up(seat.Engine) && s.refusedAll(seat.Engine) && s.isTakenBeside(seat.Engine):
		s.drop(seat, "has refused it")
	case s.isOutgrown(seat.Engine):
		s.become(seat.Engine, Starting, Failover)
	}
}

const noRoom = "has no room for it in its Plan"

// isOutgrown tells whether the newest Plan of an engine has no room for the virtual service, and the engine has nothing
// of it any more.
func (s *service) isOutgrown(engine string) bool {
	return s.lacksRoom(engine) && s.in.Engines[engine].Told && !s.holdsAny(engine)
}

// hearStandby ends the seat of an engine that cannot take over, because it refuses its Plan with the virtual service,
// or the Plan has no room for that.
func (s *service) hearStandby(seat Seat) {
	holding, engine := s.holding(seat.Engine), s.in.Engines[seat.Engine]
	switch {
	case s.lacksRoom(seat.Engine) && (seat.Cause == Disabled || s.chooseStandby() != nil):
		s.fail(seat, noRoom)
	case seat.Cause == Disabled && engine.Up && engine.Plan == Refused && holding.Delivery.isDue() &&
		holding.Duty != StandBy && !s.bears(seat):
		s.fail(seat, "refuses it: "+engine.Refuses)
	}
}

// fail ends a seat that does not start, and the order behind it.
func (s *service) fail(seat Seat, why string) {
	s.shun(seat)
	wanted := s.wanted()
	switch seat.Cause {
	case ScaleOut:
		s.a.Requested = wanted - 1
	case Migrate, Switchover:
		s.stay(seat.Cause)
	}
	why = s.name(seat.Engine) + " " + why
	if s.wanted() < wanted || seat.Cause == Migrate || seat.Cause == Switchover {
		s.callOff(seat.Cause, seat.Engine, why)
	} else { // placement tries another engine, or tries again later
		s.event(failureOf(seat.Cause), seat.Engine, "%s", why)
	}
	switch {
	case s.isOutgrown(seat.Engine):
		s.drop(seat, noRoom)
		return
	case seat.State == Standby || s.refusedAll(seat.Engine):
		s.drop(seat, "has refused it")
		return
	}
	s.become(seat.Engine, Draining, Failed) // the engine may have the virtual service already, and not have reported it
}

// shun keeps the virtual service away from the engine of a seat for a while. If another engine has stopped for it in
// vain, clients were cut off, so that the next try comes later each time.
func (s *service) shun(seat Seat) {
	shun, pause := Shun{Engine: seat.Engine}, shunFor
	for _, earlier := range s.a.Shunned {
		if earlier.Engine == seat.Engine {
			shun.Outages = earlier.Outages
		}
	}
	hasStopped := func(other Seat) bool { return other.State == Stopped && s.mayShare(other.Engine, seat.Engine) }
	if seat.State == Starting && slices.ContainsFunc(s.a.Seats, hasStopped) {
		pause = shunAfterOutage[min(shun.Outages, len(shunAfterOutage)-1)]
		shun.Outages++
	}
	s.trust(seat.Engine)
	shun.Until = s.in.Now.Add(pause)
	s.a.Shunned = append(s.a.Shunned, shun)
	s.again(shun.Until)
}

// trust forgets that an engine has failed.
func (s *service) trust(engine string) {
	s.a.Shunned = slices.DeleteFunc(s.a.Shunned, func(shun Shun) bool { return shun.Engine == engine })
}

// callOff records why an order failed, and adds an event.
func (s *service) callOff(cause Cause, engine, why string) {
	s.a.CalledOff = &Failure{Event: failureOf(cause), Why: why, At: s.in.Now}
	s.event(s.a.CalledOff.Event, engine, "%s", why)
}

func failureOf(cause Cause) string {
	switch cause {
	case Migrate:
		return "VS_MIGRATE_FAILED"
	case Switchover:
		return "VS_SWITCHOVER_FAIL"
	default:
		return "VS_SCALEOUT_FAILED"
	}
}

// stay keeps the seats that were to leave for a cause.
func (s *service) stay(cause Cause) {
	for _, seat := range s.a.Seats {
		if seat.State == Leaving && seat.Cause == cause {
			s.remain(seat, cause)
		}
	}
}

// remain keeps a seat that was to leave. If its engine does not serve any more, the seat starts again.
func (s *service) remain(seat Seat, cause Cause) {
	state := Starting
	if s.serves(seat.Engine) {
		state = Serving
	}
	s.become(seat.Engine, state, cause)
}

// hearDraining ends a seat when its engine reports that no client is left, or when the time for draining is over. An
// engine that is away reports nothing: it may still have clients, and drains when it is back.
func (s *service) hearDraining(seat Seat) {
	engine := s.in.Engines[seat.Engine]
	holding := s.holding(seat.Engine)
	if !engine.Up || engine.Plan == Unsettled {
		return
	}
	if !holding.Delivery.isDue() || s.refusedAll(seat.Engine) {
		s.drop(seat, "no longer has it")
		return
	}
	if holding.Delivery != Current || holding.Duty != Drain {
		return
	}
	next := s.successor(seat)
	if next != nil && !s.isReady(*next) {
		return
	}
	if next == nil && !s.isServed() && s.engines[seat.Engine].EnableState != forced {
		return // the engine is called back, or waits until an engine that serves connects
	}
	deadline := holding.Since.Add(time.Duration(s.group.ScaleinTimeoutS) * time.Second)
	switch {
	case holding.Clients == Idle:
		s.finish(seat, "has no clients left")
	case !deadline.After(s.in.Now):
		s.finish(seat, fmt.Sprintf("drained for %d s, the longest time allowed", s.group.ScaleinTimeoutS))
	default:
		s.again(deadline)
	}
}

// finish ends a seat that has drained. If another engine takes over next, the seat stays until that one serves.
func (s *service) finish(seat Seat, why string) {
	if s.successor(seat) != nil {
		s.become(seat.Engine, Stopped, seat.Cause)
		return
	}
	s.drop(seat, why)
}

// hearLeaving keeps a seat whose reason to leave is gone, or that takes too long to leave. It ends a seat whose engine
// does not serve and cannot, if another one does or could.
func (s *service) hearLeaving(seat Seat) {
	if s.up(seat.Engine) && s.refusedAll(seat.Engine) && (s.isServed() || s.canReturn()) {
		s.drop(seat, "has refused it")
		return
	}
	switch seat.Cause {
	case Disabled:
		if s.mayKeep(seat.Engine) {
			s.remain(seat, New)
		}
	case Migrate, Switchover:
		deadline := seat.Since.Add(time.Duration(s.group.ScaleoutTimeoutS) * time.Second)
		if deadline.After(s.in.Now) {
			s.again(deadline)
			return
		}
		s.a.Fresh = time.Time{}
		s.callOff(seat.Cause, seat.Engine, fmt.Sprintf("no other engine served it within %d s",
			s.group.ScaleoutTimeoutS))
		s.remain(seat, New)
	}
}
