// Package parts says what the resources of an engine's Plan are to its data plane. The agent sends it that; the
// controller sends drafts with a question.
package parts

import (
	"reflect"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// Add adds what a resource is to the data plane.
func Add(plan *dataplanev1.Plan, resource *enginev1.Resource) {
	switch body := resource.GetBody().(type) {
	case *enginev1.Resource_VirtualService:
		plan.VirtualServices = append(plan.VirtualServices, listening(body.VirtualService))
	case *enginev1.Resource_Pool:
		plan.Pools = append(plan.Pools, body.Pool.GetPool())
	case *enginev1.Resource_PoolGroup:
		plan.PoolGroups = append(plan.PoolGroups, body.PoolGroup)
	case *enginev1.Resource_ErrorPageProfile:
		plan.ErrorPageProfiles = append(plan.ErrorPageProfiles, body.ErrorPageProfile)
	case *enginev1.Resource_Certificate:
		plan.Certificates = append(plan.Certificates, body.Certificate)
	case *enginev1.Resource_PkiProfile:
		plan.PkiProfiles = append(plan.PkiProfiles, body.PkiProfile)
	case *enginev1.Resource_HttpPolicySet:
		plan.HttpPolicySets = append(plan.HttpPolicySets, body.HttpPolicySet)
	case *enginev1.Resource_ScriptSet:
		plan.ScriptSets = append(plan.ScriptSets, body.ScriptSet)
	case *enginev1.Resource_StringGroup:
		plan.StringGroups = append(plan.StringGroups, body.StringGroup)
	case *enginev1.Resource_AddressGroup:
		plan.AddressGroups = append(plan.AddressGroups, body.AddressGroup)
	case *enginev1.Resource_NetworkPolicy:
		plan.NetworkPolicies = append(plan.NetworkPolicies, body.NetworkPolicy)
	}
}

// listening is a virtual service with the listeners that its duty requires.
func listening(service *dataplanev1.VirtualService) *dataplanev1.VirtualService {
	if Listens(service) {
		return service
	}
	ready := proto.CloneOf(service)
	ready.Listeners = nil
	return ready
}

// Listens tells whether a virtual service has listeners in this duty. It keeps them while it drains, because a router
// may still send clients.
func Listens(service *dataplanev1.VirtualService) bool {
	return service.GetDuty() != dataplanev1.Duty_DUTY_STANDBY
}

// Remove adds an object of the data plane to those that a change removes.
func Remove(removed *dataplanev1.Removed, resource *enginev1.Resource) {
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

// SameKind tells whether two resources are objects of one kind.
func SameKind(a, b *enginev1.Resource) bool {
	return reflect.TypeOf(a.GetBody()) == reflect.TypeOf(b.GetBody())
}
