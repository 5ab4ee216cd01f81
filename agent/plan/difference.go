package plan

import (
	"reflect"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// compare merges the resources of two Plans by uuid. It calls note with the indexes of each resource in both; -1: that
// Plan does not have it. A resource that is in both may be the same pointer.
func compare(before, after *Plan, note func(was, is int)) {
	old, new := before.Wire().GetResources(), after.Wire().GetResources()
	was, is := 0, 0
	for was < len(old) && is < len(new) {
		if old[was] == new[is] { // most are: they are not even read
			note(was, is)
			was, is = was+1, is+1
			continue
		}
		switch order := byUUID(old[was], new[is]); {
		case order < 0:
			note(was, -1)
			was++
		case order > 0:
			note(-1, is)
			is++
		default:
			note(was, is)
			was, is = was+1, is+1
		}
	}
	for ; was < len(old); was++ {
		note(was, -1)
	}
	for ; is < len(new); is++ {
		note(-1, is)
	}
}

// same tells whether two resources are equal. Most often they are the same pointer.
func same(a, b *enginev1.Resource) bool { return a == b || proto.Equal(a, b) }

// Difference is what differs between a Plan and an earlier one.
type Difference struct {
	Change     *dataplanev1.PlanChange // for the data plane
	Gone, Come []Listener              // old and new listeners of virtual services that differ
	Members    []Member                // old and new servers of pools that differ
}

// Since is the difference between this Plan and an earlier one.
func (p *Plan) Since(before *Plan) Difference {
	d := Difference{Change: &dataplanev1.PlanChange{
		BaseRevision: before.Revision, Removed: new(dataplanev1.Removed),
		Changed: &dataplanev1.Plan{Revision: p.Revision, WorkerPinning: p.pinning},
	}}
	compare(before, p, func(was, is int) {
		switch {
		case is < 0:
			remove(d.Change.Removed, before.resource(was))
			d.goes(&before.parts[was])
		case was < 0:
			d.comes(p.resource(is), &p.parts[is])
		case !same(before.resource(was), p.resource(is)):
			if !sameKind(before.resource(was), p.resource(is)) {
				remove(d.Change.Removed, before.resource(was))
			}
			d.goes(&before.parts[was])
			d.comes(p.resource(is), &p.parts[is])
		}
	})
	return d
}

func sameKind(a, b *enginev1.Resource) bool {
	return reflect.TypeOf(a.GetBody()) == reflect.TypeOf(b.GetBody())
}

// remove adds an object of the data plane to those that a change removes.
func remove(removed *dataplanev1.Removed, resource *enginev1.Resource) {
	uuid := resource.GetUuid()
	switch resource.GetBody().(type) {
	case *enginev1.Resource_VirtualService:
		removed.VirtualServices = append(removed.VirtualServices, uuid)
	case *enginev1.Resource_Pool:
		removed.Pools = append(removed.Pools, uuid)
	case *enginev1.Resource_PoolGroup:
		removed.PoolGroups = append(removed.PoolGroups, uuid)
	case *enginev1.Resource_ErrorPageProfile:
		removed.ErrorPageProfiles = append(removed.ErrorPageProfiles, uuid)
	case *enginev1.Resource_Certificate:
		removed.Certificates = append(removed.Certificates, uuid)
	case *enginev1.Resource_PkiProfile:
		removed.PkiProfiles = append(removed.PkiProfiles, uuid)
	case *enginev1.Resource_HttpPolicySet:
		removed.HttpPolicySets = append(removed.HttpPolicySets, uuid)
	case *enginev1.Resource_ScriptSet:
		removed.ScriptSets = append(removed.ScriptSets, uuid)
	case *enginev1.Resource_StringGroup:
		removed.StringGroups = append(removed.StringGroups, uuid)
	case *enginev1.Resource_AddressGroup:
		removed.AddressGroups = append(removed.AddressGroups, uuid)
	case *enginev1.Resource_NetworkPolicy:
		removed.NetworkPolicies = append(removed.NetworkPolicies, uuid)
	}
}

func (d *Difference) goes(part *part) {
	d.Gone = append(d.Gone, part.listeners...)
	d.note(part)
}

func (d *Difference) comes(resource *enginev1.Resource, part *part) {
	addTo(d.Change.Changed, resource)
	d.Come = append(d.Come, part.listeners...)
	d.note(part)
}

func (d *Difference) note(part *part) {
	if part.pool != nil {
		for _, server := range part.pool.Servers {
			d.Members = append(d.Members, Member{part.pool.UUID, server.ID})
		}
	}
}
