package plan

import (
	"slices"
	"strings"
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
)

const limitedByRates = `
applicationprofile {"name": "proxied", "type": "APPLICATION_PROFILE_TYPE_HTTP"}
pool {"name": "shop", "servers": [{"ip": {"addr": "10.0.0.1", "type": "V4"}}]}
pool {"name": "other", "servers": [{"ip": {"addr": "10.0.0.2", "type": "V4"}}]}
httppolicyset {"name": "rules", "http_security_policy": {"rules": [{"name": "one", "index": 1, "enable": true,
	"action": {"action": "HTTP_SECURITY_ACTION_CLOSE_CONN"}}]}}
virtualservice {"name": "a", "http_policies": [{"index": 1, "http_policy_set_ref": "/api/httppolicyset?name=rules"}],
	"vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}],
	"pool_ref": "/api/pool?name=shop", "application_profile_ref": "/api/applicationprofile?name=proxied"}
virtualservice {"name": "other",
	"vip": [{"ip_address": {"addr": "192.0.2.2", "type": "V4"}}], "services": [{"port": 80}], "pool_ref": "/api/pool?name=other"}`

// storedLimit is a field with a limit, in an object of the virtual service "a".
type storedLimit struct{ kind, name, field string }

// limitsOfRequests are the fields with limits of all requests that a virtual service gets.
var limitsOfRequests = []storedLimit{
	{"virtualservice", "a", "requests_rate_limit"},
	{"applicationprofile", "proxied", ofProfile + "client_ip_requests_rate_limit"},
	{"applicationprofile", "proxied", ofProfile + "http_header_rate_limits[0]"},
	{"applicationprofile", "proxied", ofProfile + "client_ip_to_uri_requests_rate_limit"},
	{"applicationprofile", "proxied", ofProfile + "uri_requests_rate_limit"},
	{"applicationprofile", "proxied", ofProfile + "client_ip_failed_requests_rate_limit"},
	{"applicationprofile", "proxied", ofProfile + "client_ip_to_uri_failed_requests_rate_limit"},
	{"applicationprofile", "proxied", ofProfile + "uri_failed_requests_rate_limit"},
}

var limitsOfConnections = []storedLimit{
	{"virtualservice", "a", "connections_rate_limit"},
	{"applicationprofile", "proxied", ofProfile + "client_ip_connections_rate_limit"},
}

var (
	limitOfRule    = storedLimit{"httppolicyset", "rules", "http_security_policy.rules[0].action.rate_profile"}
	limitOfServers = storedLimit{"pool", "shop", "max_conn_rate_per_server"}
)

// compileWith returns the Plan of two virtual services, of which "a" has a value that was stored as it came.
func compileWith(t *testing.T, at storedLimit, value any) (*enginev1.Plan, []model.Finding) {
	t.Helper()
	objects := objectsIn(t, limitedByRates)
	stored := objectOf(t, objects, at.kind, at.name)
	if at == limitOfRule {
		rules := stored["http_security_policy"].(schema.Object)["rules"].([]any)
		rules[0].(schema.Object)["action"] =
			schema.Object{"action": "HTTP_SECURITY_ACTION_RATE_LIMIT", "rate_profile": value}
	} else {
		steps := strings.Split(at.field, ".")
		for _, step := range steps[:len(steps)-1] {
			if stored[step] == nil {
				stored[step] = schema.Object{}
			}
			stored = stored[step].(schema.Object)
		}
		last, isList := strings.CutSuffix(steps[len(steps)-1], "[0]")
		if stored[last] = value; isList {
			stored[last] = []any{value}
		}
	}
	m, _ := model.Build(7, objects)
	compiled, findings := compilerOf(m, nil, placed(m)).Compile(engineUUID, nil)
	for _, problem := range refusedByEngines(compiled) {
		t.Errorf("%s %v: engines refuse %s", at.field, value, problem)
	}
	return compiled, findings
}

// limitIn is the only limit of the virtual service "a".
func limitIn(compiled *enginev1.Plan) *dataplanev1.RateLimit {
	var limits []*dataplanev1.RateLimit
	for _, resource := range compiled.GetResources() {
		vs := resource.GetVirtualService()
		limits = slices.Concat(limits, vs.GetRequestLimits(), vs.GetConnectionLimits())
		for _, rule := range resource.GetHttpPolicySet().GetSecurityRules() {
			limits = append(limits, rule.GetRateLimit())
		}
		limits = append(limits, resource.GetPool().GetPool().GetConnectRate())
	}
	limits = slices.DeleteFunc(limits, func(limit *dataplanev1.RateLimit) bool { return limit == nil })
	if len(limits) != 1 {
		return nil
	}
	return limits[0]
}

func hasFinding(findings []model.Finding, kind, field string) bool {
	return slices.ContainsFunc(findings, func(finding model.Finding) bool {
		return finding.Kind == kind && finding.Field == field
	})
}

func sorry() schema.Object {
	return schema.Object{"protocol": "HTTPS",
		"host": hostOf(schema.Object{"type": "URI_TOKEN_TYPE_STRING", "str_value": "sorry.test"})}
}

// withHeader names the field of each of whose values there may be a limit.
func (at storedLimit) withHeader(limit schema.Object) schema.Object {
	if strings.HasSuffix(at.field, "http_header_rate_limits[0]") {
		limit["http_header"] = "X-Key"
	}
	return limit
}

func TestLimitsFromBeforeTheyHadAnEffectHaveTheDefaults(t *testing.T) {
	for _, at := range slices.Concat(limitsOfRequests, []storedLimit{limitOfRule, limitOfServers}) {
		compiled, findings := compileWith(t, at, at.withHeader(schema.Object{
			"rate_limiter": schema.Object{"count": int64(5)},
			"action":       schema.Object{"type": "RL_ACTION_REDIRECT", "redirect": sorry()}}))
		limit := limitIn(compiled)
		if limit.GetCount() != 5 || limit.GetPeriodS() != 1 || limit.GetRedirect().GetStatus() != 302 ||
			!limit.GetRedirect().GetKeepQuery() {
			t.Errorf("%s: got %v and the findings %v", at.field, limit, findings)
		}
		compiled, findings = compileWith(t, at, at.withHeader(schema.Object{
			"rate_limiter": schema.Object{"count": int64(5)}, "action": schema.Object{"type": "RL_ACTION_LOCAL_RSP"}}))
		if limit := limitIn(compiled); limit.GetResponse().GetStatus() != 429 {
			t.Errorf("%s: got %v and the findings %v", at.field, limit, findings)
		}
	}
	for _, at := range slices.Concat(limitsOfRequests, limitsOfConnections) {
		compiled, findings := compileWith(t, at, at.withHeader(schema.Object{
			"rate_limiter": schema.Object{"count": int64(5)}}))
		if limit := limitIn(compiled); limit.GetCount() != 5 || limit.GetPeriodS() != 1 || limit.GetAction() != nil {
			t.Errorf("%s: got %v and the findings %v: want that it only reports", at.field, limit, findings)
		}
		compiled, findings = compileWith(t, at, at.withHeader(schema.Object{}))
		if limit := limitIn(compiled); limit.GetCount() != 1_000_000_000 || servicesOf(compiled)["a"] == nil {
			t.Errorf("%s: got %v and the findings %v: want the default number", at.field, limit, findings)
		}
	}
}

// wrongLimits are limits that engines refuse, each with the field that is wrong.
var wrongLimits = []struct {
	field string
	limit func() schema.Object
}{
	{"rate_limiter.period", func() schema.Object {
		return schema.Object{"rate_limiter": schema.Object{"count": int64(5), "period": int64(2_000_000_000)},
			"action": schema.Object{}}
	}},
	{"rate_limiter.count", func() schema.Object {
		return schema.Object{"rate_limiter": schema.Object{"count": int64(0)}, "action": schema.Object{}}
	}},
	{"action.type", func() schema.Object {
		return schema.Object{"rate_limiter": schema.Object{}, "action": schema.Object{"type": "RL_ACTION_NAP"}}
	}},
	{"action.status_code", func() schema.Object {
		return schema.Object{"rate_limiter": schema.Object{}, "action": schema.Object{"status_code": "MANY"}}
	}},
	{"action.redirect", func() schema.Object {
		return schema.Object{"rate_limiter": schema.Object{}, "action": schema.Object{"type": "RL_ACTION_REDIRECT"}}
	}},
	{"action.redirect.status_code", func() schema.Object {
		to := sorry()
		to["status_code"] = "MOVED"
		return redirecting(to)
	}},
	{"action.redirect.add_string", func() schema.Object {
		to := sorry()
		to["add_string"] = "a b"
		return redirecting(to)
	}},
	{"action.redirect.host.tokens[0].type", func() schema.Object {
		return redirecting(schema.Object{"protocol": "HTTP", "host": hostOf(schema.Object{"str_value": "a.test"})})
	}},
}

// What no default mends closes the virtual services with the limit, and no others.
func TestLimitsThatEnginesRefuseCloseTheirOwnVirtualServiceOnly(t *testing.T) {
	closed := func(at storedLimit, value any, field string) {
		t.Helper()
		compiled, findings := compileWith(t, at, value)
		if services := servicesOf(compiled); services["a"] != nil || services["other"] == nil {
			t.Errorf("%s %v: got %v", at.field, value, services)
		}
		if !hasFinding(findings, at.kind, field) {
			t.Errorf("%s %v: got the findings %v: want one about %s", at.field, value, findings, field)
		}
	}
	for _, wrong := range wrongLimits {
		for _, at := range append(slices.Clone(limitsOfRequests), limitOfRule) {
			closed(at, at.withHeader(wrong.limit()), at.field+"."+wrong.field)
		}
	}
	for _, at := range limitsOfConnections {
		for _, wrong := range wrongLimits[:4] {
			closed(at, wrong.limit(), at.field+"."+wrong.field)
		}
		closed(at, redirecting(sorry()), at.field+".action.type")
	}
	five := func() schema.Object {
		return schema.Object{"rate_limiter": schema.Object{"count": int64(5)}, "action": schema.Object{}}
	}
	ofHeaders := storedLimit{"applicationprofile", "proxied", ofProfile + "http_header_rate_limits[0]"}
	closed(ofHeaders, five(), ofHeaders.field+".http_header")
	ofAll, spaced := limitsOfRequests[0], five()
	spaced["http_cookie"] = "my cookie"
	closed(ofAll, spaced, ofAll.field+".http_cookie")
	closed(limitOfRule, schema.Object{"action": schema.Object{}}, limitOfRule.field+".rate_limiter")
	closed(limitOfRule, schema.Object{"rate_limiter": schema.Object{}}, limitOfRule.field+".action")
	for _, at := range []storedLimit{
		{"virtualservice", "a", "max_cps_per_client"},
		{"applicationprofile", "proxied", "http_profile.max_rps_cip"},
		{"applicationprofile", "proxied", "http_profile.max_bad_rps_uri"},
	} {
		closed(at, int64(2_000_000_000), at.field)
	}
}

// A pool is still of use without the limit, which is left out with a finding.
func TestLimitsOfServersThatEnginesRefuseAreLeftOut(t *testing.T) {
	leftOut := func(limit schema.Object, field string) {
		t.Helper()
		compiled, findings := compileWith(t, limitOfServers, limit)
		if limit := limitIn(compiled); limit != nil || servicesOf(compiled)["a"] == nil {
			t.Errorf("%s: got %v", field, limit)
		}
		if !hasFinding(findings, limitOfServers.kind, limitOfServers.field+"."+field) {
			t.Errorf("got the findings %v: want one about %s", findings, field)
		}
	}
	for _, wrong := range wrongLimits {
		leftOut(wrong.limit(), wrong.field)
	}
	leftOut(schema.Object{"rate_limiter": schema.Object{}}, "action")
	leftOut(schema.Object{"action": schema.Object{}}, "rate_limiter")
}
