package plan

import (
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// Delta is what turns old into new; a nil old asks for everything. Both are sorted by uuid, and so is the answer.
func Delta(old, new *enginev1.Plan) *enginev1.PlanDelta {
	delta := &enginev1.PlanDelta{BaseRevision: old.GetRevision(), Revision: new.GetRevision()}
	before := make(map[string]*enginev1.Resource, len(old.GetResources()))
	for _, resource := range old.GetResources() {
		before[resource.GetUuid()] = resource
	}
	for _, resource := range new.GetResources() {
		if !proto.Equal(before[resource.GetUuid()], resource) {
			delta.Changed = append(delta.Changed, resource)
		}
		delete(before, resource.GetUuid())
	}
	for _, resource := range old.GetResources() {
		if _, gone := before[resource.GetUuid()]; gone {
			delta.Removed = append(delta.Removed, resource.GetUuid())
		}
	}
	return delta
}

// Same says that two Plans differ in nothing but their revision.
func Same(old, new *enginev1.Plan) bool {
	delta := Delta(old, new)
	return len(delta.GetChanged()) == 0 && len(delta.GetRemoved()) == 0
}
