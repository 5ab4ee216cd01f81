package reconcile

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/plan"
)

// planner makes the Plans of a placement.
type planner struct {
	compiler  *plan.Compiler
	placement place.Placement
	before    map[string]*enginev1.Plan // by engine uuid
	engines   map[string]place.Engine   // by uuid
}

func (r *Reconciler) planner(in Input, placement place.Placement) planner {
	r.compiler.Turn(in.Model, in.Rings)
	return planner{&r.compiler, placement, r.state.Plans, in.Engines}
}

// plan makes the Plan of an engine. One that says nothing new is the one before, with its revision, and the engine
// hears nothing; unless it refused that one: then any change is a reason to try again.
func (p planner) plan(engineUUID string) (*enginev1.Plan, []model.Finding) {
	before, refuses := p.before[engineUUID], p.engines[engineUUID].Refuses != ""
	next, found := p.compiler.Compile(p.placement, engineUUID, before)
	if before != nil && plan.Same(before, next) && !refuses {
		return before, found
	}
	return next, found
}

// wanted is what the objects and the assignments ask for.
func (r *Reconciler) wanted(in Input) State {
	p := r.planner(in, place.PlacementOf(in.Model, in.Before))
	findings := slices.Clone(in.Findings)
	plans := make(map[string]*enginev1.Plan, len(in.Model.Engines))
	for _, engine := range in.Model.Engines {
		next, found := p.plan(engine.UUID)
		plans[engine.UUID] = next
		findings = append(findings, found...)
	}
	return State{Model: in.Model, Placement: p.placement, Plans: plans, Findings: distinct(findings)}
}

// idlePlans are those of the engines that have no seat.
func (r *Reconciler) idlePlans(in Input) map[string]*enginev1.Plan {
	p := r.planner(in, place.Placement{})
	busy, idle := seated(in.Before), map[string]*enginev1.Plan{}
	for _, engine := range in.Model.Engines {
		if !busy[engine.UUID] {
			idle[engine.UUID], _ = p.plan(engine.UUID)
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

// ready are the Plans that may be sent.
func ready(plans map[string]*enginev1.Plan, waiting map[string]bool) map[string]*enginev1.Plan {
	if len(waiting) == 0 {
		return plans
	}
	some := maps.Clone(plans)
	maps.DeleteFunc(some, func(engine string, _ *enginev1.Plan) bool { return waiting[engine] })
	return some
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
