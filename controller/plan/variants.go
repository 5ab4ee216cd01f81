package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/model"
)

// newDraftWithVariants compiles a virtual service whose ports do not all have the same profiles: once for each
// combination of profiles. Engines count what comes through all of its ports together.
func (c *Compiler) newDraftWithVariants(vs *model.VirtualService) *draft {
	parts := vs.Parts()
	if vs.IsParent() {
		parts = parts[:1]
	}
	drafts := make([]*draft, 0, len(parts))
	for i, part := range parts {
		var noted report
		if i > 0 {
			part = withoutForeign(parts[0], part, &noted)
		}
		made := c.newPart(part)
		made.report.findings = append(noted.findings, made.report.findings...)
		made.report.blocked = made.report.blocked || noted.blocked
		drafts = append(drafts, made)
	}
	isOfUDP := func(made *draft) bool { return made.vs.UDP != nil }
	isMixed := slices.ContainsFunc(drafts, isOfUDP) &&
		slices.ContainsFunc(drafts, func(made *draft) bool { return !isOfUDP(made) })
	whole := drafts[0]
	whole.vs, whole.report = vs, mergedReport(drafts)
	if vs.IsParent() {
		whole.report.block(whole.subject, firstOverride(vs), "its children would not know what clients of these ports "+
			"speak: remove it, and give the port a virtual service of its own with the same vsvip_ref")
	}
	if whole.report.blocked {
		return whole
	}
	whole.parts = whole.parts[:len(whole.parts)-1] // the service without variants
	for i, made := range drafts[1:] {
		whole.addVariant(made, uint32(i)+1)
	}
	whole.refuseTwins()
	if vs.RemovePortWhenDown && isMixed {
		whole.report.warn(whole.subject, "remove_listening_port_on_vs_down",
			"some of its ports are for datagrams, and engines keep their sockets for these: has no effect")
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

// refuseTwins blocks a virtual service that would listen twice at one place. The schema allows the same port twice, as
// UDP has ports of its own.
func (d *draft) refuseTwins() {
	at := map[port]bool{}
	for _, listener := range d.service.GetListeners() {
		place := addressOf(listener)
		if at[place] {
			d.report.block(d.subject, "services", "has port %d twice with network profiles of the same protocol: "+
				"remove one of them", listener.GetPort())
			return
		}
		at[place] = true
	}
	if len(d.service.GetListeners()) > listenersMax {
		d.report.block(d.subject, "services", "makes more than %d listeners, addresses times ports: give fewer",
			listenersMax)
	}
}

// firstOverride is the first field that gives a port a profile of its own.
func firstOverride(vs *model.VirtualService) string {
	return overrideOf(vs, slices.Min(vs.Variants[0].At))
}

func overrideOf(vs *model.VirtualService, at int) string {
	if vs.Services[at].ApplicationProfileRef != "" {
		return fmt.Sprintf("services[%d].override_application_profile_ref", at)
	}
	return fmt.Sprintf("services[%d].override_network_profile_ref", at)
}

// withoutForeign returns a part without what is for the other of HTTP and layer 4, if the first part is of the other
// one. It blocks the virtual service if clients would get in without the token that the first part asks for.
func withoutForeign(first, part *model.VirtualService, report *report) *model.VirtualService {
	if (first.HTTP == nil) == (part.HTTP == nil) || part.ApplicationProfile == nil || first.ApplicationProfile == nil {
		return part
	}
	alone := *part
	subject, field := about("virtualservice", part.Identity, part.Named), overrideOf(part, part.PartAt[0])
	var left []string
	leave := func(name string, isSet bool) {
		if isSet {
			left = append(left, name)
		}
	}
	leave("vs_datascripts", len(part.DataScripts) > 0)
	alone.DataScripts, alone.Scripts = nil, nil
	if part.HTTP != nil {
		leave("l4_policies", len(part.L4Policies) > 0)
		alone.L4Policies, alone.L4Sets = nil, nil
	} else {
		if part.SSOPolicyRef != "" || part.JWT != nil {
			report.block(subject, field,
				"%s is of layer 4, and clients of this port would get in without the token that "+
					"sso_policy_ref asks for: give the port a virtual service of its own with the same vsvip_ref",
				part.ApplicationProfile.Name)
		}
		leave("http_policies", len(part.HTTPPolicies) > 0)
		leave("error_page_profile_ref", part.ErrorPagesRef != "")
		leave("content_rewrite", part.ContentRewrite != nil)
		leave("requests_rate_limit", part.RequestsRateLimit != nil)
		alone.HTTPPolicies, alone.Policies = nil, nil
		alone.ErrorPagesRef, alone.ErrorPages, alone.ContentRewrite, alone.Content = "", nil, nil, nil
		alone.RequestsRateLimit, alone.SSOPolicyRef, alone.SSOPolicy, alone.JWT = nil, "", nil, nil
	}
	if len(left) > 0 {
		report.warn(subject, field,
			"%s: not for what comes through this port, as %s has another type than the profile "+
				"of the virtual service", strings.Join(left, ", "), part.ApplicationProfile.Name)
	}
	return &alone
}

// mergedReport returns the findings of all parts, each once. A setting has no effect if it has none in any part that
// could have one, so that a warning counts if all parts of the same type warn. Warnings of profiles are for one part.
func mergedReport(drafts []*draft) report {
	var merged report
	for _, made := range drafts {
		merged.blocked = merged.blocked || made.report.blocked
	}
	for _, made := range drafts {
		for _, finding := range made.report.findings {
			if !slices.Contains(merged.findings, finding) && (merged.blocked || isOfAll(finding, made, drafts)) {
				merged.findings = append(merged.findings, finding)
			}
		}
	}
	return merged
}

// isOfAll tells whether a warning is about all parts that could have it.
func isOfAll(finding model.Finding, from *draft, drafts []*draft) bool {
	switch {
	case finding.Kind == "applicationprofile", finding.Kind == "networkprofile",
		strings.Contains(finding.Field, "override_"):
		return true
	case finding.Kind == "virtualservice" && (from.vs.HTTP == nil) != (drafts[0].vs.HTTP == nil):
		return false // the first part says what concerns the whole
	}
	return !slices.ContainsFunc(drafts, func(other *draft) bool {
		return (other.vs.HTTP == nil) == (from.vs.HTTP == nil) && !slices.Contains(other.report.findings, finding)
	})
}
