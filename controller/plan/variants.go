package plan

import (
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/model"
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
