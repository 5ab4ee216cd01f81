// Package place decides which engines serve which virtual service. It is a pure function of the model, of what is known
// about engines, and of the decisions so far. It is the stage between model and plan. An engine that serves keeps
// serving; no engine stops before enough others serve, unless only engines with the same addresses could.
//
// decide.go has the input and the output. placer.go keeps from one decision to the next what is still true, together.go
// finds the virtual services that go together. service.go takes a virtual service one step further, or all that share
// an address: hear.go reads what engines reported, size.go brings the number of seats to the wanted one, serving.go
// counts the engines that serve, choose.go finds another engine, reach.go checks whether clients reach it, beside.go
// moves the virtual service between engines with the same addresses, gather.go waits for engines that have yet to
// connect, seat.go changes seats. order.go and redistribute.go carry out the orders of operators, need.go counts the
// engines that a group lacks. load.go computes loads, rebalance.go moves virtual services because of them. Nothing here
// starts an engine, or knows how an engine carries out a duty.
package place

import (
	"net/netip"
	"time"

	"github.com/weir-lb/weir/controller/model"
)

const (
	// lostAfter is how long an engine may be away, or cut off from its routers, before others take over. With
	// aggressive detection it is lostAfterAggressive.
	lostAfter           = 9 * time.Second
	lostAfterAggressive = 5 * time.Second
	// unheardFor replaces lostAfter after a start of the controller, for engines that have not connected yet, and after
	// the controller was cut off from all engines at once. It counts from the start, or from when the first engine
	// connected.
	unheardFor = 30 * time.Second
	// shunFor is how long placement avoids an engine that failed to start a virtual service.
	shunFor = 5 * time.Minute
	// bearFor is how long a seat waits on an engine that refuses its Plan for something else: that may go.
	bearFor = 10 * time.Second
	// outagesFor is how long placement remembers that an engine failed when another one had stopped for it.
	outagesFor = 24 * time.Hour
)

// shunAfterOutage replaces shunFor after the first such failure, the second one, and any later one.
var shunAfterOutage = []time.Duration{shunFor, time.Hour, 24 * time.Hour}

// Input is all that a decision depends on. Nothing in it changes in place.
type Input struct {
	Model   *model.Model
	Engines map[string]Engine // by uuid; a missing engine has not connected to this controller yet
	Before  Assignments
	Began   time.Time // when the first engine connected; until then, when this controller started
	Now     time.Time
}

// Engine is what is known about an engine at one time.
type Engine struct {
	Up    bool      // the engine is connected, and its data plane runs
	Since time.Time // of Up
	// when engines, and this one too, began to come back after all had been away at once; zero: they were not all away,
	// or this engine has left since
	Gathering time.Time
	Told      bool      // the engine has reported what it has; it has nothing that Holds lacks
	Plan      PlanState // of the newest Plan for the engine
	Refuses   string    // the reason, if Plan is Refused
	Refused   time.Time // since when, if Plan is Refused
	Blames    []string  // uuids of the objects for which Plan is Refused; empty: not known
	Host      string    // on which the engine runs; empty: not known
	// network namespace; of the engines in one, only one can listen at an address; empty: not known
	Network    string
	CPUPercent float64
	NextHop    netip.Addr             // to which its routes lead; invalid: none yet
	Holds      Holdings               // includes what it should have and has not reported yet
	Sessions   map[netip.Addr]Session // by the router's address
}

// PlanState is the state of the newest Plan for an engine.
type PlanState int

const (
	Unsettled PlanState = iota // this controller has made no Plan yet
	Settled                    // this controller has made the Plan; what is NotDue is not in it
	Refused                    // like Settled, and the engine refuses the Plan
	Taken                      // like Settled, and the engine has applied the Plan
)

// Decision is the result. What it does not name stays as before.
type Decision struct {
	Changed  []Assignment // changed assignments, sorted by uuid
	Gone     []string     // uuids of virtual services that no longer have an assignment
	Events   []Event
	Needs    []Need     // one of each group, in the order of the model
	Unplaced []Unplaced // virtual services with too few engines
	// uuids of engines that must not get a Plan yet: perhaps only they serve, or they have only some of the virtual
	// services of an address
	Waiting map[string]bool
	Seated  map[string]bool // uuids of engines that have a seat
	Again   time.Time       // decide again at this time, even if nothing happens; zero: no need
}

// Event is news for operators.
type Event struct {
	ID             string // Avi's name: VS_SCALEOUT_COMPLETE
	VirtualService *model.VirtualService
	Engine         string // uuid
	Message        string
}

// Unplaced is a virtual service with too few engines.
type Unplaced struct {
	VirtualService string // uuid
	Wanted, Placed int
	Why            string
}

// Decide takes every virtual service one step further.
func Decide(in Input) Decision { return new(Placer).Decide(in) }

// decider makes one decision.
type decider struct {
	kept    *Placer
	in      Input
	out     Decision
	engines map[string]*model.Engine
	load    map[string]int // seats of each engine that are not ending; a set has one seat
	active  map[string]int // those of load that do not stand by
	seats   map[string]int // all seats of each engine

	networks map[string][]string // see beside; nil: not needed yet
}

// weigh adds a seat to the counts (by is 1), or removes it (-1).
func (d *decider) weigh(seat Seat, by int) { tally{d.load, d.active, d.seats}.weigh(seat, by) }

// again asks for another decision at a time.
func (d *decider) again(at time.Time) { d.out.Again = sooner(d.out.Again, at, d.in.Now) }

// sooner returns the earlier of two times. The second one counts only if it is in the future. Zero is never.
func sooner(first, second, now time.Time) time.Time {
	if second.After(now) && (first.IsZero() || second.Before(first)) {
		return second
	}
	return first
}

func (d *decider) up(engine string) bool { return d.in.Engines[engine].Up }

// lost tells whether an engine has been away for so long that others take over. end is the time when that happens;
// zero: the engine is up.
func (d *decider) lost(engine string) (lost bool, end time.Time) {
	state, known := d.in.Engines[engine]
	if state.Up {
		return false, time.Time{}
	}
	end = d.in.Began.Add(unheardFor)
	if known {
		end = state.Since.Add(patience(d.engines[engine]))
	}
	if grace := state.Gathering.Add(unheardFor); grace.After(end) {
		end = grace
	}
	return !end.After(d.in.Now), end
}

// patience is how long an engine may be away, or cut off from its routers, before others take over.
func patience(engine *model.Engine) time.Duration {
	if engine != nil && engine.Group != nil && engine.Group.AggressiveDetection {
		return lostAfterAggressive
	}
	return lostAfter
}

func (d *decider) name(engine string) string {
	if object := d.engines[engine]; object != nil {
		return object.Name
	}
	return engine
}
