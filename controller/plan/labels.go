package plan

import (
	"cmp"
	"fmt"
	"slices"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
)

// labeled is a group with only those pools of another one that have a label.
type labeled struct {
	label string
	of    *enginev1.Resource
}

// labeledGroups returns the group for each label in a group, and one for the pools without a label: engines take that
// for what no label fits. Labels that choose the same pools have the same group, one behind the other. None, if no pool
// has a label.
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
	chosenBy := equivalents(from)
	together := map[string][]model.GroupMember{}
	for _, member := range from.Members {
		by := chosenBy(member.Label)
		together[by] = append(together[by], member)
	}
	slices.SortStableFunc(labels, func(a, b string) int { return cmp.Compare(chosenBy(a), chosenBy(b)) })
	var of *enginev1.Resource
	for i, label := range labels {
		if by := chosenBy(label); i == 0 || by != chosenBy(labels[i-1]) {
			some := *from
			some.UUID, some.Members = model.LabeledGroup(from.UUID, label), together[by]
			some.DeactivatePrimary = false // there is one priority
			// What there is to report, the whole group does.
			of = poolGroup(&some, &report{})
		}
		groups = append(groups, labeled{label, of})
	}
	return groups
}

// equivalents returns a function that gives the same text for the labels of a group that choose the same pools.
func equivalents(group *model.PoolGroup) func(label string) string {
	var priorities map[string]uint32
	if group.Labels != nil {
		priorities = group.Labels.Priorities()
	}
	return func(label string) string {
		if priority, known := priorities[label]; known {
			return fmt.Sprint("priority ", priority)
		}
		return "label " + label
	}
}
