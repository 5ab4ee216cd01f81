package kinds

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weir-lb/weir/controller/schema"
)

// AuthenticationRule says whether the requests that it matches need a token.
type AuthenticationRule struct {
	Name   string                `json:"name" required:"true"`
	Index  uint32                `json:"index" required:"true"`
	Enable bool                  `json:"enable" default:"true"`
	Match  *AuthenticationMatch  `json:"match"`
	Action *AuthenticationAction `json:"action"` // nil: a token is needed
}

// AuthenticationMatch is what a request is compared with before anything is known of its client.
type AuthenticationMatch struct {
	ClientIP *IPAddrMatch  `json:"client_ip"`
	HostHdr  *HostHdrMatch `json:"host_hdr"`
	Path     *PathMatch    `json:"path"`
}

// AuthenticationAction is what becomes of a request.
type AuthenticationAction struct {
	Type string `json:"type" enum:"AuthenticationActionType" default:"USE_DEFAULT_AUTHENTICATION"`
}

// AuthorizationPolicy says what requests with a good token may do. Those that no rule matches may all.
type AuthorizationPolicy struct {
	Rules []AuthorizationRule `json:"authz_rules" items:"256"`
}

// AuthorizationRule lets the requests that it matches in, or refuses them.
type AuthorizationRule struct {
	Name   string               `json:"name" required:"true"`
	Index  uint32               `json:"index" required:"true"`
	Enable bool                 `json:"enable" default:"true"`
	Match  *AuthorizationMatch  `json:"match" required:"true"`
	Action *AuthorizationAction `json:"action" required:"true"`
}

// AuthorizationMatch is what a request and its token are compared with. All of its parts must match.
type AuthorizationMatch struct {
	Token   *JWTMatch     `json:"access_token"`
	HostHdr *HostHdrMatch `json:"host_hdr"`
	Method  *MethodMatch  `json:"method"`
	Path    *PathMatch    `json:"path"`
}

// AuthorizationAction is what becomes of a request.
type AuthorizationAction struct {
	Type       string `json:"type" enum:"AuthorizationActionType" default:"ALLOW_ACCESS"`
	StatusCode string `json:"status_code" enum:"AuthorizationStatus"`
}

// JWTMatch compares claims of the token. All must match.
type JWTMatch struct {
	Claims []JWTClaimMatch `json:"matches" items:"64"`
}

// JWTClaimMatch compares one claim.
type JWTClaimMatch struct {
	Name        string       `json:"name" required:"true"`
	Type        string       `json:"type" enum:"JWTClaimType" required:"true"`
	IsMandatory bool         `json:"is_mandatory" required:"true"` // false: a token without the claim matches
	Validate    bool         `json:"validate" required:"true"`     // false: any value of the type matches
	Bool        *bool        `json:"bool_match"`
	Int         *uint32      `json:"int_match"`
	Text        *StringMatch `json:"string_match"` // its case counts
}

// What becomes of requests, and the types of claims.
const (
	SkipAuthentication = "SKIP_AUTHENTICATION"

	AllowAccess         = "ALLOW_ACCESS"
	CloseUnauthorized   = "CLOSE_CONNECTION"
	RespondUnauthorized = "HTTP_LOCAL_RESPONSE"

	BoolClaim = "JWT_CLAIM_TYPE_BOOL"
	IntClaim  = "JWT_CLAIM_TYPE_INT"
	TextClaim = "JWT_CLAIM_TYPE_STRING"
)

var (
	_ = schema.Enum("AuthenticationActionType", SkipAuthentication, "USE_DEFAULT_AUTHENTICATION")
	_ = schema.Enum("AuthorizationActionType", AllowAccess, CloseUnauthorized, RespondUnauthorized)
	_ = schema.Enum("AuthorizationStatus", "HTTP_RESPONSE_STATUS_CODE_401", "HTTP_RESPONSE_STATUS_CODE_403")
	_ = schema.Enum("JWTClaimType", BoolClaim, IntClaim, TextClaim)
)

// SwitchedOff tells whether a rule is one that nobody tries.
func (*AuthenticationRule) SwitchedOff(o schema.Object) bool { return o["enable"] == false }

// SwitchedOff tells whether a rule is one that nobody tries.
func (*AuthorizationRule) SwitchedOff(o schema.Object) bool { return o["enable"] == false }

// AuthenticationRules are the rules in force, in their order, with their places in the list.
func (p *SSOPolicy) AuthenticationRules() []Placed[AuthenticationRule] {
	if p.Authentication == nil {
		return nil
	}
	return inForce(p.Authentication.Rules, func(r *AuthenticationRule) (bool, uint32) { return r.Enable, r.Index })
}

// AuthorizationRules are the rules in force, in their order, with their places in the list.
func (p *SSOPolicy) AuthorizationRules() []Placed[AuthorizationRule] {
	if p.Authorization == nil {
		return nil
	}
	return inForce(p.Authorization.Rules, func(r *AuthorizationRule) (bool, uint32) { return r.Enable, r.Index })
}

// Skips tells whether the requests that the rule matches need no token.
func (r *AuthenticationRule) Skips() bool {
	return r.Action != nil && r.Action.Type == SkipAuthentication
}

// Allows tells whether the rule lets the requests in that it matches.
func (r *AuthorizationRule) Allows() bool { return r.Action.Type == AllowAccess }

// Target is the match as one of HTTP rules; nil: every request matches.
func (m *AuthenticationMatch) Target() *MatchTarget {
	if m == nil {
		return nil
	}
	return &MatchTarget{ClientIP: m.ClientIP, HostHdr: m.HostHdr, Path: m.Path}
}

// Target is what the request is compared with, as in HTTP rules; nil: nothing.
func (m *AuthorizationMatch) Target() *MatchTarget {
	if m == nil {
		return nil
	}
	return &MatchTarget{HostHdr: m.HostHdr, Method: m.Method, Path: m.Path}
}

// IsForAll tells whether every request with a good token matches.
func (m *AuthorizationMatch) IsForAll() bool {
	return m.Token == nil && m.HostHdr == nil && m.Method == nil && m.Path == nil
}

// Claims are those that the token is compared with.
func (m *AuthorizationMatch) Claims() []JWTClaimMatch {
	if m == nil || m.Token == nil {
		return nil
	}
	return m.Token.Claims
}

// CheckRules says which rule engines could not carry out, or would carry out in another way than it looks. Objects from
// before rules had an effect were not checked.
func (p *SSOPolicy) CheckRules() *schema.FieldError {
	if p.Authentication != nil {
		if problem := schema.CheckFields("authentication_policy", p.Authentication); problem != nil {
			return problem
		}
	}
	if p.Authorization != nil {
		if problem := schema.CheckFields("authorization_policy", p.Authorization); problem != nil {
			return problem
		}
	}
	const authorization = "authorization_policy.authz_rules"
	var authn []AuthenticationRule
	var authz []AuthorizationRule
	if p.Authentication != nil {
		authn = p.Authentication.Rules
	}
	if p.Authorization != nil {
		authz = p.Authorization.Rules
	}
	problem := cmp.Or(
		checkRules("authentication_policy.authn_rules", authn,
			func(r *AuthenticationRule, at string) (string, uint32, *schema.FieldError) {
				return r.Name, r.Index, r.check(at)
			}),
		checkRules(authorization, authz, func(r *AuthorizationRule, at string) (string, uint32, *schema.FieldError) {
			return r.Name, r.Index, r.check(at)
		}))
	allows := func(placed Placed[AuthorizationRule]) bool { return placed.Rule.Allows() }
	refuses := func(placed Placed[AuthorizationRule]) bool { return !placed.Rule.Allows() }
	switch rules := p.AuthorizationRules(); {
	case problem != nil:
		return problem
	case slices.ContainsFunc(rules, allows) && !slices.ContainsFunc(rules, refuses):
		return refuse(authorization, "only allow, and a request that no rule matches is let in, too: add a rule with "+
			"%s behind them for the requests that are not, or remove them", RespondUnauthorized)
	}
	return nil
}

func (r *AuthenticationRule) check(field string) *schema.FieldError {
	isForAll := r.Match == nil || r.Match.ClientIP == nil && r.Match.HostHdr == nil && r.Match.Path == nil
	if r.Skips() && isForAll {
		return refuse(field+".match", "names nothing, so that no request would need a token: "+
			"say which requests need none, or remove sso_policy_ref from the virtual service")
	}
	return r.Match.Target().check(field + ".match")
}

func (r *AuthorizationRule) check(field string) *schema.FieldError {
	switch {
	case r.Match == nil:
		return refuse(field+".match", "is required: give {} for every request")
	case r.Action == nil:
		return refuse(field+".action", "is required: say what becomes of the requests that match")
	case r.Match.Token != nil && len(r.Match.Token.Claims) == 0:
		return refuse(field+".match.access_token.matches", "is empty: give at least one claim")
	case r.Action.Type == RespondUnauthorized && r.Action.StatusCode == "":
		return refuse(field+".action.status_code", "is required by %s", RespondUnauthorized)
	case r.Action.Type != RespondUnauthorized && r.Action.StatusCode != "":
		return refuse(field+".action.status_code", "is for %s", RespondUnauthorized)
	}
	for i := range r.Match.Claims() {
		at := fmt.Sprintf("%s.match.access_token.matches[%d]", field, i)
		if problem := r.Match.Token.Claims[i].check(at); problem != nil {
			return problem
		}
	}
	return r.Match.Target().check(field + ".match")
}

func (m *JWTClaimMatch) check(field string) *schema.FieldError {
	values := []struct {
		name, of string
		given    bool
	}{
		{"bool_match", BoolClaim, m.Bool != nil}, {"int_match", IntClaim, m.Int != nil},
		{"string_match", TextClaim, m.Text != nil},
	}
	for _, value := range values {
		switch {
		case value.given && m.Type != value.of:
			return refuse(field+"."+value.name, "is for claims of %s", value.of)
		case value.given && !m.Validate:
			return refuse(field+"."+value.name, "is compared only if validate is true")
		case !value.given && m.Type == value.of && m.Validate:
			return refuse(field+"."+value.name, "is required: validate is true, and there is nothing to compare with")
		}
	}
	switch {
	case m.Name == "":
		return refuse(field+".name", "is empty")
	case len(m.Name) > textMost:
		return refuse(field+".name", "has %d bytes: give at most %d", len(m.Name), textMost)
	case !m.IsMandatory && !m.Validate:
		return refuse(field, "compares nothing: is_mandatory and validate are false")
	case m.Text != nil:
		return checkTexts(field+".string_match", "match_str", m.Text.Criteria, m.Text.Values, len(m.Text.GroupRefs))
	}
	return nil
}
