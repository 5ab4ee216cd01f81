package controller

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/link"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/plan"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// reconcile follows the objects and gives each engine the Plan that they now make, until ctx or the store ends.
func reconcile(ctx context.Context, objects *store.Store, fleet *fleet.Fleet, link *link.Server) error {
	var plans map[string]*enginev1.Plan
	for view := range objects.Changes(ctx) {
		state := wanted(view, plans, fleet.Refuses)
		plans = state.Plans
		fleet.Observe(state)
		link.Publish(plans)
	}
	return nil
}

// wanted is what the objects of one view ask for. An engine whose Plan says nothing new keeps the one that it has, with
// its revision, and hears nothing; unless it refused that one: then any change is a reason to try again.
func wanted(view *store.View, before map[string]*enginev1.Plan, refuses func(engineUUID string) bool) fleet.State {
	built, findings := model.Build(view.Revision(), objectsOf(view))
	placement := place.Place(built)
	compiler := plan.NewCompiler(built)
	plans := make(map[string]*enginev1.Plan, len(built.Engines))
	for _, engine := range built.Engines {
		known := before[engine.UUID]
		compiled, found := compiler.Compile(placement, engine.UUID, known)
		if known != nil && plan.Same(known, compiled) && !refuses(engine.UUID) {
			compiled = known
		}
		plans[engine.UUID] = compiled
		findings = append(findings, found...)
	}
	return fleet.State{Model: built, Placement: placement, Plans: plans, Findings: distinct(findings)}
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
