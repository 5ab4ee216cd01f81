// Package reconcile is the one step from what is written and known to what engines get: it has place, tickets and plan
// decide one after the other. Its input is the objects as a model, what was decided before, and what engines have told;
// its output is what to write, what to send, and when to step again. The loop of package controller carries that out,
// and so does the simulation (sim_test.go): nothing here does I/O, reads a clock or writes a log.
//
// plans.go makes the Plans, rebalance.go looks at loads, engines.go what is told of engines.
package reconcile

import (
	"slices"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/plan"
	"github.com/weir-lb/weir/controller/tickets"
)

// Input is all that a step goes by. Model, Findings, Before and Rings are those of one revision, which is the model's.
type Input struct {
	place.Input
	Findings []model.Finding // of the model
	Rings    tickets.Rings
	Usage    func() map[string]place.Usage // of engines, by uuid; asked for when loads are looked at
	Secret   func() []byte                 // random, never the same; asked for when a ring is made or turned
}

// Output is what follows. A decision is in the store before any Plan says it: either there is something to write, and
// the revision that comes of it is the next step's, or Plans may be sent.
type Output struct {
	Engines     []EngineEvent // tell them at once
	Observation Observation

	Write *Write                    // nil: all that is decided is written
	Idle  map[string]*enginev1.Plan // with Write: the Plans of engines without a seat, to be sent first; by engine uuid

	State *State                    // without Write: what to show, before Plans are sent; nil: it is as before
	Plans map[string]*enginev1.Plan // without Write: those that may be sent, by engine uuid

	Again time.Time // step again then, though nothing happens; zero: no need
}

// Write is what is decided and not yet in the store.
type Write struct {
	Changed []place.Assignment // unless an operator has ordered something of the virtual service since
	Gone    []string           // virtual services that have no assignment any more
	Events  []place.Event      // tell each once the assignment of its virtual service is written
	Rings   tickets.Decision
}

// State is what the controller wants at one revision.
type State struct {
	Model       *model.Model
	Assignments place.Assignments
	Plans       map[string]*enginev1.Plan // by engine uuid
	Findings    []model.Finding           // of the model and of the Plans
	Unplaced    []place.Unplaced
}

// Observation is what clouds act upon.
type Observation struct {
	Model  *model.Model
	Needs  []place.Need
	Up     map[string]bool // engines by uuid
	Seated map[string]bool
}

// Reconciler is what a step remembers for the next one, so that a step costs what is new in its input. What it decides
// is the same as if it remembered only what it has told and sent. The zero value is that of a controller that begins.
type Reconciler struct {
	seen   *model.Model    // by the last step
	state  State           // of the last revision that was planned, and the Plans of idle engines since
	looked map[string]look // at loads, by group uuid
	found  found           // in state.Findings

	placer   place.Placer
	rings    tickets.Keeper
	compiler plan.Compiler
}

// Step decides once.
func (r *Reconciler) Step(in Input) Output {
	decision := r.placer.Decide(in.Input)
	turned := r.rings.Decide(in.Model, in.Rings, in.Now, in.Secret)
	out := Output{
		Engines: engineEvents(r.seen, in.Model), Observation: observation(in, decision),
		Again: earlier(decision.Again, turned.Again),
	}
	r.seen = in.Model
	write := Write{Changed: decision.Changed, Gone: decision.Gone, Events: decision.Events, Rings: turned}
	if len(write.Changed)+len(write.Gone) == 0 {
		var next time.Time
		write.Changed, write.Events, next = r.rebalance(in)
		out.Again = earlier(out.Again, next)
	}
	if write.isNothing() {
		out.State = r.plan(in, decision.Unplaced)
		out.Plans = ready(r.state.Plans, decision.Waiting)
	} else {
		out.Idle, out.Write = r.welcome(in, decision.SeatedBefore), &write
	}
	return out
}

func (w Write) isNothing() bool {
	return len(w.Changed)+len(w.Gone)+len(w.Rings.Changed)+len(w.Rings.Gone) == 0
}

// welcome gives engines that serve nothing yet their Plan before more is decided for them: it says which routers to
// speak to, and sessions take longer to begin than anything else. When many engines come at once, each is a decision to
// write.
func (r *Reconciler) welcome(in Input, seated map[string]bool) map[string]*enginev1.Plan {
	idle := r.idlePlans(in, seated)
	r.state.Plans = with(r.state.Plans, idle)
	return idle
}

// plan makes the Plans of a revision, once. Nil: what is shown is as before.
func (r *Reconciler) plan(in Input, unplaced []place.Unplaced) *State {
	planned := r.state.Model != nil && r.state.Model.Revision == in.Model.Revision
	if planned && slices.Equal(r.state.Unplaced, unplaced) {
		return nil
	}
	if !planned {
		r.state = r.wanted(in)
	}
	r.state.Unplaced = unplaced
	state := r.state
	return &state
}

func observation(in Input, decision place.Decision) Observation {
	seen := Observation{Model: in.Model, Needs: decision.Needs, Up: map[string]bool{}, Seated: decision.Seated}
	for uuid, engine := range in.Engines {
		seen.Up[uuid] = engine.Up
	}
	return seen
}

// earlier of two times; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
