package reconcile

import (
	"slices"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/plan"
	"github.com/weir-lb/weir/controller/sorted"
)

// compile makes the Plan of an engine. If its content is the same as in the last Plan, compile returns the last Plan,
// with its old revision, and the engine is sent nothing. If the engine refused the last Plan, compile returns a new
// one: after any change of the objects, the engine should try again.
func (r *Reconciler) compile(in Input, engineUUID string) (*enginev1.Plan, []model.Finding) {
	before, refuses := r.state.Plans[engineUUID], in.Engines[engineUUID].Plan == place.Refused
	next, found := r.compiler.Compile(engineUUID, before)
	if before != nil && plan.Same(before, next) && !refuses {
		return before, found
	}
	return next, found
}

// wanted returns the state that the objects and the assignments ask for.
func (r *Reconciler) wanted(in Input) State {
	r.compiler.LimitSecret = in.LimitSecret
	r.compiler.Turn(in.Model, in.Rings, in.Before)
	state := State{Model: in.Model, Assignments: in.Before, Plans: make(map[string]*enginev1.Plan,
		len(in.Model.Engines)), NoRoom: map[string]map[string]bool{}}
	found := map[string][]model.Finding{ofModel: in.Findings}
	for _, engine := range in.Model.Engines {
		state.Plans[engine.UUID], found[engine.UUID] = r.compile(in, engine.UUID)
		if without := r.compiler.NoRoom(engine.UUID); len(without) > 0 {
			state.NoRoom[engine.UUID] = without
		}
	}
	r.collect(found)
	state.Findings = r.findings.List()
	return state
}

// ofModel stands for the uuid of an engine where findings are those of the model.
const ofModel = ""

// collect replaces the findings of the last revision. Whenever the content of a list changes, the list is a new slice.
func (r *Reconciler) collect(found map[string][]model.Finding) {
	for source, has := range found {
		if had := r.found[source]; !sorted.IsOne(had, has) {
			r.findings.Replace(had, has)
		}
	}
	for source, had := range r.found {
		if _, stays := found[source]; !stays {
			r.findings.Replace(had, nil)
		}
	}
	r.found = found
}

// filled returns the engines whose Plans have no room for something for which they had. The next step decides whether
// other engines serve that. Until then such a Plan is not sent: with it, an engine would announce an address, and
// refuse the clients of one of the virtual services there.
func filled(before, after map[string]map[string]bool) map[string]bool {
	engines := map[string]bool{}
	for engine, services := range after {
		for service := range services {
			engines[engine] = engines[engine] || !before[engine][service]
		}
	}
	return engines
}

// ready returns the Plans that may be sent, which are those of engines in none of the sets.
func ready(plans map[string]*enginev1.Plan, without ...map[string]bool) map[string]*enginev1.Plan {
	some := make(map[string]*enginev1.Plan, len(plans))
	for engine, plan := range plans {
		if !slices.ContainsFunc(without, func(set map[string]bool) bool { return set[engine] }) {
			some[engine] = plan
		}
	}
	return some
}
