package plan

import (
	"slices"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
)

// labeled is a group with only those pools of another one that have a label.
type labeled struct {
	label string
	of    *enginev1.Resource
}

// labeledGroups returns a group for each label in a group, and one for the pools without a label: engines take that for
// what no label fits. None, if no pool has a label.
func labeledGroups(from *model.PoolGroup) (groups []labeled) {
	labels := []string{""}
	for _, member := range from.Members {
		labels = append(labels, member.Label)
	}
	slices.Sort(labels)
	labels = slices.Compact(labels)
	if len(labels) == 1 {
		return nil
	}
	for _, label := range labels {
		some := *from
		some.Members = slices.DeleteFunc(slices.Clone(from.Members), func(member model.GroupMember) bool {
			return !areEquivalent(from, member.Label, label)
		})
		some.UUID = model.LabeledGroup(from.UUID, label)
		some.DeactivatePrimary = false // there is one priority
		// What there is to report, the whole group does.
		groups = append(groups, labeled{label, poolGroup(&some, &report{})})
	}
	return groups
}

// areEquivalent tells whether the pools with two labels of a group are chosen by either of them.
func areEquivalent(group *model.PoolGroup, a, b string) bool {
	if a == b || group.Labels == nil {
		return a == b
	}
	priorities := group.Labels.Priorities()
	of, isKnown := priorities[a]
	return isKnown && of == priorities[b]
}
