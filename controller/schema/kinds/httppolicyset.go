package kinds

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// HTTPPolicySet has rules for requests and responses of HTTP. Virtual services list the sets that they use.
type HTTPPolicySet struct {
	Identity
	Named
	Owned
	Description   string              `json:"description"`
	Markers       []Marker            `json:"markers"`
	CreatedBy     string              `json:"created_by"`
	CloudChecksum string              `json:"cloud_config_cksum"`
	Internal      bool                `json:"is_internal_policy" default:"false"` // of a program, which looks for it
	Security      *HTTPSecurityPolicy `json:"http_security_policy"`
	Request       *HTTPRequestPolicy  `json:"http_request_policy"`
	Response      *HTTPResponsePolicy `json:"http_response_policy"`
}

// HTTPSecurityPolicy says which requests pass. The first rule that decides ends it.
type HTTPSecurityPolicy struct {
	Rules []HTTPSecurityRule `json:"rules" items:"1024"`
}

// HTTPRequestPolicy says what happens to requests. Each rule that matches acts.
type HTTPRequestPolicy struct {
	Rules []HTTPRequestRule `json:"rules" items:"1024"`
}

// HTTPResponsePolicy does the same for responses of servers.
type HTTPResponsePolicy struct {
	Rules []HTTPResponseRule `json:"rules" items:"1024"`
}

// HTTPSecurityRule is a rule that decides about a request.
type HTTPSecurityRule struct {
	Name   string              `json:"name" required:"true"`
	Index  uint32              `json:"index" required:"true"`
	Enable bool                `json:"enable" default:"true"`
	Match  *MatchTarget        `json:"match"`
	Action *HTTPSecurityAction `json:"action"`
	Log    bool                `json:"log"`
}

// HTTPRequestRule is a rule that acts on a request.
type HTTPRequestRule struct {
	Name       string                `json:"name" required:"true"`
	Index      uint32                `json:"index" required:"true"`
	Enable     bool                  `json:"enable" default:"true"`
	Match      *MatchTarget          `json:"match"`
	Edits      []HTTPHdrAction       `json:"hdr_action" items:"64"`
	Redirect   *HTTPRedirectAction   `json:"redirect_action"`
	Rewrite    *HTTPRewriteURLAction `json:"rewrite_url_action"`
	Switching  *HTTPSwitchingAction  `json:"switching_action"`
	Log        bool                  `json:"log"`
	AllHeaders bool                  `json:"all_headers"`
}

// HTTPResponseRule is a rule that acts on a response.
type HTTPResponseRule struct {
	Name       string                   `json:"name" required:"true"`
	Index      uint32                   `json:"index" required:"true"`
	Enable     bool                     `json:"enable" default:"true"`
	Match      *ResponseMatchTarget     `json:"match"`
	Edits      []HTTPHdrAction          `json:"hdr_action" items:"64"`
	Location   *HTTPRewriteLocHdrAction `json:"loc_hdr_action"`
	Log        bool                     `json:"log"`
	AllHeaders bool                     `json:"all_headers"`
}

// HTTPPolicies is a set that a virtual service uses, and its place among the others.
type HTTPPolicies struct {
	SetRef string `json:"http_policy_set_ref" ref:"httppolicyset" required:"true"`
	Index  uint32 `json:"index" required:"true"`
}

func init() {
	schema.Register[HTTPPolicySet](schema.Definition{
		SlowToCheck: true,
		Private:     true,
		Serving:     schema.PartOfService,
		Columns: []column.Column{
			column.Of("SECURITY RULES", rulesIn("http_security_policy")),
			column.Of("REQUEST RULES", rulesIn("http_request_policy")),
			column.Of("RESPONSE RULES", rulesIn("http_response_policy")),
		},
		Example: "  weir httppolicyset create house http_security_policy.rules[0].name=admin " +
			"http_security_policy.rules[0].index=1 http_security_policy.rules[0].match.path.match_str[0]=/admin " +
			"http_security_policy.rules[0].action.action=" + CloseConnection,
		Kept: []schema.Rule{
			schema.Closes(noReputation,
				`http_security_policy.rules.match.ip_reputation_type
				http_request_policy.rules.match.ip_reputation_type`),
			schema.Closes(noBots,
				`http_security_policy.rules.match.bot_detection_result
				http_request_policy.rules.match.bot_detection_result`),
			schema.Closes(noFingerprints,
				`http_security_policy.rules.match.tls_fingerprint_match
				http_request_policy.rules.match.tls_fingerprint_match`),
			schema.NoEffect(geoDB, "geo_db_ref"),
			schema.NoEffect(reputationDB, "ip_reputation_db_ref"),
			schema.NoEffect("ip, which is required, says which server",
				"http_request_policy.rules.switching_action.server.hostname"),
			schema.NoEffect(ownLength,
				`http_security_policy.rules.action.file.file_length
				http_request_policy.rules.switching_action.file.file_length`),
			schema.NoEffect("values that rules write are in no record: these have the fields that clients and servers sent",
				`http_request_policy.rules.hdr_action.hdr.value.is_sensitive
				http_response_policy.rules.hdr_action.hdr.value.is_sensitive`),
			schema.NoEffect(schema.Unheeded, ""),
		},
		Unread: []schema.Rule{
			unknownPlaces("http_security_policy.rules.match", "http_request_policy.rules.match",
				"http_response_policy.rules.match"),
			schema.Closes("engines do not send requests to other services for inspection yet",
				"http_security_policy.rules.action.action="+checkByICAP),
		},
	})
}

// SwitchedOff tells whether a rule is one that nobody tries.
func (*HTTPSecurityRule) SwitchedOff(o schema.Object) bool { return o["enable"] == false }

// SwitchedOff tells whether a rule is one that nobody tries.
func (*HTTPRequestRule) SwitchedOff(o schema.Object) bool { return o["enable"] == false }

// SwitchedOff tells whether a rule is one that nobody tries.
func (*HTTPResponseRule) SwitchedOff(o schema.Object) bool { return o["enable"] == false }

// rulesIn counts the rules of a policy, and how many of them are in force.
func rulesIn(policy string) func(column.Row) string { return rulesOf(policy, "rules") }

// rulesOf does the same for the list at a path.
func rulesOf(path ...string) func(column.Row) string {
	return func(row column.Row) string {
		rules := column.List(row.Object, path...)
		off := 0
		for _, rule := range rules {
			if column.At(rule, "enable") == false {
				off++
			}
		}
		switch {
		case len(rules) == 0:
			return ""
		case off > 0:
			return fmt.Sprintf("%d, %d of them off", len(rules), off)
		}
		return fmt.Sprint(len(rules))
	}
}

// SecurityRules are the rules in force, in their order, with their places in the list.
func (s *HTTPPolicySet) SecurityRules() []Placed[HTTPSecurityRule] {
	if s.Security == nil {
		return nil
	}
	return inForce(s.Security.Rules, func(r *HTTPSecurityRule) (bool, uint32) { return r.Enable, r.Index })
}

// RequestRules are the rules in force, in their order, with their places in the list.
func (s *HTTPPolicySet) RequestRules() []Placed[HTTPRequestRule] {
	if s.Request == nil {
		return nil
	}
	return inForce(s.Request.Rules, func(r *HTTPRequestRule) (bool, uint32) { return r.Enable, r.Index })
}

// ResponseRules are the rules in force, in their order, with their places in the list.
func (s *HTTPPolicySet) ResponseRules() []Placed[HTTPResponseRule] {
	if s.Response == nil {
		return nil
	}
	return inForce(s.Response.Rules, func(r *HTTPResponseRule) (bool, uint32) { return r.Enable, r.Index })
}

// Placed is a rule with its place in the operator's list.
type Placed[T any] struct {
	At   int
	Rule *T
}

func inForce[T any](rules []T, of func(*T) (enabled bool, index uint32)) (some []Placed[T]) {
	for i := range rules {
		if enabled, _ := of(&rules[i]); enabled {
			some = append(some, Placed[T]{i, &rules[i]})
		}
	}
	slices.SortStableFunc(some, func(a, b Placed[T]) int {
		_, first := of(a.Rule)
		_, second := of(b.Rule)
		return cmp.Compare(first, second)
	})
	return some
}

func (s *HTTPPolicySet) Validate() *schema.FieldError {
	return cmp.Or(s.Security.check("http_security_policy.rules"), s.Request.check("http_request_policy.rules"),
		s.Response.check("http_response_policy.rules"))
}

func (p *HTTPSecurityPolicy) check(field string) *schema.FieldError {
	if p == nil {
		return nil
	}
	return checkRules(field, p.Rules, func(r *HTTPSecurityRule, at string) (string, uint32, *schema.FieldError) {
		return r.Name, r.Index, r.check(at)
	})
}

func (p *HTTPRequestPolicy) check(field string) *schema.FieldError {
	if p == nil {
		return nil
	}
	return checkRules(field, p.Rules, func(r *HTTPRequestRule, at string) (string, uint32, *schema.FieldError) {
		return r.Name, r.Index, r.check(at)
	})
}

func (p *HTTPResponsePolicy) check(field string) *schema.FieldError {
	if p == nil {
		return nil
	}
	return checkRules(field, p.Rules, func(r *HTTPResponseRule, at string) (string, uint32, *schema.FieldError) {
		return r.Name, r.Index, r.check(at)
	})
}

// checkRules checks each rule, and that no two have one index. The problem names the rule.
func checkRules[T any](
	field string, rules []T, check func(rule *T, field string) (name string, index uint32, _ *schema.FieldError),
) *schema.FieldError {
	first := map[uint32]int{}
	for i := range rules {
		at := fmt.Sprintf("%s[%d]", field, i)
		name, index, problem := check(&rules[i], at)
		if earlier, taken := first[index]; problem == nil && taken {
			problem = refuse(at+".index", "%d is the index of rules[%d] already: the order would be open",
				index, earlier)
		}
		if problem != nil {
			problem.Problem = fmt.Sprintf("rule %s: %s", name, problem.Problem)
			return problem
		}
		first[index] = i
	}
	return nil
}

func (r *HTTPSecurityRule) check(field string) *schema.FieldError {
	if r.Action == nil {
		return refuse(field+".action", "is required: say what becomes of the requests that match")
	}
	return cmp.Or(r.Match.check(field+".match"), r.Action.check(field+".action", r.Match))
}

func (r *HTTPRequestRule) check(field string) *schema.FieldError {
	switch local := r.Switching != nil && r.Switching.Action == SelectLocal; {
	case r.Redirect != nil && (len(r.Edits) > 0 || r.Rewrite != nil || r.Switching != nil):
		return refuse(field+".redirect_action",
			"stands alone in a rule: no server sees the request that is redirected, so remove its other actions")
	case local && (len(r.Edits) > 0 || r.Rewrite != nil):
		return refuse(field+".switching_action",
			"%s stands alone in a rule: no server sees the request, so remove its other actions", SelectLocal)
	}
	return cmp.Or(r.Match.check(field+".match"), r.Match.checkRoots(field+".match"),
		checkEdits(field+".hdr_action", r.Edits, true),
		r.Redirect.check(field+".redirect_action", r.Match), r.Rewrite.check(field+".rewrite_url_action", r.Match),
		r.Switching.check(field+".switching_action"))
}

func (r *HTTPResponseRule) check(field string) *schema.FieldError {
	return cmp.Or(r.Match.check(field+".match"), r.ofRequest().checkRoots(field+".match"),
		checkEdits(field+".hdr_action", r.Edits, false), r.Location.check(field+".loc_hdr_action"))
}

// ofRequest is what the request is compared with; nil: nothing.
func (r *HTTPResponseRule) ofRequest() *MatchTarget {
	if r.Match == nil {
		return nil
	}
	return &r.Match.MatchTarget
}
