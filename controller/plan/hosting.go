package plan

import (
	"fmt"
	"net/netip"
	"slices"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// claim is something that only one virtual service of an engine may have: a port of an address, or what a child wants
// of its parent.
type claim struct {
	at           netip.AddrPort
	parent, wish string // if it is not a port
	field        string // where the operator wrote the wish
}

// key leaves out what does not tell claims apart.
func (c claim) key() claim {
	c.field = ""
	return c
}

func claimsOn(listeners []*dataplanev1.Listener) (claims []claim) {
	for _, listener := range listeners {
		claims = append(claims, claim{at: addressOf(listener)})
	}
	return claims
}

// refuseRole blocks children whose parent cannot have them.
func refuseRole(subject subject, vs *model.VirtualService, report *report) {
	switch parent := vs.Parent; {
	case vs.IsParent() && vs.ByRequest() && vs.ApplicationProfile != nil && vs.HTTP == nil:
		report.block(subject, "vh_type", "only HTTP has requests to tell apart: use VS_TYPE_VH_SNI, or a profile of %s",
			"APPLICATION_PROFILE_TYPE_HTTP")
	case !vs.IsChild():
	case parent == nil:
		report.blocked = true // model has a finding about that
	case parent.ByRequest() != vs.ByRequest():
		report.block(subject, "vh_type", "differs from that of its parent %s", parent.Name)
	case len(vs.Wishes()) == 0:
		report.block(subject, wishField(vs), "is empty: its parent has no client for it")
	}
}

func wishField(vs *model.VirtualService) string {
	if vs.ByRequest() {
		return "vh_matches"
	}
	return "vh_domain_name"
}

// hosting says how a parent gives clients to its children.
func hosting(vs *model.VirtualService) dataplanev1.Hosting {
	switch {
	case !vs.IsParent():
		return dataplanev1.Hosting_HOSTING_NONE
	case vs.ByRequest():
		return dataplanev1.Hosting_HOSTING_BY_REQUEST
	}
	return dataplanev1.Hosting_HOSTING_BY_SERVER_NAME
}

// hasOwnTLS tells whether a virtual service has certificates of its own. Requests are given to children after TLS.
func hasOwnTLS(vs *model.VirtualService) bool { return !vs.IsChild() || !vs.ByRequest() }

// child sets what a child wants of its parent.
func child(
	subject subject, vs *model.VirtualService, into *dataplanev1.VirtualService, report *report,
) (claims []claim) {
	into.ParentUuid = vs.Parent.UUID
	for _, wish := range vs.Wishes() {
		claims = append(claims, claim{parent: vs.Parent.UUID, wish: wish.Key, field: wish.Field})
	}
	noteUnheededOfChild(subject, vs, report)
	if !vs.ByRequest() {
		into.ServerNames = vs.VHDomainNames
		return claims
	}
	for i, match := range vs.VHMatches {
		wanted := &dataplanev1.HostMatch{Host: match.Host}
		for j, rule := range match.Rules {
			wanted.Rules = append(wanted.Rules, &dataplanev1.HostRule{Name: rule.Name,
				Path: pathMatch(subject, i, j, rule.Matches, report)})
		}
		into.HostMatches = append(into.HostMatches, wanted)
	}
	return claims
}

type pathCriterion struct {
	criterion dataplanev1.PathCriterion
	negated   bool
}

var pathCriteria = map[string]pathCriterion{
	"EQUALS":              {dataplanev1.PathCriterion_PATH_CRITERION_EQUALS, false},
	"DOES_NOT_EQUAL":      {dataplanev1.PathCriterion_PATH_CRITERION_EQUALS, true},
	"BEGINS_WITH":         {dataplanev1.PathCriterion_PATH_CRITERION_BEGINS_WITH, false},
	"DOES_NOT_BEGIN_WITH": {dataplanev1.PathCriterion_PATH_CRITERION_BEGINS_WITH, true},
	"ENDS_WITH":           {dataplanev1.PathCriterion_PATH_CRITERION_ENDS_WITH, false},
	"DOES_NOT_END_WITH":   {dataplanev1.PathCriterion_PATH_CRITERION_ENDS_WITH, true},
	"CONTAINS":            {dataplanev1.PathCriterion_PATH_CRITERION_CONTAINS, false},
	"DOES_NOT_CONTAIN":    {dataplanev1.PathCriterion_PATH_CRITERION_CONTAINS, true},
}

// pathMatch converts what a rule says about the path; nil: nothing.
func pathMatch(subject subject, match, rule int, target *kinds.MatchTarget, report *report) *dataplanev1.PathMatch {
	if target == nil || target.Path == nil {
		return nil
	}
	known, ok := pathCriteria[target.Path.Criteria]
	if !ok {
		report.block(subject, fmt.Sprintf("vh_matches[%d].rules[%d].matches.path.match_criteria", match, rule),
			"engines do not match regular expressions yet: use EQUALS, BEGINS_WITH, ENDS_WITH or CONTAINS")
	}
	return &dataplanev1.PathMatch{
		Criterion: known.criterion, Negated: known.negated, Values: target.Path.Values,
		CaseSensitive: target.Path.Case == "SENSITIVE", Decoded: target.Path.Decoded,
	}
}

// noteUnheededOfChild warns of settings of a child that have no effect because its parent has them.
func noteUnheededOfChild(subject subject, vs *model.VirtualService, report *report) {
	if vs.SEGroupRef != vs.Parent.SEGroupRef {
		report.warn(subject, "se_group_ref", "a child is on the engines of its parent %s: has no effect",
			vs.Parent.Name)
	}
	if vs.ByRequest() && len(vs.VHDomainNames) > 0 {
		report.warn(subject, "vh_domain_name", "a child of VS_TYPE_VH_ENHANCED is chosen by vh_matches: has no effect")
	}
	if hasOwnTLS(vs) && slices.ContainsFunc(vs.Ports(), func(port kinds.Service) bool { return port.EnableSSL }) {
		return
	}
	const why = "TLS does not end at this child, but at its parent or at the servers: has no effect"
	if len(vs.CertificateRefs) > 0 {
		report.warn(subject, "ssl_key_and_certificate_refs", why)
	}
	if vs.SSLProfileRef != "" {
		report.warn(subject, "ssl_profile_ref", why)
	}
}
