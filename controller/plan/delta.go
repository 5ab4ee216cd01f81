package plan

import (
	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/api/parts"
	"github.com/weir-lb/weir/controller/sorted"
)

// Delta returns the changes that turn old into new; if old is nil, all of new. The resources of both Plans are sorted
// by uuid, and so is the result. Delta compares only resources with different pointers.
func Delta(old, new *enginev1.Plan) *enginev1.PlanDelta {
	delta := &enginev1.PlanDelta{BaseRevision: old.GetRevision(), Revision: new.GetRevision()}
	for was, is := range sorted.Differences(old.GetResources(), new.GetResources(), (*enginev1.Resource).GetUuid) {
		switch {
		case is == nil:
			delta.Removed = append(delta.Removed, was.GetUuid())
		case was == nil || !proto.Equal(was, is):
			delta.Changed = append(delta.Changed, is)
		}
	}
	return delta
}

// Same tells whether two Plans differ in nothing but their revisions.
func Same(old, new *enginev1.Plan) bool {
	delta := Delta(old, new)
	return len(delta.GetChanged()) == 0 && len(delta.GetRemoved()) == 0
}

// Drafted returns what turns the Plan that a data plane has into a draft of the next one, which has no revision of its
// own.
func Drafted(has, draft *enginev1.Plan) *dataplanev1.PlanChange {
	change := &dataplanev1.PlanChange{
		BaseRevision: has.GetRevision(), Changed: &dataplanev1.Plan{Revision: has.GetRevision()},
		Removed: &dataplanev1.Removed{},
	}
	for was, is := range sorted.Differences(has.GetResources(), draft.GetResources(), (*enginev1.Resource).GetUuid) {
		if was != nil && is != nil && proto.Equal(was, is) {
			continue
		}
		if was != nil && (is == nil || !parts.SameKind(was, is)) {
			parts.Remove(change.Removed, was)
		}
		if is != nil {
			parts.Add(change.Changed, is)
		}
	}
	return change
}
