// Package place decides which engines serve which virtual service: a pure function of the model, of what is known of the
// engines, and of what was decided before, the stage between model and plan. Who serves keeps serving; nobody stops
// before enough others do.
//
// decide.go is the whole; service.go takes one virtual service a step further, or all that together.go finds on one
// address. hear.go is what engines have said of it, choose.go finds one more, reach.go looks whether clients find it,
// gather.go waits for engines that are yet to come, seat.go changes its seats. order.go and redistribute.go are what operators
// ask for, need.go what a group lacks; load.go and rebalance.go follow the load. Nothing here starts an engine, or knows how
// a duty is carried out.
package place

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
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

// Input is all that is decided upon.
type Input struct {
	Model   *model.Model
	Engines map[string]Engine     // by uuid; of one that is missing this controller has not heard yet
	Before  map[string]Assignment // by virtual service uuid
	Began   time.Time             // when this controller did, or had heard of the first engine
	Now     time.Time
}

// Engine is what is known of an engine at the time.
type Engine struct {
	Up         bool      // it is connected, and its data plane runs
	Since      time.Time // of Up
	Gathering  time.Time // when engines began to come back after all, this one too, had been away at once; zero: it has left since, or they were not
	Planned    bool      // it is settled what Plan it shall have: what is not due to it is not in there
	Told       bool      // it has told what it has: what it does not hold it does not have
	Refuses    string    // why it does not take the Plan that it shall have; empty: it takes it
	Host       string    // that it runs on; empty: not known
	CPUPercent float64
	NextHop    netip.Addr             // where its routes lead; invalid: nowhere yet
	Holds      map[string]Holding     // by virtual service uuid
	Sessions   map[netip.Addr]Session // by the address of the router
}

// Holding is what an engine has said of one virtual service.
type Holding struct {
	Due     bool      // it is in the Plan that the engine shall have
	Current bool      // and as it is in there, the engine has it
	Duty    Duty      // by the Plan that it acknowledged last
	Since   time.Time // of Duty
	Turning bool      // a Plan with another duty may be on its way
	Idle    bool      // no client has been connected for a while
	Led     bool      // it announces the routes that lead clients there, or needs none
}

// Decision is what follows.
type Decision struct {
	Assignments map[string]Assignment // by virtual service uuid
	Events      []Event
	Needs       []Need          // one for each group, in the order of the model
	Unplaced    []Unplaced      // what has fewer engines than it shall have
	Waiting     map[string]bool // uuids of engines that shall get no Plan yet: what they have may be all that there is
	Again       time.Time       // decide again then, though nothing happens; zero: no need
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
func Decide(in Input) Decision {
	d := newDecider(in)
	for _, all := range d.sets {
		s := d.service(all)
		s.step()
		for _, a := range s.assignments() {
			d.out.Assignments[a.VirtualService] = a
		}
	}
	d.out.Needs = d.needs()
	return d.out
}

// decider is a decision in the making.
type decider struct {
	in      Input
	out     Decision
	engines map[string]*model.Engine
	sets    [][]*model.VirtualService // that go together
	load    map[string]int            // seats of each engine that are there to stay; of those that go together one
	active  map[string]int            // those of them that do not only stand by
}

func newDecider(in Input) *decider {
	d := &decider{
		in: in, out: Decision{Assignments: map[string]Assignment{}, Waiting: map[string]bool{}},
		engines: map[string]*model.Engine{}, sets: together(in.Model.VirtualServices), load: map[string]int{}, active: map[string]int{},
	}
	for _, engine := range in.Model.Engines {
		d.engines[engine.UUID] = engine
	}
	for _, all := range d.sets {
		for _, seat := range merged(all, in.Before).Seats {
			d.weigh(seat, 1)
		}
	}
	return d
}

// weigh counts a seat in, or out.
func (d *decider) weigh(seat Seat, by int) {
	if seat.State != Draining {
		d.load[seat.Engine] += by
	}
	if seat.State != Draining && seat.State != Standby {
		d.active[seat.Engine] += by
	}
}

// again asks to be called at a time.
func (d *decider) again(at time.Time) {
	if at.After(d.in.Now) && (d.out.Again.IsZero() || at.Before(d.out.Again)) {
		d.out.Again = at
	}
}

func (d *decider) up(engine string) bool { return d.in.Engines[engine].Up }

// lost tells whether an engine has been away for so long that others take over.
func (d *decider) lost(engine string) bool {
	state, known := d.in.Engines[engine]
	if state.Up {
		return false
	}
	end := d.in.Began.Add(unheardFor)
	if known {
		end = state.Since.Add(patience(d.engines[engine]))
	}
	if grace := state.Gathering.Add(unheardFor); grace.After(end) {
		end = grace
	}
	d.again(end)
	return !end.After(d.in.Now)
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

// Changed are the assignments that are not as before, and the virtual services that have none any more.
func (d Decision) Changed(before map[string]Assignment) (changed []Assignment, gone []string) {
	for _, uuid := range slices.Sorted(maps.Keys(d.Assignments)) {
		if was, known := before[uuid]; !known || !was.Equal(d.Assignments[uuid]) {
			changed = append(changed, d.Assignments[uuid])
		}
	}
	for uuid := range before {
		if _, kept := d.Assignments[uuid]; !kept {
			gone = append(gone, uuid)
		}
	}
	slices.SortFunc(gone, strings.Compare)
	return changed, gone
}
