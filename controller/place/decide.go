// Package place decides which engines serve which virtual service: a pure function of the model, of what is known of
// the engines, and of what was decided before, the stage between model and plan. Who serves keeps serving; nobody stops
// before enough others do.
//
// decide.go is what goes in and what comes out; placer.go keeps from one decision to the next what goes on being true,
// together.go which virtual services go together. service.go takes one of them a step further, or all on one address.
// hear.go is what engines have said of it, choose.go finds one more, reach.go looks whether clients find it, gather.go
// waits for engines that are yet to come, seat.go changes its seats. order.go and redistribute.go are what operators
// ask for, need.go what a group lacks; load.go and rebalance.go follow the load. Nothing here starts an engine, or
// knows how a duty is carried out.
package place

import (
	"net/netip"
	"time"

	"github.com/weir-lb/weir/controller/model"
)

const (
	// lostAfter is how long an engine may be away, or cut off from its routers, before others take over what it served;
	// aggressive detection halves it.
	lostAfter           = 9 * time.Second
	lostAfterAggressive = 5 * time.Second
	// unheardFor is the same for an engine that this controller has not heard of since it began, or lost all engines at
	// once; from then, or from when the first of them came.
	unheardFor = 30 * time.Second
	// shunFor is how long an engine that failed to start a virtual service is not tried again.
	shunFor = 5 * time.Minute
)

// Input is all that is decided upon. Nothing of it changes in place.
type Input struct {
	Model   *model.Model
	Engines map[string]Engine // by uuid; of one that is missing this controller has not heard yet
	Before  Assignments
	Began   time.Time // when this controller did, or had heard of the first engine
	Now     time.Time
}

// Engine is what is known of an engine at the time.
type Engine struct {
	Up    bool      // it is connected, and its data plane runs
	Since time.Time // of Up
	// when engines began to come back after all, this one too, had been away at once; zero: it has left since, or they
	// were not
	Gathering  time.Time
	Told       bool      // it has told what it has: what it does not hold it does not have
	Plan       PlanState // of the Plan that it shall have
	Refuses    string    // of Refused: why
	Host       string    // that it runs on; empty: not known
	CPUPercent float64
	NextHop    netip.Addr             // where its routes lead; invalid: nowhere yet
	Holds      Holdings               // also what it shall have, and has not said anything of yet
	Sessions   map[netip.Addr]Session // by the address of the router
}

// PlanState says how the Plan stands that an engine shall have.
type PlanState int

const (
	Unsettled PlanState = iota // this controller has not made one yet
	Settled                    // what is not due to the engine is not in there
	Refused                    // Settled, and the engine does not take it
)

// Decision is what follows. What it does not name stays as it was before.
type Decision struct {
	Changed      []Assignment // those that are not as before, by uuid
	Gone         []string     // virtual services that have no assignment any more
	Events       []Event
	Needs        []Need          // one for each group, in the order of the model
	Unplaced     []Unplaced      // what has fewer engines than it shall have
	Waiting      map[string]bool // uuids of engines that shall get no Plan yet: what they have may be all that there is
	Seated       map[string]bool // uuids of engines that have a seat
	SeatedBefore map[string]bool // uuids of engines that had one
	Again        time.Time       // decide again then, though nothing happens; zero: no need
}

// Event is something that operators may want to know.
type Event struct {
	ID             string // Avi's name: VS_SCALEOUT_COMPLETE
	VirtualService *model.VirtualService
	Engine         string // uuid
	Message        string
}

// Unplaced is a virtual service that lacks engines.
type Unplaced struct {
	VirtualService string // uuid
	Wanted, Placed int
	Why            string
}

// Decide takes every virtual service one step further.
func Decide(in Input) Decision { return new(Placer).Decide(in) }

// decider is a decision in the making.
type decider struct {
	kept    *Placer
	in      Input
	out     Decision
	engines map[string]*model.Engine
	load    map[string]int // seats of each engine that are there to stay; of those that go together one
	active  map[string]int // those of them that do not only stand by
	seats   map[string]int // all of them
}

// newDecider begins a decision that goes on from no other one.
func newDecider(in Input) *decider {
	kept := &Placer{}
	kept.turn(in)
	return kept.decider(in)
}

// weigh counts a seat in, or out.
func (d *decider) weigh(seat Seat, by int) { tally{d.load, d.active, d.seats}.weigh(seat, by) }

// again asks to be called at a time.
func (d *decider) again(at time.Time) { d.out.Again = sooner(d.out.Again, at, d.in.Now) }

// sooner of two times, of which the second only counts when it is still to come; zero is never.
func sooner(first, second, now time.Time) time.Time {
	if second.After(now) && (first.IsZero() || second.Before(first)) {
		return second
	}
	return first
}

func (d *decider) up(engine string) bool { return d.in.Engines[engine].Up }

// lost tells whether an engine has been away for so long that others take over, and when it will be; zero: it is there.
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

// patience is how long an engine may be away, or cut off, before others take over.
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
