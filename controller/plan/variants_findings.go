package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/model"
)

// What is found about the ports of one virtual service, in the words of their operator.

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
