// Package reconcile is the one step from objects and reports to what engines are sent. It calls place, tickets and plan
// one after the other. Its input is the objects as a model, the decisions so far, and what engines reported. Its output
// is what to write, what to send, and when to step again. The loop of package controller carries out the output, and so
// does the simulation (sim_test.go): nothing here does I/O, reads a clock or writes a log.
//
// plans.go makes the Plans, rebalance.go examines loads, engines.go makes the events about engines.
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

// Input is all that a step depends on. Model, Findings, Before and Rings belong to the same revision, that of the
// model.
type Input struct {
	place.Input
	Findings []model.Finding // of the model
	Rings    tickets.Rings
	Usage    func() map[string]place.Usage // of engines, by uuid; called when loads are examined
	Secret   func() []byte                 // random, and different each time; called when a ring is made or turned

	LimitSecret []byte // of the hashes of keys of limits; always the same
}

// Output is the result of a step. The store has each decision before any Plan follows from it: the Plans follow from
// what the store had when the step began. What the step decides is in Write. The next step starts from the revision
// that this write makes, and plans it.
type Output struct {
	Engines     []EngineEvent // add these events at once
	Observation Observation

	State *State                    // show it before Plans are sent; nil: it is as before
	Plans map[string]*enginev1.Plan // the Plans that may be sent, by engine uuid; send them before Write is written
	Write *Write                    // nil: the store has all decisions

	Again time.Time // step again at this time, even if nothing happens; zero: no need
}

// Write is what a step decided and the store does not have yet.
type Write struct {
	Changed []place.Assignment // leave out a virtual service that has got an order since
	Gone    []string           // uuids of virtual services that no longer have an assignment
	Events  []place.Event      // add each one after the assignment of its virtual service is written
	Rings   tickets.Decision
}

// State is what the controller wants at one revision.
type State struct {
	Model       *model.Model
	Assignments place.Assignments
	Plans       map[string]*enginev1.Plan  // by engine uuid
	NoRoom      map[string]map[string]bool // by engine uuid: the virtual services for which its Plan has no room
	Findings    []model.Finding            // of the model and of the Plans
	Unplaced    []place.Unplaced
}

// Observation is what clouds act on.
type Observation struct {
	Model  *model.Model
	Needs  []place.Need
	Up     map[string]bool // by engine uuid; Seated likewise
	Seated map[string]bool
}

// Reconciler keeps the results of a step for the next one, so that a step costs only what is new in its input. The
// decisions are the same as if it kept only the events and Plans that it returned. The zero value is that of a
// controller that has just started.
type Reconciler struct {
	seen   *model.Model    // the model of the last step
	state  State           // of the last revision that was planned
	looked map[string]look // the last look at each group, by group uuid

	found    map[string][]model.Finding // by engine uuid; those of the model under ofModel
	findings model.Findings             // all of found
	placer   place.Placer
	rings    tickets.Keeper
	compiler plan.Compiler
}

// Step makes one step.
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
	noRoom := r.state.NoRoom
	out.State = r.plan(in, decision.Unplaced)
	out.Plans = ready(r.state.Plans, decision.Waiting, write.disputed(in), filled(noRoom, r.state.NoRoom))
	if !write.isNothing() {
		out.Write = &write
	}
	return out
}

func (w Write) isNothing() bool {
	return len(w.Changed)+len(w.Gone)+len(w.Rings.Changed)+len(w.Rings.Gone) == 0
}

// disputed returns the engines that have another duty by this write than by the store. Their Plans would say the
// opposite of what is decided: an engine that is to serve again would drain. They get their Plans after the write. All
// other engines get theirs now: there may be something to write in every step, for example while many virtual services
// are created. A virtual service that is new on an engine does not count, unless the engine may have it already.
func (w Write) disputed(in Input) map[string]bool {
	engines := map[string]bool{}
	for _, changed := range w.Changed {
		before, after := duties(in.Before.Of(changed.VirtualService)), duties(changed)
		for engine, duty := range before {
			engines[engine] = engines[engine] || after[engine] != duty
		}
		for engine := range after {
			_, seated := before[engine]
			engines[engine] = engines[engine] || !seated && in.mayHave(engine, changed.VirtualService)
		}
	}
	return engines
}

// mayHave tells whether an engine without a seat may have a virtual service: it has reported that, or it has not yet
// reported what it has, and the virtual service is not new.
func (in Input) mayHave(engine, virtualService string) bool {
	facts, isNew := in.Engines[engine], in.Before.Of(virtualService).VirtualService == ""
	return facts.Holds.Of(virtualService).Duty != place.NoDuty || !facts.Told && !isNew
}

// duties returns what each engine has to do for a virtual service, by engine uuid. An engine with nothing to do is not
// in it.
func duties(assignment place.Assignment) map[string]place.Duty {
	duties := map[string]place.Duty{}
	for _, seat := range assignment.Seats {
		if duty := seat.Duty(); duty != place.NoDuty {
			duties[seat.Engine] = duty
		}
	}
	return duties
}

// plan makes the Plans of a revision, once. It returns nil if the state is as before.
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

// earlier returns the earlier of two times; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
