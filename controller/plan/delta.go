package plan

import (
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/sorted"
)

// Delta is what turns old into new; a nil old asks for everything. Both are sorted by uuid, and so is the answer. It
// looks at those resources only that are not the same by their pointers.
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

// Same says that two Plans differ in nothing but their revision.
func Same(old, new *enginev1.Plan) bool {
	delta := Delta(old, new)
	return len(delta.GetChanged()) == 0 && len(delta.GetRemoved()) == 0
}
