package plan

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
)

// poolGroup converts a group of pools. Its pools are resources of their own.
func poolGroup(from *model.PoolGroup, report *report) *enginev1.Resource {
	subject := about("poolgroup", from.Identity, from.Named)
	if len(from.Members) < len(from.PoolGroup.Members) {
		report.blocked = true // model has a finding about that
	}
	group := &dataplanev1.PoolGroup{
		Uuid: from.UUID, Name: from.Name, MinServers: from.MinServers, FailAnswer: groupAnswer(from),
	}
	for _, member := range from.Members {
		group.Members = append(group.Members, &dataplanev1.GroupMember{
			PoolUuid: member.Pool.UUID, Ratio: member.Share, Priority: member.Priority,
		})
		if member.Share > 0 && keptByAddress(member.Pool) {
			group.ByClientAddress = true
			// Whoever has one server must have one pool.
			if bits := addressBits(member.Pool); bits != nil &&
				(group.AddressBits == nil || *bits < group.GetAddressBits()) {
				group.AddressBits = bits
			}
		}
	}
	if from.DeactivatePrimary {
		group.Activation = proto.Uint32(from.Activation)
		noteNeverDeactivated(subject, from, report)
	}
	for _, member := range from.Members {
		first := from.Members[0].Pool
		if why := unlike(first, member.Pool); why != "" {
			report.warn(subject, "members",
				"a request for pool %s cannot go to pool %s when no server of %s takes it: %s",
				first.Name, member.Pool.Name, first.Name, why)
		}
		if group.GetByClientAddress() && !keptByAddress(member.Pool) && member.Share > 0 {
			report.warn(subject, "members",
				"pool %s has no persistence by client address, and others have: the address "+
					"decides which pool a client gets", member.Pool.Name)
		}
	}
	return &enginev1.Resource{Uuid: from.UUID, Body: &enginev1.Resource_PoolGroup{PoolGroup: group}}
}

// noteNeverDeactivated warns of a group whose pools of the highest priority never go down, or have no others beside
// them.
func noteNeverDeactivated(subject subject, group *model.PoolGroup, report *report) {
	const field = "deactivate_primary_pool_on_down"
	shares := slices.DeleteFunc(slices.Clone(group.Members), func(member model.GroupMember) bool {
		return member.Share == 0
	})
	if len(shares) == 0 {
		return
	}
	priority := func(a, b model.GroupMember) int { return cmp.Compare(a.Priority, b.Priority) }
	highest, lowest := slices.MaxFunc(shares, priority), slices.MinFunc(shares, priority)
	if highest.Priority == lowest.Priority {
		report.warn(subject, field, "all of its pools that get requests have one priority: has no effect")
		return
	}
	for _, member := range shares {
		if member.Priority == highest.Priority && len(member.Pool.HealthMonitors) == 0 {
			report.warn(subject, field, "pool %s has the highest priority and no health monitor, so it goes down only "+
				"when it is disabled", member.Pool.Name)
		}
	}
}

// groupAnswer is what a group says about requests that no server takes; nil: its pools say it.
func groupAnswer(from *model.PoolGroup) *dataplanev1.FailAnswer {
	answer := failAnswer(from.FailAction)
	if answer == nil && from.FailAction != nil {
		answer = &dataplanev1.FailAnswer{Answer: &dataplanev1.FailAnswer_Response{Response: localResponse(503, nil)}}
	}
	return answer
}

// addPools adds the groups and pools that requests of a virtual service may go to.
func (d *draft) addPools() {
	refuseBackups(d.vs, &d.report)
	for _, group := range d.vs.Groups() {
		d.parts = append(d.parts, partOf(poolGroup(group, &d.report)))
	}
	for _, each := range d.vs.Pools() {
		d.parts = append(d.parts, partsOf(pool(each, &d.report))...)
	}
	if d.vs.HTTP != nil {
		return
	}
	for _, each := range d.vs.Pools() {
		if each.Persistence != nil && !keptByAddress(each) {
			d.report.warn(d.subject, "pool_ref",
				"pool %s has a persistence profile, and at layer 4 there are no cookies: has no effect here", each.Name)
		}
	}
}
