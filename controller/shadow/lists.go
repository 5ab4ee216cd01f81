package shadow

import (
	"fmt"
	"slices"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// List is the rules of one list, in the order in which they are tried.
type List []*Rule

// Policies are the lists of a set of HTTP policies, in the order in which they are tried.
type Policies struct{ Security, Requests, Responses List }

// Of reads the rules of a set.
func Of(set *dataplanev1.HttpPolicySet, groups *Groups) (lists Policies) {
	for _, from := range set.GetSecurityRules() {
		rule := httpRule(from.GetRule(), "http_security_policy", set.GetName(), groups)
		switch from.GetAction().(type) {
		case *dataplanev1.HttpSecurityRule_Allow:
			rule.ends, rule.lets = true, true
		case *dataplanev1.HttpSecurityRule_RateLimit: // what is within the rate goes on
		default:
			rule.ends, rule.refuses = true, true
		}
		lists.Security = append(lists.Security, rule)
	}
	for _, from := range set.GetRequestRules() {
		rule := httpRule(from.GetRule(), "http_request_policy", set.GetName(), groups)
		switch action := from.GetAction().(type) {
		case *dataplanev1.HttpRequestRule_Response:
			rule.ends = true
		case *dataplanev1.HttpRequestRule_Redirect: // without a part that it takes, the next rule is tried
			rule.ends = isSureHost(action.Redirect.GetHost()) && isSurePath(action.Redirect.GetPath())
		case *dataplanev1.HttpRequestRule_Pool:
			rule.pool = true
		}
		rule.refuses = rule.ends
		if rewrite := from.GetRewrite(); rewrite != nil {
			rule.rewrites = isSureHost(rewrite.GetHost()) && isSurePath(rewrite.GetPath())
		}
		rule.isIdle = from.GetAction() == nil && from.GetRewrite() == nil && len(from.GetEdits()) == 0 &&
			!from.GetRule().GetLog()
		lists.Requests = append(lists.Requests, rule)
	}
	for _, from := range set.GetResponseRules() {
		rule := httpRule(from.GetRule(), "http_response_policy", set.GetName(), groups)
		rule.isIdle = from.GetLocation() == nil && len(from.GetEdits()) == 0 && !from.GetRule().GetLog()
		lists.Responses = append(lists.Responses, rule)
	}
	return lists
}

func httpRule(from *dataplanev1.HttpRule, policy, object string, groups *Groups) *Rule {
	field := fmt.Sprintf("%s.rules[%d]", policy, from.GetPosition())
	read := &reader{groups: groups, rule: &Rule{Object: object, Field: field, Name: from.GetName()}}
	read.http(from.GetMatch(), "match.")
	return read.done()
}

// isSureHost tells whether the host of a URL can be made for each request.
func isSureHost(tokens []*dataplanev1.UriToken) bool {
	for _, token := range tokens {
		isOdd := func(c rune) bool { return !strings.ContainsRune(ofHosts, c) }
		if token.GetKind() != dataplanev1.UriTokenKind_URI_TOKEN_KIND_TEXT || token.GetText() == "" ||
			strings.ContainsFunc(token.GetText(), isOdd) {
			return false
		}
	}
	return true
}

// ofHosts are the characters that engines take in a host that they make.
const ofHosts = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~[]:"

func isSurePath(tokens []*dataplanev1.UriToken) bool {
	for _, token := range tokens {
		if token.GetKind() != dataplanev1.UriTokenKind_URI_TOKEN_KIND_TEXT {
			return false
		}
	}
	return true
}

// OfConnections reads the rules of a policy for connections.
func OfConnections(policy *dataplanev1.NetworkPolicy, groups *Groups) (list List) {
	for _, from := range policy.GetRules() {
		read := &reader{groups: groups, rule: &Rule{Object: policy.GetName(), Name: from.GetName(),
			Field: fmt.Sprintf("rules[%d]", from.GetPosition()), until: from.GetUntilUnixS(),
			ends: from.GetRate() == nil}}
		read.connection(from.GetMatch(), "match.vs_port")
		list = append(list, read.done())
	}
	return list
}

// OfPools reads a rule that chooses a pool for connections: of its comparisons one must hold.
func OfPools(from *dataplanev1.PoolRule, object, field, name string, groups *Groups) *Rule {
	read := &reader{groups: groups, rule: &Rule{Object: object, Field: field, Name: name, any: true, ends: true}}
	if match := from.GetMatch(); match != nil {
		read.connection(match, "match.port")
	}
	return read.done()
}

// Access are the rules that say which requests need a token, and those that say what tokens are good for.
type Access struct{ Authentication, Authorization List }

// OfAccess reads the rules of a policy.
func OfAccess(access *dataplanev1.AccessRules, object string, groups *Groups) (lists Access) {
	read := func(from *dataplanev1.HttpRule, list string) *reader {
		made := &reader{groups: groups, rule: &Rule{Object: object, Name: from.GetName(), ends: true,
			Field: fmt.Sprintf("%s[%d]", list, from.GetPosition())}}
		made.http(from.GetMatch(), "match.")
		return made
	}
	for _, from := range access.GetAuthentication() {
		rule := read(from.GetRule(), "authentication_policy.authn_rules").done()
		lists.Authentication = append(lists.Authentication, rule)
	}
	for _, from := range access.GetAuthorization() {
		rule := read(from.GetRule(), "authorization_policy.authz_rules")
		for _, claim := range from.GetClaims() {
			rule.claim(claim, from.GetAllow() != nil)
		}
		lists.Authorization = append(lists.Authorization, rule.done())
	}
	return lists
}

// Find returns the rules of both lists without effect.
func (a Access) Find() []Shadowed {
	return slices.Concat(a.Authentication.Find(), a.Authorization.Find())
}

func (r *reader) claim(from *dataplanev1.ClaimMatch, lets bool) {
	r.rule.token = refusesBy
	if lets {
		r.rule.token = letsBy
	}
	r.add(condition{about: "claim " + from.GetName(), field: "match.access_token", opaque: exactly(from)})
}

// OfHost reads a rule by which a child gets requests of a host.
func OfHost(from *dataplanev1.HostRule, field string, groups *Groups) *Rule {
	read := &reader{groups: groups, rule: &Rule{Field: field, Name: from.GetName()}}
	read.http(from.GetMatch(), "matches.")
	read.textsOf(from.GetPath(), path("matches."))
	return read.done()
}
