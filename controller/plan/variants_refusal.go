package plan

import (
	"fmt"
	"slices"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// What the ports of one virtual service cannot have each for themselves.

// refuseVariants blocks a parent or a child whose ports have profiles of their own.
func (d *draft) refuseVariants() {
	why := "its children would not know what clients of these ports speak: remove it, and give the port a virtual " +
		"service of its own with the same vsvip_ref"
	if d.vs.IsChild() {
		why = "clients connect to the ports of the parent: remove it"
	}
	d.report.block(d.subject, firstOverride(d.vs), "%s", why)
}

// refuseTwins blocks a virtual service that would listen twice at one place. The schema allows the same port twice, as
// UDP has ports of its own.
func (d *draft) refuseTwins() {
	at := map[port]bool{}
	for _, listener := range d.service.GetListeners() {
		place := addressOf(listener)
		if at[place] {
			d.report.block(d.subject, lastField(d.vs, listener.GetPort()),
				"%d comes twice with network profiles of the "+
					"same protocol: remove one of them", listener.GetPort())
			return
		}
		at[place] = true
	}
	if len(d.service.GetListeners()) > listenersMax {
		d.report.block(d.subject, "services", "makes more than %d listeners, addresses times ports: give fewer",
			listenersMax)
	}
}

// lastField is the last field in which the operator wrote a port.
func lastField(vs *model.VirtualService, port uint32) string {
	for i, service := range slices.Backward(vs.Services) {
		if service.Port <= port && port <= service.PortRangeEnd {
			return fmt.Sprintf("services[%d].port", i)
		}
	}
	return "services"
}

// firstOverride is the first field that gives a port a profile of its own.
func firstOverride(vs *model.VirtualService) string {
	first := vs.Variants[0]
	return overrideAt(first.At[0], first.ApplicationProfile != vs.ApplicationProfile)
}

const (
	ofApplication = "application_profile_ref"
	ofNetwork     = "network_profile_ref"
)

func overrideAt(at int, isOfApplication bool) string {
	if isOfApplication {
		return fmt.Sprintf("services[%d].override_%s", at, ofApplication)
	}
	return fmt.Sprintf("services[%d].override_%s", at, ofNetwork)
}

// overrideOf is the field that makes a part differ from the virtual service; that of the application profile, if both
// do. Empty: the part has the profiles of the virtual service.
func overrideOf(whole, part *model.VirtualService) string {
	isOfApplication := part.ApplicationProfile != whole.ApplicationProfile
	if !isOfApplication && part.NetworkProfile == whole.NetworkProfile {
		return ""
	}
	return overrideAt(part.PartAt[0], isOfApplication)
}

// apart is what an operator can do about a port that cannot have what the virtual service has.
const apart = "give the port a virtual service of its own with the same vsvip_ref"

// keepsOut returns the first set with rules in force that may refuse requests; nil: there is none.
func keepsOut(sets []*model.HTTPPolicySet) *model.HTTPPolicySet {
	for _, set := range sets {
		answers := slices.ContainsFunc(set.RequestRules(), func(placed kinds.Placed[kinds.HTTPRequestRule]) bool {
			return placed.Rule.Switching != nil && placed.Rule.Switching.Action == kinds.SelectLocal
		})
		if answers || len(set.SecurityRules()) > 0 {
			return set
		}
	}
	return nil
}

// refuseLostRedirects blocks a virtual service with requests that its profile sends to TLS, if only ports of layer 4
// have TLS: requests would go on without.
func refuseLostRedirects(whole, part *model.VirtualService, report *report) {
	if part.HTTP == nil || redirectPort(part) != 0 || !hasTLS(part) ||
		!part.HTTP.HTTPToHTTPS && !part.HTTP.SSLEverywhere && !part.HTTP.ServerRedirectToHTTPS {
		return
	}
	field := overrideOf(whole, part)
	for _, other := range part.Beside() {
		if field == "" && httpsPort(other) != 0 {
			field = overrideOf(whole, other)
		}
	}
	report.block(about("virtualservice", part.Identity, part.Named), field, "%s sends requests to a port with TLS "+
		"(http_to_https, ssl_everywhere or server_side_redirect_to_https), and no port of HTTP has enable_ssl: set it at "+
		"one, or use another profile", part.ApplicationProfile.Name)
}
