package plan

import (
	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// partOf is the data plane's part of a Plan. Health monitors are left out: the agent runs them.
func partOf(plan *enginev1.Plan) *dataplanev1.Plan {
	part := &dataplanev1.Plan{Revision: plan.GetRevision()}
	for _, resource := range plan.GetResources() {
		switch body := resource.GetBody().(type) {
		case *enginev1.Resource_VirtualService:
			part.VirtualServices = append(part.VirtualServices, listening(body.VirtualService))
		case *enginev1.Resource_Pool:
			part.Pools = append(part.Pools, body.Pool.GetPool())
		case *enginev1.Resource_Certificate:
			part.Certificates = append(part.Certificates, body.Certificate)
		case *enginev1.Resource_PkiProfile:
			part.PkiProfiles = append(part.PkiProfiles, body.PkiProfile)
		case *enginev1.Resource_EngineSettings:
			part.WorkerPinning = body.EngineSettings.GetWorkerPinning()
		}
	}
	return part
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
