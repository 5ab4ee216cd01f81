package controller

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/cloud"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/link"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/plan"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/controller/tickets"
)

// retryAfter is when a decision that could not be written is tried again.
const retryAfter = time.Second

// reconciler follows the objects and the engines, decides who serves what, and gives each engine the Plan that follows.
// A decision is in the store before any Plan says it.
type reconciler struct {
	objects *store.Store
	fleet   *fleet.Fleet
	link    *link.Server
	keeper  *cloud.Keeper
	loads   *rebalancer
	events  *events.Log
	log     *slog.Logger

	view     *store.View // that the next four come from
	model    *model.Model
	findings []model.Finding
	before   map[string]place.Assignment
	rings    map[string]tickets.Ring

	planned *store.View // that the Plans come from
	state   fleet.State
}

// run goes on until ctx or the store ends.
func (r *reconciler) run(ctx context.Context) error {
	views := r.objects.Changes(ctx)
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for {
		select {
		case _, open := <-views:
			if !open {
				return nil
			}
		case <-r.fleet.Moved():
		case <-alarm.C:
		}
		again, err := r.step(ctx)
		if err != nil {
			return err
		}
		if !again.IsZero() {
			alarm.Reset(time.Until(again))
		}
	}
}

// step decides once. When that changes something it only writes it: the view that comes of it is the next step's.
func (r *reconciler) step(ctx context.Context) (again time.Time, err error) {
	if err := r.read(r.objects.View()); err != nil {
		return again, err
	}
	known := r.fleet.Greetings()
	in := r.input()
	decision := place.Decide(in)
	r.keeper.Observe(observation(in, decision))
	turned := tickets.Decide(r.model, r.rings, in.Now, newSecret)
	again = earlier(decision.Again, turned.Again)
	changed, gone := decision.Changed(r.before)
	if len(changed)+len(gone) == 0 {
		var next time.Time
		changed, decision.Events, next = r.loads.step(in)
		again = earlier(again, next)
	}
	if len(changed)+len(gone)+len(turned.Changed)+len(turned.Gone) > 0 {
		r.welcome(known)
		written, err := settle(ctx, r.objects, r.view, changed, gone)
		r.tell(slices.DeleteFunc(decision.Events, func(event place.Event) bool { return !written[event.VirtualService.UUID] }))
		if err = errors.Join(err, keepRings(ctx, r.objects, turned)); err == nil {
			return again, nil
		}
		r.log.Error("what was decided about virtual services is not written; it is tried again", "reason", err)
		return time.Now().Add(retryAfter), nil
	}
	r.publish(decision, known)
	return again, nil
}

// welcome gives engines that serve nothing yet their Plan before more is decided for them: it says which routers to speak
// to, and sessions take longer to begin than anything else. When many engines come at once, each is a decision to write.
func (r *reconciler) welcome(known uint64) {
	idle := idlePlans(r.model, r.before, r.rings, r.state.Plans, r.fleet.Refuses)
	if len(idle) == 0 {
		return
	}
	r.state.Plans = with(r.state.Plans, idle)
	r.fleet.Expect(idle)
	r.link.Publish(idle, known)
}

// idlePlans are those of the engines that have no seat.
func idlePlans(built *model.Model, assignments map[string]place.Assignment, rings map[string]tickets.Ring, before map[string]*enginev1.Plan, refuses func(engineUUID string) bool) map[string]*enginev1.Plan {
	seated, idle := map[string]bool{}, map[string]*enginev1.Plan{}
	for _, assignment := range assignments {
		for _, seat := range assignment.Seats {
			seated[seat.Engine] = true
		}
	}
	compiler := plan.NewCompiler(built, rings)
	for _, engine := range built.Engines {
		if !seated[engine.UUID] {
			idle[engine.UUID], _ = replan(compiler, place.Placement{}, engine.UUID, before[engine.UUID], refuses)
		}
	}
	return idle
}

// with are Plans of which some are replaced.
func with(plans, some map[string]*enginev1.Plan) map[string]*enginev1.Plan {
	all := make(map[string]*enginev1.Plan, len(plans))
	maps.Copy(all, plans)
	maps.Copy(all, some)
	return all
}

func (r *reconciler) input() place.Input {
	return place.Input{Model: r.model, Engines: r.fleet.Facts(), Before: r.before, Began: r.fleet.Began(), Now: time.Now().UTC()}
}

// observation is what clouds act upon.
func observation(in place.Input, decision place.Decision) cloud.Observation {
	seen := cloud.Observation{Model: in.Model, Needs: decision.Needs, Up: map[string]bool{}, Seated: map[string]bool{}}
	for uuid, engine := range in.Engines {
		seen.Up[uuid] = engine.Up
	}
	for _, assignment := range decision.Assignments {
		for _, seat := range assignment.Seats {
			seen.Seated[seat.Engine] = true
		}
	}
	return seen
}

func (r *reconciler) read(view *store.View) (err error) {
	if view == r.view {
		return nil
	}
	former := r.model
	r.view = view
	r.model, r.findings = model.Build(view.Revision(), objectsOf(view))
	if r.before, err = decided[place.Assignment](view, assignmentKind); err == nil {
		r.rings, err = decided[tickets.Ring](view, ringKind)
	}
	if former != nil {
		r.tellEngineStates(former)
	}
	return err
}

// publish gives engines the Plans of the view, those of greetings that are known and that need not wait.
func (r *reconciler) publish(decision place.Decision, known uint64) {
	defer func() { r.link.Publish(ready(r.state.Plans, decision.Waiting), known) }()
	if r.planned == r.view && slices.Equal(r.state.Unplaced, decision.Unplaced) {
		return
	}
	if r.planned != r.view {
		r.state = wanted(r.model, r.findings, place.PlacementOf(r.model, r.before), r.rings, r.state.Plans, r.fleet.Refuses)
		r.planned = r.view
	}
	r.state.Unplaced = decision.Unplaced
	r.fleet.Observe(r.state)
}

// ready are the Plans that may be sent.
func ready(plans map[string]*enginev1.Plan, waiting map[string]bool) map[string]*enginev1.Plan {
	if len(waiting) == 0 {
		return plans
	}
	some := maps.Clone(plans)
	maps.DeleteFunc(some, func(engine string, _ *enginev1.Plan) bool { return waiting[engine] })
	return some
}

// wanted is what a model and a placement ask for.
func wanted(built *model.Model, findings []model.Finding, placement place.Placement, rings map[string]tickets.Ring, before map[string]*enginev1.Plan, refuses func(engineUUID string) bool) fleet.State {
	compiler := plan.NewCompiler(built, rings)
	findings = slices.Clone(findings)
	plans := make(map[string]*enginev1.Plan, len(built.Engines))
	for _, engine := range built.Engines {
		next, found := replan(compiler, placement, engine.UUID, before[engine.UUID], refuses)
		plans[engine.UUID] = next
		findings = append(findings, found...)
	}
	return fleet.State{Model: built, Placement: placement, Plans: plans, Findings: distinct(findings)}
}

// replan makes the Plan of an engine. One that says nothing new is the one before, with its revision, and the engine hears
// nothing; unless it refused that one: then any change is a reason to try again.
func replan(compiler *plan.Compiler, placement place.Placement, engineUUID string, before *enginev1.Plan, refuses func(engineUUID string) bool) (*enginev1.Plan, []model.Finding) {
	next, found := compiler.Compile(placement, engineUUID, before)
	if before != nil && plan.Same(before, next) && !refuses(engineUUID) {
		return before, found
	}
	return next, found
}

func (r *reconciler) tell(happened []place.Event) {
	for _, event := range happened {
		r.events.Add(entryOf(event))
	}
}

func entryOf(event place.Event) events.Entry {
	vs := event.VirtualService
	return events.Entry{
		ID: event.ID, Kind: "VIRTUALSERVICE", UUID: vs.UUID, Name: vs.Name, Message: event.Message,
		Tenant: vs.Tenant(), Related: []string{event.Engine},
	}
}

// tellEngineStates tells which engines an operator enabled or disabled, came, or were deleted.
func (r *reconciler) tellEngineStates(former *model.Model) {
	was := map[string]*model.Engine{}
	for _, engine := range former.Engines {
		was[engine.UUID] = engine
	}
	for _, engine := range r.model.Engines {
		if before := was[engine.UUID]; before == nil {
			r.tellEngine("CREATED_SE", engine, "has joined")
		} else if before.EnableState != engine.EnableState {
			r.tellEngine("SE_ENABLE_STATE_CHANGED", engine, "is "+engine.EnableState+" after "+before.EnableState)
		}
		delete(was, engine.UUID)
	}
	for _, uuid := range slices.Sorted(maps.Keys(was)) {
		r.tellEngine("DELETED_SE", was[uuid], "is deleted")
	}
}

func (r *reconciler) tellEngine(id string, engine *model.Engine, message string) {
	r.events.Add(events.Entry{ID: id, Kind: "SERVICEENGINE", UUID: engine.UUID, Name: engine.Name, Tenant: "admin", Message: message})
}

func objectsOf(view *store.View) map[string][]schema.Object {
	objects := map[string][]schema.Object{}
	for _, kind := range view.Kinds() {
		for _, record := range view.List(kind) {
			objects[kind] = append(objects[kind], record.Object)
		}
	}
	return objects
}

// distinct: engines that serve the same virtual services have the same findings.
func distinct(findings []model.Finding) []model.Finding {
	set := map[model.Finding]bool{}
	for _, finding := range findings {
		set[finding] = true
	}
	return slices.SortedFunc(maps.Keys(set), func(a, b model.Finding) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.UUID, b.UUID), strings.Compare(a.Field, b.Field),
			strings.Compare(a.Message, b.Message))
	})
}
