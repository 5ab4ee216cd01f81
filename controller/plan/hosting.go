package plan

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// claim is something that only one virtual service of an engine may have: a port of an address, or what a child wants
// of its parent.
type claim struct {
	at           port
	parent, wish string // if it is not a port
	field        string // where the operator wrote the wish
	text, group  string // of the wish: see kinds.Wish
}

// key leaves out what does not tell claims apart.
func (c claim) key() claim {
	c.field, c.text, c.group = "", "", ""
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
	case vs.UDP != nil && (vs.IsParent() || vs.IsChild()):
		report.block(subject, "network_profile_ref", "datagrams name no host: virtual hosting needs a profile of TCP")
	case vs.IsParent() && vs.ByRequest() && vs.ApplicationProfile != nil && vs.HTTP == nil:
		report.block(subject, "vh_type", "only HTTP has requests to tell apart: use VS_TYPE_VH_SNI, or a profile of %s",
			"APPLICATION_PROFILE_TYPE_HTTP")
	case !vs.IsChild():
	case parent == nil:
		report.blocked = true // model has a finding about that
	case parent.ByRequest() != vs.ByRequest():
		report.block(subject, "vh_type", "differs from that of its parent %s", parent.Name)
	case lacksNames(vs):
		report.block(subject, "vh_parent_vs_ref",
			"its parent %s has no port with enable_ssl, and clients name no server "+
				"without TLS: set enable_ssl there, or use VS_TYPE_VH_ENHANCED for both", parent.Name)
	case len(wishesOf(vs)) == 0:
		report.block(subject, wishField(vs), "is empty: its parent has no client for it")
	}
}

// lacksNames tells whether a child is chosen by server name, and its clients name none. At layer 4 servers may end TLS.
func lacksNames(vs *model.VirtualService) bool {
	return !vs.ByRequest() && vs.HTTP != nil && httpsPort(vs) == 0
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

// wishesOf returns what a child claims of its parent.
func wishesOf(vs *model.VirtualService) (claims []claim) {
	for _, wish := range vs.Wishes(vs.TextOrigins) {
		claims = append(claims, claim{
			parent: vs.SeatsOf(), wish: wish.Key, field: wish.Field, text: wish.Text, group: wish.Group,
		})
	}
	return claims
}

// child sets what a child wants of its parent. It returns what the expressions of that need, in bytes.
func child(
	subject subject, vs *model.VirtualService, into *dataplanev1.VirtualService, report *report,
) (expressionBytes int) {
	into.ParentUuid = vs.Parent.UUID
	noteUnheededOfChild(subject, vs, report)
	if !vs.ByRequest() {
		into.ServerNames = vs.VHDomainNames
		return 0
	}
	expressions := new(kinds.Expressions)
	for i, match := range vs.VHMatches {
		wanted := &dataplanev1.HostMatch{Host: match.Host}
		for j, rule := range match.Rules {
			wanted.Rules = append(wanted.Rules, hostRule(subject, vs, fmt.Sprintf("vh_matches[%d].rules[%d].", i, j),
				&rule, expressions, report))
		}
		into.HostMatches = append(into.HostMatches, wanted)
	}
	return expressions.Bytes()
}

// hostRule converts a rule of a child. Of a rule that engines cannot try, the path has no criterion.
func hostRule(
	subject subject, vs *model.VirtualService, field string, from *kinds.VHMatchRule, expressions *kinds.Expressions,
	report *report,
) *dataplanev1.HostRule {
	to := &dataplanev1.HostRule{Name: from.Name}
	reader := &ruleReader{
		setReader: &setReader{set: &model.HTTPPolicySet{AddressGroups: vs.HostGroups}, subject: subject},
		field:     field, name: from.Name,
	}
	if from.Matches != nil {
		beside := *from.Matches
		beside.Path = nil
		// Children from before these had an effect may have texts that are no expressions.
		ofFields := beside
		if query := beside.Query; query != nil && len(query.Values) <= kinds.TextsMost { // with those of groups
			ofFields.Query = &kinds.QueryMatch{Criteria: query.Criteria, Case: query.Case, Decoded: query.Decoded}
		}
		problem := schema.CheckFields("matches", &ofFields)
		if problem == nil { // the next relies on that
			problem = expressions.Add("matches", from.Matches)
		}
		if problem != nil {
			reader.refuse(problem.Field, "%s", problem.Problem)
		} else if match := reader.match(&beside, false); proto.Size(match) > 0 {
			to.Match = match
		}
		to.Path = reader.pathOfHost(from.Matches.Path)
	}
	report.findings = append(report.findings, reader.report.findings...)
	if reader.report.blocked {
		report.blocked = true
		to.Path = &dataplanev1.TextMatch{}
	}
	return to
}

type textCriterion struct {
	criterion dataplanev1.TextCriterion
	negated   bool
}

// pathCriteria are those by which logs are filtered. A child may have expressions, too.
var pathCriteria = map[string]textCriterion{
	"EQUALS":              {dataplanev1.TextCriterion_TEXT_CRITERION_EQUALS, false},
	"DOES_NOT_EQUAL":      {dataplanev1.TextCriterion_TEXT_CRITERION_EQUALS, true},
	"BEGINS_WITH":         {dataplanev1.TextCriterion_TEXT_CRITERION_BEGINS_WITH, false},
	"DOES_NOT_BEGIN_WITH": {dataplanev1.TextCriterion_TEXT_CRITERION_BEGINS_WITH, true},
	"ENDS_WITH":           {dataplanev1.TextCriterion_TEXT_CRITERION_ENDS_WITH, false},
	"DOES_NOT_END_WITH":   {dataplanev1.TextCriterion_TEXT_CRITERION_ENDS_WITH, true},
	"CONTAINS":            {dataplanev1.TextCriterion_TEXT_CRITERION_CONTAINS, false},
	"DOES_NOT_CONTAIN":    {dataplanev1.TextCriterion_TEXT_CRITERION_CONTAINS, true},
}

// pathOfHost converts what a rule of a child says about the path; nil: nothing.
func (r *ruleReader) pathOfHost(path *kinds.PathMatch) *dataplanev1.TextMatch {
	if path == nil {
		return nil
	}
	known := textCriteria[path.Criteria]
	if len(path.GroupRefs) > 0 { // the model has a finding about that
		r.report.blocked = true
	}
	return &dataplanev1.TextMatch{
		Criterion: known.criterion, Negated: known.negated, Values: path.Values,
		CaseSensitive: path.Case == "SENSITIVE", Decoded: path.Decoded,
	}
}

// compareWithParent blocks a child that cannot share the listeners of its parent, and warns of its settings that the
// parent decides.
func compareWithParent(subject subject, vs, parent *model.VirtualService, report *report) {
	if (parent.HTTP == nil) != (vs.HTTP == nil) {
		report.block(subject, "application_profile_ref",
			"its parent %s and it must both be of APPLICATION_PROFILE_TYPE_HTTP, or neither", parent.Name)
		return
	}
	if own := sourcesOf(vs.TCP); len(own) > 0 && !slices.Equal(own, sourcesOf(parent.TCP)) {
		report.block(subject, "network_profile_ref", "%s has weir_proxy_protocol_sources, and its parent %s, which "+
			"accepts the connections, has others: use the same network profile for both", vs.NetworkProfile.Name,
			parent.Name)
	}
	if vs.ByRequest() {
		noteLimitsOfParent(subject, vs, parent, report)
	}
}

// limitsOfParent are the settings for what happens before the head of a request is read, and a child is chosen.
var limitsOfParent = []struct {
	field string
	value func(*kinds.HTTPProfile) any
}{
	{"post_accept_timeout", func(p *kinds.HTTPProfile) any { return p.PostAcceptTimeoutMs }},
	{"client_header_timeout", func(p *kinds.HTTPProfile) any { return p.ClientHeaderTimeoutMs }},
	{"client_max_header_size", func(p *kinds.HTTPProfile) any { return p.ClientMaxHeaderKiB }},
	{"client_max_request_size", func(p *kinds.HTTPProfile) any { return p.ClientMaxRequestKiB }},
	{"max_header_count", func(p *kinds.HTTPProfile) any { return p.MaxHeaderCount }},
	{"http2_profile", func(p *kinds.HTTPProfile) any { return *cmp.Or(p.HTTP2, usualHTTP2) }},
}

func noteLimitsOfParent(subject subject, vs, parent *model.VirtualService, report *report) {
	for _, limit := range limitsOfParent {
		if limit.value(vs.HTTP) != limit.value(parent.HTTP) {
			report.warn(subject, "application_profile_ref",
				"%s: http_profile.%s has no effect: a request is read by the "+
					"settings of the parent %s, before it is given to a child", vs.ApplicationProfile.Name, limit.field,
				parent.Name)
		}
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
	if len(vs.SSLProfileSelectors) > 0 {
		report.warn(subject, "ssl_profile_selectors", why)
	}
}
