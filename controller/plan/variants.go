package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// newDraftWithVariants compiles a virtual service whose ports do not all have the same profiles: once for each
// combination of profiles. Engines count what comes through all of its ports together.
func (c *Compiler) newDraftWithVariants(vs *model.VirtualService) *draft {
	parts := vs.Parts()
	drafts := make([]*draft, 0, len(parts))
	for _, part := range parts {
		var noted report
		part = withoutForeign(vs, part, &noted)
		refuseLostRedirects(vs, part, &noted)
		noteUncountedOfPorts(vs, part, &noted)
		made := c.newPart(part)
		made.report.findings = append(noted.findings, made.report.findings...)
		made.report.blocked = made.report.blocked || noted.blocked
		drafts = append(drafts, made)
	}
	isOfUDP := func(made *draft) bool { return made.vs.UDP != nil }
	isMixed := slices.ContainsFunc(drafts, isOfUDP) &&
		slices.ContainsFunc(drafts, func(made *draft) bool { return !isOfUDP(made) })
	keepsSockets := vs.RemovePortWhenDown && isMixed
	if keepsSockets {
		for _, made := range drafts {
			made.report.findings = slices.DeleteFunc(made.report.findings, func(finding model.Finding) bool {
				return finding.Kind == "virtualservice" && finding.Field == removesPorts
			})
		}
	}
	whole := drafts[0]
	whole.report = mergedReport(vs, drafts)
	whole.vs = vs
	if keepsSockets {
		whole.report.warn(whole.subject, removesPorts,
			"some of its ports are for datagrams, and engines keep their sockets for these: has no effect")
	}
	if whole.report.blocked {
		return whole
	}
	whole.parts = whole.parts[:len(whole.parts)-1] // the service without variants
	for i, made := range drafts[1:] {
		whole.addVariant(made, uint32(i)+1)
	}
	if keepsSockets {
		whole.service.ListenWhileUp = nil
	}
	if whole.limits {
		whole.service.KeySeed = keySeed(c.LimitSecret, vs.UUID)
	}
	whole.parts = append(whole.parts, partOf(resourceOf(whole.service)))
	return whole
}

// refuseVariants blocks a parent or a child whose ports have profiles of their own.
func (d *draft) refuseVariants() {
	why := "its children would not know what clients of these ports speak: remove it, and give the port a virtual " +
		"service of its own with the same vsvip_ref"
	if d.vs.IsChild() {
		why = "clients connect to the ports of the parent: remove it"
	}
	d.report.block(d.subject, firstOverride(d.vs), "%s", why)
}

// addVariant adds what a part of a virtual service is to the first part, which lacks the resource of the service.
func (d *draft) addVariant(variant *draft, number uint32) {
	service := variant.service
	for _, listener := range service.GetListeners() {
		listener.Variant = number
	}
	d.service.Listeners = append(d.service.Listeners, service.GetListeners()...)
	d.service.Variants = append(d.service.Variants, service)
	d.parts = append(d.parts, variant.parts[:len(variant.parts)-1]...)
	d.claims = append(d.claims, variant.claims...)
	d.limits = d.limits || variant.limits
	// An engine has these of the whole.
	service.Uuid, service.Name, service.Listeners, service.KeySeed, service.ListenWhileUp = "", "", nil, 0, nil
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

// withoutForeign returns a part without what is for the other of HTTP and layer 4, if the virtual service itself is of
// the other one. It blocks the virtual service if clients would get in whom that might keep out. Scripts stay: those
// that never run block the part, too.
func withoutForeign(whole, part *model.VirtualService, report *report) *model.VirtualService {
	if (whole.HTTP == nil) == (part.HTTP == nil) || part.ApplicationProfile == nil || whole.ApplicationProfile == nil {
		return part
	}
	alone := *part
	subject, field := about("virtualservice", part.Identity, part.Named), overrideOf(whole, part)
	var left []string
	leave := func(name string, isSet bool) {
		if isSet {
			left = append(left, name)
		}
	}
	if part.HTTP != nil {
		leave("l4_policies", len(part.L4Policies) > 0)
		alone.L4Policies, alone.L4Sets = nil, nil
	} else {
		if part.SSOPolicyRef != "" || part.JWT != nil {
			report.block(subject, field,
				"%s is of layer 4, and clients of this port would get in without the token that "+
					"sso_policy_ref asks for: %s", part.ApplicationProfile.Name, apart)
		}
		if set := keepsOut(part.Policies); set != nil {
			report.block(subject, field, "%s is of layer 4, and clients of this port would get in whom rules of "+
				"httppolicyset %s keep out: %s", part.ApplicationProfile.Name, set.Name, apart)
		}
		leave("http_policies", len(part.HTTPPolicies) > 0)
		leave("error_page_profile_ref", part.ErrorPagesRef != "")
		leave("content_rewrite", part.ContentRewrite != nil)
		leave("requests_rate_limit", part.RequestsRateLimit != nil)
		leave("host_name_xlate", part.HostNameTranslation != "")
		if len(part.Policies) < len(part.HTTPPolicies) {
			report.blocked = true // model has a finding about that
		}
		alone.HTTPPolicies, alone.Policies = nil, nil
		alone.ErrorPagesRef, alone.ErrorPages, alone.ContentRewrite, alone.Content = "", nil, nil, nil
		alone.RequestsRateLimit, alone.SSOPolicyRef, alone.SSOPolicy, alone.JWT = nil, "", nil, nil
		alone.HostNameTranslation = ""
	}
	if len(left) > 0 {
		report.warn(subject, field,
			"%s: not for what comes through this port, as %s has another type than the profile "+
				"of the virtual service", strings.Join(left, ", "), part.ApplicationProfile.Name)
	}
	return &alone
}

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

// mergedReport returns the findings of all parts, each once. One that is not about all parts names its ports.
func mergedReport(whole *model.VirtualService, drafts []*draft) report {
	var merged report
	for _, made := range drafts {
		merged.blocked = merged.blocked || made.report.blocked
	}
	for _, made := range drafts {
		for _, finding := range made.report.findings {
			switch {
			case finding.Kind == "virtualservice":
				finding = ofPorts(whole, finding, made, drafts)
			case !merged.blocked && !isOfAll(finding, made, drafts):
				continue
			}
			if !slices.Contains(merged.findings, finding) {
				merged.findings = append(merged.findings, finding)
			}
		}
	}
	return merged
}

// isOfAll tells whether a warning about another object is about all parts that could have it: a pool may have a setting
// that acts at some ports only. Warnings of profiles are for one part.
func isOfAll(finding model.Finding, from *draft, drafts []*draft) bool {
	return finding.Kind == "applicationprofile" || finding.Kind == "networkprofile" ||
		!slices.ContainsFunc(drafts, func(other *draft) bool {
			return (other.vs.HTTP == nil) == (from.vs.HTTP == nil) && !slices.Contains(other.report.findings, finding)
		})
}

// ofPorts returns what a finding about a part says of the whole virtual service: for which ports it is, and in which
// field the operator gave them their profile.
func ofPorts(whole *model.VirtualService, finding model.Finding, from *draft, drafts []*draft) model.Finding {
	isOfAll := !slices.ContainsFunc(drafts, func(other *draft) bool {
		isUnread := other.service == nil && from.service != nil
		return !isUnread && !slices.Contains(other.report.findings, finding)
	})
	field, override := finding.Field, overrideOf(whole, from.vs)
	if (from.vs.UDP == nil) != (whole.UDP == nil) && override != "" && !strings.HasPrefix(field, ofApplication) {
		override = overrideAt(from.vs.PartAt[0], false)
	}
	switch {
	case isOfAll, strings.HasPrefix(field, "services["), strings.HasPrefix(field, "service_pool_select["):
	case override == "":
		finding.Message += fmt.Sprintf(" (%s)", entriesOf(from.vs))
	case strings.HasPrefix(field, ofApplication):
		finding.Field = override + strings.TrimPrefix(field, ofApplication)
	case strings.HasPrefix(field, ofNetwork):
		isOwn := from.vs.NetworkProfile != whole.NetworkProfile
		finding.Field = overrideAt(from.vs.PartAt[0], !isOwn) + strings.TrimPrefix(field, ofNetwork)
	default:
		finding.Field, finding.Message = override, field+": "+finding.Message
	}
	return finding
}

// entriesOf lists the entries of services that a part is for.
func entriesOf(part *model.VirtualService) string {
	var entries []string
	for _, at := range part.PartAt {
		entries = append(entries, fmt.Sprintf("services[%d]", at))
	}
	return strings.Join(entries, ", ")
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

// noteUncountedOfPorts warns of thresholds of attacks in profiles of ports: those of the virtual service count for all.
func noteUncountedOfPorts(whole, part *model.VirtualService, report *report) {
	if part.ApplicationProfile == nil || part.ApplicationProfile == whole.ApplicationProfile ||
		part.ApplicationProfile.DosRateLimit == nil || part.ApplicationProfile.DosRateLimit.DosProfile == nil {
		return
	}
	report.warn(about("virtualservice", part.Identity, part.Named), overrideOf(whole, part),
		"dos_rl_profile.dos_profile "+
			"of %s: attacks are counted by the profile of the virtual service itself: has no effect",
		part.ApplicationProfile.Name)
}

// redirectPort returns the port that requests without TLS are sent to: the first of HTTP with TLS, whichever of the
// profiles of the virtual service it has; 0: there is none.
func redirectPort(vs *model.VirtualService) uint32 {
	first, found := len(vs.Services), uint32(0)
	for _, part := range vs.Beside() {
		if part.HTTP == nil || part.UDP != nil {
			continue
		}
		if part.PartAt == nil {
			return httpsPort(part)
		}
		for _, at := range part.PartAt {
			if part.Services[at].EnableSSL && at < first {
				first, found = at, part.Services[at].Port
			}
		}
	}
	return found
}

// hasTLS tells whether any port of a virtual service has TLS, also of its other parts.
func hasTLS(vs *model.VirtualService) bool {
	return slices.ContainsFunc(vs.Beside(), func(part *model.VirtualService) bool { return httpsPort(part) != 0 })
}

// showsCertificates tells whether clients of a port with the application profile of a part can show certificates.
func showsCertificates(vs *model.VirtualService) bool {
	return slices.ContainsFunc(vs.Beside(), func(part *model.VirtualService) bool {
		return part.ApplicationProfile == vs.ApplicationProfile && httpsPort(part) != 0
	})
}
