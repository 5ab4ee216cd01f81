package kinds

import (
	"fmt"

	"github.com/weir-lb/weir/controller/schema"
)

// SSLProfileSelector is an SSL profile for some clients.
type SSLProfileSelector struct {
	Clients    *IPAddrMatch `json:"client_ip_list" required:"true"`
	ProfileRef string       `json:"ssl_profile_ref" ref:"sslprofile" required:"true"`
}

// CheckSelectors says which selector of SSL profiles engines could not follow. Objects from before selectors had an
// effect were not checked.
func (vs *VirtualService) CheckSelectors() *schema.FieldError {
	for i := range vs.SSLProfileSelectors {
		selector, place := &vs.SSLProfileSelectors[i], fmt.Sprintf("ssl_profile_selectors[%d]", i)
		if problem := schema.CheckFields(place, selector); problem != nil {
			return problem
		}
		at := place + "."
		switch {
		case selector.Clients == nil || selector.Clients.Criteria == "":
			return refuse(at+"client_ip_list", "is required: say which clients have this profile")
		case selector.ProfileRef == "":
			return refuse(at+"ssl_profile_ref", "is required: say which profile these clients have")
		}
		if problem := selector.Clients.check(at + "client_ip_list"); problem != nil {
			return problem
		}
	}
	return nil
}
