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
	r.compiler.Turn(in.Model, in.Rings, in.Before)
	state := State{Model: in.Model, Assignments: in.Before, Plans: make(map[string]*enginev1.Plan,
		len(in.Model.Engines))}
	all := found{in.Findings}
	for _, engine := range in.Model.Engines {
		next, found := r.compile(in, engine.UUID)
		state.Plans[engine.UUID] = next
		all = append(all, found)
	}
	if state.Findings = r.state.Findings; !all.isOne(r.found) {
		r.found, state.Findings = all, all.distinct()
	}
	return state
}

// ready returns the Plans that may be sent. Engines that wait, and disputed ones, get none.
func ready(plans map[string]*enginev1.Plan, waiting, disputed map[string]bool) map[string]*enginev1.Plan {
	some := make(map[string]*enginev1.Plan, len(plans))
	for engine, plan := range plans {
		if !waiting[engine] && !disputed[engine] {
			some[engine] = plan
		}
	}
	return some
}

// found has the findings of the model, then the findings of the Plan of each engine. Whenever the content of a list
// changes, the list is a new slice.
type found [][]model.Finding

func (f found) isOne(other found) bool {
	return slices.EqualFunc(f, other, sorted.IsOne[model.Finding])
}

// distinct sorts the findings and removes duplicates: engines that serve the same virtual services have the same
// findings.
func (f found) distinct() []model.Finding {
	set := map[model.Finding]bool{}
	for _, finding := range slices.Concat(f...) {
		set[finding] = true
	}
	return slices.SortedFunc(maps.Keys(set), func(a, b model.Finding) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.UUID, b.UUID),
			strings.Compare(a.Field, b.Field),
			strings.Compare(a.Message, b.Message))
	})
}
