package explain

import (
	"cmp"
	"fmt"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
)

var pickedMembers = map[dataplanev1.PickedMember]string{
	dataplanev1.PickedMember_PICKED_MEMBER_BY_RATIO:       "ratio",
	dataplanev1.PickedMember_PICKED_MEMBER_BY_ADDRESS:     "client_address",
	dataplanev1.PickedMember_PICKED_MEMBER_BY_PERSISTENCE: "persistence",
	dataplanev1.PickedMember_PICKED_MEMBER_AS_BACKUP:      "backup",
}

// group shows the group of pools that a request goes to.
func (t *teller) group(page schema.Object, said *dataplanev1.Explanation) {
	if why := pickedMembers[said.GetPickedMember()]; why != "" {
		page["pool_picked_by"] = why
	}
	if said.GetPoolGroupUuid() == "" {
		return
	}
	members := []any{}
	for _, member := range said.GetMembers() {
		members = append(members, schema.Object{
			"uuid": member.GetPoolUuid(), "name": t.poolName(member.GetPoolUuid()),
			"ratio": int64(member.GetRatio()), "priority": int64(member.GetPriority()),
			"servers_up": int64(member.GetServersUp()), "deactivated": member.GetDeactivated(),
		})
	}
	page["pool_group"] = schema.Object{
		"uuid": model.WholeGroup(said.GetPoolGroupUuid()), "name": t.groupName(said.GetPoolGroupUuid()),
		"members": members,
	}
}

// groupTold says which pool of a group gets the request and why; empty: there is no group.
func (t *teller) groupTold() string {
	said := t.engine.said
	name := func(uuid string) string { return nameOr(t.poolName(uuid), uuid) }
	if said.GetPickedMember() == dataplanev1.PickedMember_PICKED_MEMBER_AS_BACKUP {
		text := fmt.Sprintf("The backup pool %s takes over, because no server takes the request",
			name(said.GetPoolUuid()))
		if uuid := said.GetPoolGroupUuid(); uuid != "" {
			text += " in the pool group " + nameOr(t.groupName(uuid), uuid)
		}
		return text + "."
	}
	if said.GetPoolGroupUuid() == "" {
		return ""
	}
	var others []string
	for _, member := range said.GetMembers() {
		up := fmt.Sprintf("%d servers", member.GetServersUp())
		if member.GetServersUp() == 1 {
			up = "1 server"
		}
		if member.GetDeactivated() {
			others = append(others, name(member.GetPoolUuid())+" was down, and waits for its activation")
			continue
		}
		others = append(others, fmt.Sprintf("%s has priority %d, ratio %d and %s up", name(member.GetPoolUuid()),
			member.GetPriority(), member.GetRatio(), up))
	}
	text := "In the pool group " + nameOr(t.groupName(said.GetPoolGroupUuid()), said.GetPoolGroupUuid())
	if said.GetPoolUuid() == "" {
		return text + " there is no pool."
	}
	why := cmp.Or(map[dataplanev1.PickedMember]string{
		dataplanev1.PickedMember_PICKED_MEMBER_BY_RATIO:       "it is the turn of %s",
		dataplanev1.PickedMember_PICKED_MEMBER_BY_ADDRESS:     "the client's address decides for %s",
		dataplanev1.PickedMember_PICKED_MEMBER_BY_PERSISTENCE: "the cookie names a server of %s",
	}[said.GetPickedMember()], "no pool has a server, not even %s")
	return text + " " + fmt.Sprintf(why, name(said.GetPoolUuid())) + ": " + listed(others) + "."
}

// groupName is empty if the group has just been deleted.
func (t *teller) groupName(uuid string) string {
	said := t.engine.said
	vs := t.objects.VirtualService(cmp.Or(said.GetChildUuid(), said.GetVirtualServiceUuid()))
	if vs == nil {
		return ""
	}
	for _, group := range vs.Groups() {
		if group.UUID == model.WholeGroup(uuid) {
			return group.Name
		}
	}
	return ""
}
