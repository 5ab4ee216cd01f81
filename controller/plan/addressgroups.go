package plan

import (
	"maps"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
)

// compiledGroup is an address group as a resource. A group with countries has many megabytes, so there is one copy of
// it: in policies, scripts and rules, and in the Plans of all engines.
type compiledGroup struct {
	from *model.AddressGroup
	part part
}

// addressGroup returns the resource of a group. As long as the content of the group stays, it is the same pointer.
func (c *Compiler) addressGroup(from *model.AddressGroup) part {
	known := c.addressGroups[from.UUID]
	if known != nil && known.from == from {
		return known.part
	}
	to := addressGroupOf(from)
	made := &enginev1.Resource{Uuid: from.UUID, Body: &enginev1.Resource_AddressGroup{AddressGroup: to}}
	next := &compiledGroup{from, partOf(made)}
	if known != nil && proto.Equal(known.part.Resource, made) {
		next.part = known.part
	}
	c.addressGroups[from.UUID] = next
	return next.part
}

func addressGroupOf(from *model.AddressGroup) *dataplanev1.AddressGroup {
	to := &dataplanev1.AddressGroup{Uuid: from.UUID, Name: from.Name}
	to.Subnets, to.Ranges = addressesOf(from)
	return to
}

// addressGroupsOf returns the resources of groups, by uuid.
func (c *Compiler) addressGroupsOf(groups map[string]*model.AddressGroup) (parts []part) {
	for _, from := range groups {
		if !from.IsPartial { // nothing that engines get names it
			parts = append(parts, c.addressGroup(from))
		}
	}
	return sortedByUUID(parts)
}

// forgetUnusedGroups forgets the groups that no virtual service of a model uses.
func (c *Compiler) forgetUnusedGroups(m *model.Model) {
	used := map[string]bool{}
	for _, vs := range m.VirtualServices {
		for group := range vs.AddressGroups() {
			used[group.UUID] = true
		}
	}
	maps.DeleteFunc(c.addressGroups, func(uuid string, _ *compiledGroup) bool { return !used[uuid] })
}
