package fleet

import (
	"net/netip"
	"time"

	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/place"
)

// Moved returns a channel that holds a value after anything has changed that placement may depend on.
func (f *Fleet) Moved() <-chan struct{} { return f.moved }

func (f *Fleet) move() {
	select {
	case f.moved <- struct{}{}:
	default:
	}
}

// Began is the time from which on placement waits for engines to connect after a start of the controller.
func (f *Fleet) Began() time.Time {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.began
}

// Facts returns what placement needs to know about the engines that have connected.
func (f *Fleet) Facts() map[string]place.Engine {
	f.mu.Lock()
	defer f.mu.Unlock()
	facts := make(map[string]place.Engine, len(f.known.engines))
	for uuid, engine := range f.known.engines {
		if engine.State != health.Unheard {
			facts[uuid] = engine.facts()
		}
	}
	return facts
}

func (e *Engine) facts() place.Engine {
	cpu, _ := e.CPUPercent()
	nextHop, _ := netip.ParseAddr(e.Routing.GetNextHop()) // invalid: it has none
	facts := place.Engine{
		Up: e.Works(), Since: e.turnedAt, Gathering: e.gathering, Told: e.heldKnown, Host: e.Resources.GetHostname(),
		Network: e.Resources.GetNetwork(), CPUPercent: cpu, NextHop: nextHop, Holds: e.look(), Sessions: e.sessions,
	}
	switch {
	case e.Refusal != nil:
		facts.Plan, facts.Refuses, facts.Refused = place.Refused, e.Refusal.why(), e.Refusal.Since
		for _, found := range e.Refusal.Errors {
			if found.GetUuid() == "" { // it may concern anything
				facts.Blames = nil
				break
			}
			facts.Blames = append(facts.Blames, found.GetUuid())
		}
	case e.Wanted == nil:
	case e.HasNewest():
		facts.Plan = place.Taken
	default:
		facts.Plan = place.Settled
	}
	return facts
}

// turn changes the state of an engine. Nothing else changes it.
func (f *Fleet) turn(uuid string, engine *Engine, next health.Engine) {
	was := engine.State
	if was == health.Unheard || (was == health.Serving) != (next == health.Serving) {
		if !f.anyHeard() {
			f.began = f.now()
		}
		f.gather(engine, next)
		engine.turnedAt = f.now()
		f.move()
	}
	engine.State = next
	if was != next {
		f.known.news.ofEngine(engine)
		f.known.counting.touch(engine.Sample)
	}
	turn := was.TurnTo(next)
	if turn == health.NoTurn {
		return
	}
	if turn == health.WentDown || !engine.resumes {
		f.tell(f.called(uuid).Turned(turn, engine.WhyDown()))
	}
	engine.resumes = false
}

// resumeWithin is the time after the start of a leader in which engines connect again. What served before then, and
// serves again within this time, is no event.
const resumeWithin = time.Minute

func (f *Fleet) isResuming() bool { return f.now().Sub(f.start) < resumeWithin }

func (f *Fleet) anyHeard() bool {
	for _, engine := range f.known.engines {
		if engine.State != health.Unheard {
			return true
		}
	}
	return false
}

// gather notes that an engine begins or ceases to serve. If the engine has served before, and no other engine serves
// now, then the controller was cut off from all engines, and the others have yet to connect again. A new engine says
// nothing about the others.
func (f *Fleet) gather(engine *Engine, next health.Engine) {
	switch {
	case next != health.Serving:
		engine.gathering = time.Time{}
	case engine.served.IsZero():
		engine.served = f.now()
	case !f.anyWorks():
		for _, other := range f.known.engines {
			if !other.served.IsZero() && other.gathering.IsZero() {
				other.gathering = f.now()
			}
		}
	}
}

func (f *Fleet) anyWorks() bool {
	for _, engine := range f.known.engines {
		if engine.Works() {
			return true
		}
	}
	return false
}
