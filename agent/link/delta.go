package link

import (
	"cmp"
	"slices"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// patch applies delta to base, and returns the new Plan, sorted by uuid like base. It does not change base; resources
// that delta does not name are shared. It returns false if delta is for another base.
func patch(base *enginev1.Plan, delta *enginev1.PlanDelta) (*enginev1.Plan, bool) {
	var rest []*enginev1.Resource
	if delta.GetBaseRevision() != 0 {
		if delta.GetBaseRevision() != base.GetRevision() {
			return nil, false
		}
		rest = base.GetResources()
	}
	edits := editsOf(delta)
	next := &enginev1.Plan{Revision: delta.GetRevision()}
	next.Resources = make([]*enginev1.Resource, 0, len(rest)+len(edits))
	for _, edit := range edits {
		at, found := slices.BinarySearchFunc(rest, edit.uuid, func(resource *enginev1.Resource, uuid string) int {
			return cmp.Compare(resource.GetUuid(), uuid)
		})
		next.Resources = append(next.Resources, rest[:at]...)
		rest = rest[at:]
		if found {
			rest = rest[1:]
		}
		if edit.resource != nil {
			next.Resources = append(next.Resources, edit.resource)
		}
	}
	next.Resources = append(next.Resources, rest...)
	return next, true
}

// edit is what becomes of one resource; nil: it goes.
type edit struct {
	uuid     string
	resource *enginev1.Resource
}

// editsOf are the edits of a delta by uuid, one for each. A resource that is both removed and changed counts as
// changed. Of two changes the last one counts.
func editsOf(delta *enginev1.PlanDelta) []edit {
	var edits []edit
	for _, resource := range slices.Backward(delta.GetChanged()) {
		edits = append(edits, edit{resource.GetUuid(), resource})
	}
	for _, uuid := range delta.GetRemoved() {
		edits = append(edits, edit{uuid, nil})
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.uuid, b.uuid) })
	return slices.CompactFunc(edits, func(a, b edit) bool { return a.uuid == b.uuid })
}
