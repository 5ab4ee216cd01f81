package link

import (
	"cmp"
	"maps"
	"slices"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// patch returns the Plan that delta makes of base, sorted by uuid; base is left as it is. It is false when delta is
// meant for another Plan than base.
func patch(base *enginev1.Plan, delta *enginev1.PlanDelta) (*enginev1.Plan, bool) {
	resources := map[string]*enginev1.Resource{}
	if delta.GetBaseRevision() != 0 {
		if delta.GetBaseRevision() != base.GetRevision() {
			return nil, false
		}
		for _, resource := range base.GetResources() {
			resources[resource.GetUuid()] = resource
		}
	}
	for _, uuid := range delta.GetRemoved() {
		delete(resources, uuid)
	}
	for _, resource := range delta.GetChanged() {
		resources[resource.GetUuid()] = resource
	}
	sorted := slices.SortedFunc(maps.Values(resources), func(a, b *enginev1.Resource) int {
		return cmp.Compare(a.GetUuid(), b.GetUuid())
	})
	return &enginev1.Plan{Revision: delta.GetRevision(), Resources: sorted}, true
}
