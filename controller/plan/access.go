package plan

import (
	"fmt"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// accessRules says which requests need a token, and what those with a good one may; nil: all need one, and may all. A
// rule that engines cannot carry out blocks the virtual services with the policy.
func accessRules(policy *model.SSOPolicy, report *report) *dataplanev1.AccessRules {
	authentication, authorization := policy.AuthenticationRules(), policy.AuthorizationRules()
	if len(authentication)+len(authorization) == 0 {
		return nil
	}
	subject := about("ssopolicy", policy.Identity, policy.Named)
	if problem := policy.CheckRules(); problem != nil {
		report.block(subject, problem.Field, "%s", problem.Problem)
		return nil
	}
	set := &setReader{set: comparedIn(policy), subject: subject}
	to := &dataplanev1.AccessRules{}
	for _, placed := range authentication {
		rule := set.accessRule("authentication_policy.authn_rules", placed.At, placed.Rule.Name)
		rule.warnOfRawPath(placed.Rule.Match.Target())
		match := rule.accessMatch(placed.Rule.Match.Target())
		to.Authentication = append(to.Authentication, &dataplanev1.AuthenticationRule{
			Rule: rule.common(match, false, false), Skip: placed.Rule.Skips(),
		})
	}
	for _, placed := range authorization {
		rule := set.accessRule("authorization_policy.authz_rules", placed.At, placed.Rule.Name)
		rule.warnOfRawPath(placed.Rule.Match.Target())
		rule.warnOfMissingClaims(placed.Rule)
		to.Authorization = append(to.Authorization, rule.authorization(placed.Rule))
	}
	report.findings = append(report.findings, set.report.findings...)
	report.blocked = report.blocked || set.report.blocked
	warnOfOpenEnd(subject, authorization, report)
	return to
}

// comparedIn has the groups that the rules of a policy compare with.
func comparedIn(policy *model.SSOPolicy) *model.HTTPPolicySet {
	return &model.HTTPPolicySet{StringGroups: policy.StringGroups, AddressGroups: policy.AddressGroups}
}

// warnOfOpenEnd warns of rules that let some requests in and end before all others are refused.
func warnOfOpenEnd(subject subject, rules []kinds.Placed[kinds.AuthorizationRule], report *report) {
	allows := false
	for _, placed := range rules {
		if placed.Rule.Match.IsForAll() {
			return
		}
		allows = allows || placed.Rule.Allows()
	}
	if allows {
		report.warn(subject, "authorization_policy.authz_rules",
			"end without a rule for all requests: whoever has a good token, and matches no rule, is let in. "+
				"Add a last rule with match {}, and HTTP_LOCAL_RESPONSE or ALLOW_ACCESS")
	}
}

// warnOfRawPath warns of a path that is to be compared as the client wrote it: engines compare the decoded path, as
// servers do.
func (r *ruleReader) warnOfRawPath(match *kinds.MatchTarget) {
	if match != nil && match.Path != nil && !match.Path.Decoded {
		r.warn("match.path.match_decoded_string",
			"compares the decoded path all the same: a rule about /admin must hold for /%%61dmin")
	}
}

// warnOfMissingClaims warns of a rule that refuses tokens by what a claim is not, and lets those in that lack the
// claim.
func (r *ruleReader) warnOfMissingClaims(rule *kinds.AuthorizationRule) {
	if rule.Allows() {
		return
	}
	for i, claim := range rule.Match.Claims() {
		if claim.IsMandatory && claim.Text != nil && strings.HasPrefix(claim.Text.Criteria, "DOES_NOT_") {
			r.warn(fmt.Sprintf("match.access_token.matches[%d].is_mandatory", i),
				"lets tokens without the claim %s in, because is_mandatory is true. Set it to false to refuse them, too",
				claim.Name)
		}
	}
}

func (r *setReader) accessRule(list string, at int, name string) *ruleReader {
	return &ruleReader{r, fmt.Sprintf("%s[%d].", list, at), at, name}
}

// accessMatch converts what a request is compared with; nil: every request matches.
func (r *ruleReader) accessMatch(from *kinds.MatchTarget) *dataplanev1.HttpMatch {
	if from == nil || from.ClientIP == nil && from.HostHdr == nil && from.Method == nil && from.Path == nil {
		return nil
	}
	to := r.match(from, true)
	if to != nil && to.Path != nil {
		to.Path.Decoded = true // servers decode paths: a rule about /admin holds for /%61dmin
	}
	return to
}

func (r *ruleReader) authorization(from *kinds.AuthorizationRule) *dataplanev1.AuthorizationRule {
	to := &dataplanev1.AuthorizationRule{Rule: r.common(r.accessMatch(from.Match.Target()), false, false)}
	for i := range from.Match.Claims() {
		field := fmt.Sprintf("match.access_token.matches[%d].string_match", i)
		to.Claims = append(to.Claims, r.claim(field, &from.Match.Token.Claims[i]))
	}
	switch from.Action.Type {
	case kinds.AllowAccess:
		to.Action = &dataplanev1.AuthorizationRule_Allow{Allow: &dataplanev1.Allow{}}
	case kinds.CloseUnauthorized:
		to.Action = &dataplanev1.AuthorizationRule_Close{Close: &dataplanev1.Close{}}
	default:
		status := kinds.StatusIn(from.Action.StatusCode)
		to.Action = &dataplanev1.AuthorizationRule_Status{Status: status}
	}
	return to
}

func (r *ruleReader) claim(field string, from *kinds.JWTClaimMatch) *dataplanev1.ClaimMatch {
	to := &dataplanev1.ClaimMatch{Name: from.Name, Mandatory: from.IsMandatory}
	switch from.Type {
	case kinds.IntClaim:
		to.Value = &dataplanev1.ClaimMatch_Number{Number: &dataplanev1.NumberClaim{Value: from.Int}}
	case kinds.BoolClaim:
		to.Value = &dataplanev1.ClaimMatch_Truth{Truth: &dataplanev1.TruthClaim{Value: from.Bool}}
	default:
		text := &dataplanev1.TextClaim{}
		if match := from.Text; match != nil {
			text.Value = r.grouped(field, texts(match.Criteria, "SENSITIVE", match.Values), match.GroupRefs)
		}
		to.Value = &dataplanev1.ClaimMatch_Text{Text: text}
	}
	return to
}
