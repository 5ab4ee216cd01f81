package reconcile_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// simFailure is a single failure of a healthy system. within is the time in which unaffected engines must serve every
// virtual service again. This time begins when the controller can notice the failure. It covers the detection, the time
// in which engines that are away may come back, and the new Plan.
type simFailure struct {
	name   string
	strike func(victim *simEngine)
	within time.Duration
}

const (
	simPlanned = 5 * time.Second // a decision, and the delivery of its Plan
	simSilence = 10 * time.Second
	simLost    = 9 * time.Second
	simAwaited = 35 * time.Second // after all engines were away: one dials, and others may still come
)

var simFailures = []simFailure{
	{"its engine dies", (*simEngine).die, simLost + simPlanned},
	{"its engine freezes", (*simEngine).freeze, simSilence + simLost + simPlanned},
	{"its engine is cut off from the router", func(e *simEngine) {
		e.model.Groups[0].BGPPeerMonitorFailover, e.unled = true, true
		e.wrote()
	}, simLost + simPlanned},
	{"its engine dies as the controller restarts", func(e *simEngine) {
		e.die()
		e.restart()
	}, simAwaited + simPlanned},
	{"its engine dies while the controller hears nobody", func(e *simEngine) {
		e.isolate()
		e.freeze()
	}, simAwaited + simPlanned},
}

func TestEverySeedIsServedAgainInTimeWhenAnEngineFails(t *testing.T) {
	for seed := range seeds() / 3 {
		failure := simFailures[seed%uint64(len(simFailures))]
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := newCalmSim(t, seed)
			victim := s.engine(s.primaryOf(s.IntN(len(s.services()))))
			s.tell("%s: %s", victim.UUID, failure.name)
			failure.strike(victim)
			for heard := s.now; s.unserved() != ""; s.tick() {
				if s.isolated.After(heard) {
					heard = s.isolated
				}
				if took := s.now.Sub(heard); took > failure.within {
					s.wrong("%s is not served %v after %s: %v", s.unserved(), took, failure.name, s.stored)
				}
			}
			s.heal()
			s.mustSettle()
		})
	}
}

// freeze makes an engine die without closing its connection.
func (e *simEngine) freeze() { e.alive, e.died = false, e.now }

// newCalmSim returns a settled simulation without random trouble.
func newCalmSim(t *testing.T, seed uint64) *sim {
	s := newSim(t, seed)
	s.troubled = false
	s.mustSettle()
	return s
}

func (s *sim) primaryOf(service int) string {
	return s.stored.Of(s.services()[service].UUID).Seats[0].Engine
}

// unserved returns the name of a virtual service that clients cannot reach on any engine; empty: there is none.
func (s *sim) unserved() string {
	for _, vs := range s.services() {
		answers := func(e *simEngine) bool { return e.alive && (!e.unled || !vs.EnableRHI) && serves(e.held)[vs.UUID] }
		if !slices.ContainsFunc(s.engines, answers) {
			return vs.Name
		}
	}
	return ""
}

func TestEverySeedMovesNothingWhenTheControllerIsAway(t *testing.T) {
	for seed := range seeds() / 3 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := newCalmSim(t, seed)
			seats, served := s.seats(), s.served()
			for range 3 {
				if s.IntN(2) == 0 {
					s.restart()
				} else {
					s.isolate()
				}
				for range (20 + s.IntN(200)) * int(time.Second/simTick) {
					if s.tick(); !maps.EqualFunc(s.served(), served, maps.Equal) {
						s.wrong("an engine serves something else: %v, before %v", s.served(), served)
					}
				}
			}
			if now := s.seats(); !maps.EqualFunc(now, seats, slices.Equal) {
				s.wrong("it is on other engines: %v, before %v", now, seats)
			}
		})
	}
}

// seats returns the engines of each virtual service, in their order and with their state.
func (s *sim) seats() map[string][]string {
	seats := map[string][]string{}
	for _, assignment := range s.stored {
		for _, seat := range assignment.Seats {
			seats[assignment.VirtualService] = append(seats[assignment.VirtualService], seat.Engine+" "+
				string(seat.State))
		}
	}
	return seats
}

// served returns what each engine serves.
func (s *sim) served() map[string]map[string]bool {
	served := map[string]map[string]bool{}
	for _, engine := range s.engines {
		served[engine.UUID] = serves(engine.held)
	}
	return served
}
