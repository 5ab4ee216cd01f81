package dataplane

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// suspectsMax bounds the findings about one Plan; a first Plan is all suspects.
const suspectsMax = 100

// blame says of each object that differs between the Plan that served and the one that data planes died of that it is
// suspected: what they died of came with the change. Health monitors are no data plane's business.
func blame(before, after *enginev1.Plan, cause error) []*dataplanev1.Finding {
	var suspects []*dataplanev1.Finding
	served := map[string]*enginev1.Resource{}
	for _, resource := range before.GetResources() {
		served[resource.GetUuid()] = resource
	}
	suspect := func(resource *enginev1.Resource, change string) {
		finding := identify(resource)
		if finding == nil || len(suspects) == suspectsMax {
			return
		}
		finding.Message = fmt.Sprintf("the data plane died %d times while taking a Plan in which this object %s: %v", deathsMax, change, cause)
		suspects = append(suspects, finding)
	}
	for _, resource := range after.GetResources() {
		old, known := served[resource.GetUuid()]
		delete(served, resource.GetUuid())
		if !known {
			suspect(resource, "is new")
		} else if !proto.Equal(old, resource) {
			suspect(resource, "changed")
		}
	}
	for _, resource := range before.GetResources() {
		if _, gone := served[resource.GetUuid()]; gone {
			suspect(resource, "is no more")
		}
	}
	if suspects == nil {
		message := fmt.Sprintf("the data plane died %d times while taking a Plan that differs in nothing from the one before: %v", deathsMax, cause)
		return []*dataplanev1.Finding{{Message: message}}
	}
	return suspects
}

// identify is a finding on the object of a resource; nil: it is none of the data plane's.
func identify(resource *enginev1.Resource) *dataplanev1.Finding {
	switch body := resource.GetBody().(type) {
	case *enginev1.Resource_VirtualService:
		return &dataplanev1.Finding{Kind: "virtualservice", Uuid: resource.GetUuid(), Name: body.VirtualService.GetName()}
	case *enginev1.Resource_Pool:
		return &dataplanev1.Finding{Kind: "pool", Uuid: resource.GetUuid(), Name: body.Pool.GetPool().GetName()}
	case *enginev1.Resource_Certificate:
		return &dataplanev1.Finding{Kind: "sslkeyandcertificate", Uuid: resource.GetUuid(), Name: body.Certificate.GetName()}
	case *enginev1.Resource_PkiProfile:
		return &dataplanev1.Finding{Kind: "pkiprofile", Uuid: resource.GetUuid(), Name: body.PkiProfile.GetName()}
	default:
		return nil
	}
}
