package plan

import (
	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// Dataplane is the data plane's part of a Plan; health monitors are left out: the agent runs them.
func (p *Plan) Dataplane() *dataplanev1.Plan {
	whole := &dataplanev1.Plan{Revision: p.Revision, WorkerPinning: p.pinning}
	for _, resource := range p.wire.GetResources() {
		addTo(whole, resource)
	}
	return whole
}

// addTo adds what a resource is to the data plane.
func addTo(plan *dataplanev1.Plan, resource *enginev1.Resource) {
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
	if listens(service) {
		return service
	}
	ready := proto.CloneOf(service)
	ready.Listeners = nil
	return ready
}

// listens tells whether a virtual service has listeners in this duty. It keeps them while it drains, because a router
// may still send clients.
func listens(service *dataplanev1.VirtualService) bool {
	return service.GetDuty() != dataplanev1.Duty_DUTY_STANDBY
}
