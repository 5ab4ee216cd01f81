package plan

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http/httpguts"
	"google.golang.org/protobuf/reflect/protoreflect"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
)

// Objects from before engines acted on a field were kept as they came: without defaults and checks.
func TestObjectsFromBeforeAFieldHadAnEffectMakeAPlanThatEnginesTake(t *testing.T) {
	objects := objectsIn(t, `
applicationpersistenceprofile {"name": "session", "persistence_type": "PERSISTENCE_TYPE_APP_COOKIE",
	"app_cookie_persistence_profile": {"prst_hdr_name": "id"}}
applicationprofile {"name": "proxied", "type": "APPLICATION_PROFILE_TYPE_HTTP", "http_profile": {"use_true_client_ip": true}}
pool {"name": "shop", "servers": [{"ip": {"addr": "10.0.0.1", "type": "V4"}}],
	"application_persistence_profile_ref": "/api/applicationpersistenceprofile?name=session"}
vsdatascriptset {"name": "limits", "datascript": [{"evt": "VS_DATASCRIPT_EVT_HTTP_REQ", "script": "avi.vs.log('a')"}]}
virtualservice {"name": "a", "vs_datascripts": [{"index": 1, "vs_datascript_set_ref": "/api/vsdatascriptset?name=limits"}], "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}],
	"pool_ref": "/api/pool?name=shop", "application_profile_ref": "/api/applicationprofile?name=proxied"}`)
	objectOf(t, objects, "vsdatascriptset", "limits")["rate_limiters"] =
		[]any{schema.Object{"name": "a"}, schema.Object{"name": "a"}, schema.Object{},
			schema.Object{"name": "b", "period": int64(2_000_000_000)}, schema.Object{"name": "c", "count": int64(0)}}
	objectOf(t, objects, "applicationprofile", "proxied")["dos_rl_profile"] = schema.Object{"rl_profile": schema.Object{
		"custom_requests_rate_limit": schema.Object{"rate_limiter": schema.Object{"count": int64(5)}},
		"client_ip_scanners_requests_rate_limit": schema.Object{"rate_limiter": schema.Object{},
			"action": schema.Object{
				"type": "RL_ACTION_REDIRECT",
				"redirect": schema.Object{"host": schema.Object{"type": "URI_PARAM_TYPE_TOKENIZED",
					"tokens": []any{schema.Object{"type": "URI_TOKEN_TYPE_STRING", "str_value": "no host"}}}}}},
		"uri_scanners_requests_rate_limit": schema.Object{"http_header": "X", "action": schema.Object{}}},
		"dos_profile": schema.Object{"thresh_period": int64(0), "thresh_info": []any{
			schema.Object{"attack": "POLICY_DROPS", "min_value": int64(-1), "max_value": int64(5_000_000_000)},
			schema.Object{"max_value": int64(1)}}}}
	objectOf(t, objects, "applicationprofile", "proxied")["http_profile"] =
		schema.Object{"use_true_client_ip": true, "true_client_ip": schema.Object{"headers": []any{"X Real IP"}}}
	objectOf(t, objects, "applicationpersistenceprofile", "session")["app_cookie_persistence_profile"] =
		schema.Object{"prst_hdr_name": "my cookie"}
	objectOf(t, objects, "virtualservice", "a")["content_rewrite"] = schema.Object{"rsp_rewrite_rules": []any{
		schema.Object{"enable": true, "pairs": []any{
			schema.Object{"search_string": schema.Object{"val": "b"}, "replacement_string": schema.Object{"val": "c"}},
			schema.Object{"search_string": schema.Object{"type": "SEARCH_LITERAL_STRING"}},
		}},
	}}
	m, _ := model.Build(7, objects)
	compiled, findings := compilerOf(m, nil, placed(m)).Compile(engineUUID, nil)
	for _, problem := range refusedByEngines(compiled) {
		t.Errorf("engines refuse %s", problem)
	}
	var served bool
	for _, resource := range compiled.GetResources() {
		if persistence := resource.GetPool().GetPool().GetPersistence(); persistence != nil {
			t.Errorf("got %v: engines refuse this name", persistence)
		}
		if set := resource.GetScriptSet(); set != nil {
			if limits := set.GetLimits(); len(limits) != 1 || limits[0].GetCount() == 0 || limits[0].GetPeriodS() != 1 {
				t.Errorf("got the limits %v: want one with the defaults", limits)
			}
		}
		if vs := resource.GetVirtualService(); vs != nil {
			served = true
			if limit := vs.GetScriptLimit(); limit.GetCount() != 5 || limit.GetPeriodS() != 1 {
				t.Errorf("got the limit %v: want the default period", limit)
			}
			if limits := vs.GetStrangerLimits(); len(limits) > 0 {
				t.Errorf("got the limits %v: engines refuse them", limits)
			}
			if index := vs.GetHttp().GetTrueClient().GetIndex(); index != 0 {
				t.Errorf("got the client at %d: want the default", index)
			}
			rewrite := vs.GetHttp().GetContentRewrite()
			if pairs := rewrite.GetPairs(); len(pairs) != 1 || pairs[0].GetSearch() != "b" ||
				pairs[0].GetReplacement() != "c" {
				t.Errorf("got the pairs %v", pairs)
			}
			if !slices.Contains(rewrite.GetContentTypes(), "text/html") {
				t.Errorf("got the types %v: want the default", rewrite.GetContentTypes())
			}
		}
	}
	if !served {
		t.Error("the virtual service is not served")
	}
	for _, field := range []string{
		"app_cookie_persistence_profile.prst_hdr_name",
		"http_profile.true_client_ip",
		"dos_rl_profile.rl_profile.client_ip_scanners_requests_rate_limit.action.redirect.protocol",
		"dos_rl_profile.rl_profile.uri_scanners_requests_rate_limit.http_header",
		"dos_rl_profile.dos_profile.thresh_info[0].min_value",
		"dos_rl_profile.dos_profile.thresh_info[1].attack",
		"rate_limiters[1].name",
		"rate_limiters[2].name",
		"rate_limiters[3].period",
		"rate_limiters[4].count",
		"content_rewrite.rsp_rewrite_rules[0].pairs[1].search_string.val",
	} {
		if !slices.ContainsFunc(findings, func(finding model.Finding) bool { return finding.Field == field }) {
			t.Errorf("got the findings %v: want one about %s", findings, field)
		}
	}
}

const limitedByScripts = `
applicationprofile {"name": "proxied", "type": "APPLICATION_PROFILE_TYPE_HTTP"}
pool {"name": "shop", "servers": [{"ip": {"addr": "10.0.0.1", "type": "V4"}}]}
vsdatascriptset {"name": "limits", "datascript": [{"evt": "VS_DATASCRIPT_EVT_HTTP_REQ", "script": "avi.vs.log('a')"}]}
virtualservice {"name": "a", "vs_datascripts": [{"index": 1, "vs_datascript_set_ref": "/api/vsdatascriptset?name=limits"}],
	"vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}],
	"pool_ref": "/api/pool?name=shop", "application_profile_ref": "/api/applicationprofile?name=proxied"}
virtualservice {"name": "without scripts",
	"vip": [{"ip_address": {"addr": "192.0.2.2", "type": "V4"}}], "services": [{"port": 80}],
	"pool_ref": "/api/pool?name=shop", "application_profile_ref": "/api/applicationprofile?name=proxied"}`

// compileWithCustomLimit returns the Plan of two virtual services, of which one has scripts.
func compileWithCustomLimit(t *testing.T, limit schema.Object) (*enginev1.Plan, []model.Finding) {
	t.Helper()
	objects := objectsIn(t, limitedByScripts)
	objectOf(t, objects, "applicationprofile", "proxied")["dos_rl_profile"] = schema.Object{
		"rl_profile": schema.Object{"custom_requests_rate_limit": limit}}
	m, _ := model.Build(7, objects)
	return compilerOf(m, nil, placed(m)).Compile(engineUUID, nil)
}

func servicesOf(plan *enginev1.Plan) map[string]*dataplanev1.VirtualService {
	services := map[string]*dataplanev1.VirtualService{}
	for _, resource := range plan.GetResources() {
		if vs := resource.GetVirtualService(); vs != nil && !strings.HasPrefix(vs.GetUuid(), refusalPrefix) {
			services[vs.GetName()] = vs
		}
	}
	return services
}

func redirecting(redirect schema.Object) schema.Object {
	return schema.Object{"rate_limiter": schema.Object{"count": int64(5), "period": int64(1)},
		"action": schema.Object{"type": "RL_ACTION_REDIRECT", "redirect": redirect}}
}

func hostOf(token schema.Object) schema.Object {
	return schema.Object{"type": "URI_PARAM_TYPE_TOKENIZED", "tokens": []any{token}}
}

func TestLimitOfScriptsFromBeforeItHadAnEffectRedirectsByTheDefaults(t *testing.T) {
	sorry := hostOf(schema.Object{"type": "URI_TOKEN_TYPE_STRING", "str_value": "sorry.test"})
	for _, test := range []struct {
		redirect  schema.Object
		status    uint32
		keepQuery bool
	}{
		{schema.Object{"protocol": "HTTPS", "host": sorry}, 302, true},
		{schema.Object{"protocol": "HTTPS", "host": sorry, "keep_query": false,
			"status_code": "HTTP_REDIRECT_STATUS_CODE_307"}, 307, false},
	} {
		compiled, findings := compileWithCustomLimit(t, redirecting(test.redirect))
		redirect := servicesOf(compiled)["a"].GetScriptLimit().GetRedirect()
		if redirect.GetStatus() != test.status || redirect.GetKeepQuery() != test.keepQuery || !redirect.GetTls() {
			t.Errorf("%v: got %v and the findings %v", test.redirect, redirect, findings)
		}
		for _, problem := range refusedByEngines(compiled) {
			t.Errorf("%v: engines refuse %s", test.redirect, problem)
		}
	}
}

// What no default mends closes the virtual services whose scripts ask for the limit, and no others.
func TestLimitOfScriptsThatEnginesRefuseClosesVirtualServicesWithScriptsOnly(t *testing.T) {
	limited := func(limiter, action schema.Object) schema.Object {
		return schema.Object{"rate_limiter": limiter, "action": action}
	}
	five, report := schema.Object{"count": int64(5)}, schema.Object{"type": "RL_ACTION_NONE"}
	for _, test := range []struct {
		limit schema.Object
		field string
	}{
		{limited(schema.Object{"count": int64(5), "period": int64(2_000_000_000)}, report), "rate_limiter.period"},
		{limited(schema.Object{"count": int64(0)}, report), "rate_limiter.count"},
		{limited(schema.Object{"count": int64(1), "period": int64(1_000_000_000), "burst_sz": int64(2)}, report),
			"rate_limiter.burst_sz"},
		{limited(five, schema.Object{"type": "RL_ACTION_NAP"}), "action.type"},
		{limited(five, schema.Object{"type": "RL_ACTION_LOCAL_RSP", "status_code": "HTTP_TOO_MANY"}),
			"action.status_code"},
		{limited(five, schema.Object{"type": "RL_ACTION_LOCAL_RSP", "file": schema.Object{
			"content_type": "text/plain\r\nX: y", "file_content": "a"}}), "action.file.content_type"},
		{limited(five, schema.Object{"type": "RL_ACTION_REDIRECT"}), "action.redirect"},
		{redirecting(schema.Object{}), "action.redirect.protocol"},
		{redirecting(schema.Object{"protocol": "HTTP", "port": int64(70_000)}), "action.redirect.port"},
		{redirecting(schema.Object{"protocol": "HTTP", "status_code": "MOVED"}), "action.redirect.status_code"},
		{redirecting(schema.Object{"protocol": "HTTP", "add_string": "a b"}), "action.redirect.add_string"},
		{redirecting(schema.Object{"protocol": "HTTP", "host": hostOf(schema.Object{"str_value": "a.test"})}),
			"action.redirect.host.tokens[0].type"},
	} {
		compiled, findings := compileWithCustomLimit(t, test.limit)
		services := servicesOf(compiled)
		if services["a"] != nil || services["without scripts"] == nil {
			t.Errorf("%v: got %v", test.limit, services)
		}
		for _, problem := range refusedByEngines(compiled) {
			t.Errorf("%v: engines refuse %s", test.limit, problem)
		}
		field := ofProfile + "custom_requests_rate_limit." + test.field
		if !slices.ContainsFunc(findings, func(finding model.Finding) bool {
			return finding.Kind == "applicationprofile" && finding.Field == field
		}) {
			t.Errorf("%v: got the findings %v: want one about %s", test.limit, findings, field)
		}
	}
}

func objectOf(t *testing.T, objects map[string][]schema.Object, kind, name string) schema.Object {
	t.Helper()
	for _, object := range objects[kind] {
		if object["name"] == name {
			return object
		}
	}
	t.Fatalf("no %s is called %s", kind, name)
	return nil
}

const virtualHosts = `
pool {"name": "shop", "servers": [{"ip": {"addr": "10.0.0.1", "type": "V4"}}]}
virtualservice {"name": "parent", "type": "VS_TYPE_VH_PARENT", "vh_type": "VS_TYPE_VH_ENHANCED",
	"vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}], "pool_ref": "/api/pool?name=shop"}
virtualservice {"name": "child", "type": "VS_TYPE_VH_CHILD", "vh_type": "VS_TYPE_VH_ENHANCED", "pool_ref": "/api/pool?name=shop",
	"vh_parent_vs_ref": "/api/virtualservice?name=parent", "vh_matches": [{"host": "a.test", "rules": [{"name": "one", "matches": {"path": {"match_criteria": "BEGINS_WITH", "match_str": ["/a"]}}}]}]}`

// matchOf is what the only rule of the child compares.
func matchOf(t *testing.T, objects map[string][]schema.Object) schema.Object {
	t.Helper()
	host := objectOf(t, objects, "virtualservice", "child")["vh_matches"].([]any)[0].(schema.Object)
	return host["rules"].([]any)[0].(schema.Object)["matches"].(schema.Object)
}

// The same of comparisons, which older versions stored without checks: only the virtual service itself is not served.
func TestComparisonsFromBeforeTheyHadAnEffectCloseTheirOwnVirtualServiceOnly(t *testing.T) {
	places := func(all ...any) schema.Object { return schema.Object{"geo_matches": all} }
	inTest := schema.Object{
		"attribute": "ATTRIBUTE_IP_PREFIX", "values": []any{"192.0.2.0/24"}, "match_operation": "IS_IN",
	}
	clients := func(name string, one schema.Object) schema.Object {
		return schema.Object{"client_ip": schema.Object{"match_criteria": "IS_IN", name: []any{one}}}
	}
	nine := schema.Object{"addr": "10.0.0.9", "type": "V4"}
	for _, test := range []struct {
		match schema.Object
		field string // in matches
	}{
		{schema.Object{"hdrs": []any{schema.Object{"hdr": "X", "match_criteria": "HDR_EQUALS"}}}, "hdrs[0].value"},
		{schema.Object{"hdrs": []any{schema.Object{"hdr": "X", "value": []any{"a"}}}}, "hdrs[0].match_criteria"},
		{schema.Object{"hdrs": []any{schema.Object{"hdr": "X", "match_criteria": "HDR_LIKE", "value": []any{"a"}}}},
			"hdrs[0].match_criteria"},
		{schema.Object{"query": schema.Object{"match_criteria": "QUERY_MATCH_REGEX_MATCH",
			"match_str": []any{"(?=a)b"}}}, "query.match_str[0]"},
		{schema.Object{"query": schema.Object{"match_str": []any{"a"}}}, "query.match_criteria"},
		{schema.Object{"host_hdr": schema.Object{"value": []any{"a"}}}, "host_hdr.match_criteria"},
		{schema.Object{"cookie": schema.Object{"name": "c", "value": "a"}}, "cookie.match_criteria"},
		{schema.Object{"version": schema.Object{"match_criteria": "IS_IN", "versions": []any{"TWO"}}},
			"version.versions[0]"},
		{schema.Object{"method": schema.Object{"methods": []any{"HTTP_METHOD_GET"}}}, "method.match_criteria"},
		{schema.Object{"protocol": schema.Object{"match_criteria": "IS_IN"}}, "protocol.protocols"},
		{schema.Object{"vs_port": schema.Object{"match_criteria": "IS_IN", "ports": []any{int64(70_000)}}},
			"vs_port.ports[0]"},
		{schema.Object{"vs_port": schema.Object{"match_criteria": "IS_IN", "ports": []any{int64(0)}}},
			"vs_port.ports[0]"},
		{schema.Object{"client_ip": schema.Object{"addrs": []any{nine}}}, "client_ip.match_criteria"},
		{clients("addrs", schema.Object{"addr": "x"}), "client_ip.addrs[0].addr"},
		{clients("addrs", schema.Object{}), "client_ip.addrs[0].addr"},
		{clients("ranges", schema.Object{"begin": nine}), "client_ip.ranges[0].end"},
		{clients("prefixes", schema.Object{"mask": int64(8)}), "client_ip.prefixes[0].ip_addr"},
		{places(inTest, inTest), "geo_matches"},
		{places(schema.Object{"attribute": "ATTRIBUTE_IP_PREFIX", "values": []any{"192.0.2.0/24"}}),
			"geo_matches[0].match_operation"},
		{places(schema.Object{"attribute": "ATTRIBUTE_IP_PREFIX", "values": []any{}, "match_operation": "IS_IN"}),
			"geo_matches[0].values"},
		{places(schema.Object{"values": []any{"DE"}, "match_operation": "IS_IN"}), "geo_matches[0].attribute"},
		{places(schema.Object{"attribute": "ATTRIBUTE_PLANET", "values": []any{"Mars"}, "match_operation": "IS_IN"}),
			"geo_matches[0].attribute"},
	} {
		match := test.match
		objects := objectsIn(t, virtualHosts)
		maps.Copy(matchOf(t, objects), match)
		m, _ := model.Build(7, objects)
		compiled, findings := compilerOf(m, nil, placed(m)).Compile(engineUUID, nil)
		for _, problem := range refusedByEngines(compiled) {
			t.Errorf("%v: engines refuse %s", match, problem)
		}
		served := map[string]bool{}
		for _, resource := range compiled.GetResources() {
			if vs := resource.GetVirtualService(); vs != nil {
				served[vs.GetName()] = !strings.HasPrefix(vs.GetUuid(), refusalPrefix)
				for _, host := range vs.GetHostMatches() {
					for _, rule := range host.GetRules() {
						if rule.GetMatch() != nil {
							t.Errorf("%v: engines refuse %v", match, rule)
						}
					}
				}
			}
		}
		if !served["parent"] || served["child"] {
			t.Errorf("%v: got %v", match, served)
		}
		field := "vh_matches[0].rules[0].matches." + test.field
		if !slices.ContainsFunc(findings, func(finding model.Finding) bool { return finding.Field == field }) {
			t.Errorf("%v: got the findings %v: want one about %s", match, findings, field)
		}
	}
}

func TestComparisonsFromBeforeTheyHadAnEffectGetTheirDefaults(t *testing.T) {
	objects := objectsIn(t, virtualHosts)
	matchOf(t, objects)["query"] = schema.Object{"match_criteria": "QUERY_MATCH_CONTAINS", "match_str": []any{"a b"}}
	matchOf(t, objects)["client_ip"] = schema.Object{"match_criteria": "IS_NOT_IN", "addrs": []any{
		schema.Object{"addr": "10.0.0.9"}}}
	m, _ := model.Build(7, objects)
	compiled, findings := compilerOf(m, nil, placed(m)).Compile(engineUUID, nil)
	for _, problem := range refusedByEngines(compiled) {
		t.Errorf("engines refuse %s", problem)
	}
	child := servicesOf(compiled)["child"]
	if child == nil {
		t.Fatalf("the child is not served: %v", findings)
	}
	match := child.GetHostMatches()[0].GetRules()[0].GetMatch()
	if !match.GetQuery().GetDecoded() || !slices.Equal(match.GetClient().GetSubnets(), []string{"10.0.0.9/32"}) {
		t.Errorf("got %v: want the query decoded, by default", match)
	}
}

// geo_matches had no effect in rules of policies either.
func TestRuleAboutAnUnknownAttributeOfPlacesClosesItsVirtualServiceAndSaysWhy(t *testing.T) {
	planet := []any{schema.Object{
		"attribute": "ATTRIBUTE_PLANET", "values": []any{"Mars"}, "match_operation": "IS_IN"}}
	objects := objectsIn(t, `
pool {"name": "shop", "servers": [{"ip": {"addr": "10.0.0.1", "type": "V4"}}]}
httppolicyset {"name": "requests", "http_security_policy": {"rules": [{"name": "one", "index": 1, "enable": true,
	"action": {"action": "HTTP_SECURITY_ACTION_CLOSE_CONN"}}]}}
networksecuritypolicy {"name": "connections", "rules": [{"name": "one", "index": 1, "enable": true,
	"action": "NETWORK_SECURITY_POLICY_ACTION_TYPE_DENY", "match": {"vs_port": {"match_criteria": "IS_IN", "ports": [80]}}}]}
virtualservice {"name": "by requests", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}],
	"services": [{"port": 80}], "pool_ref": "/api/pool?name=shop",
	"http_policies": [{"index": 1, "http_policy_set_ref": "/api/httppolicyset?name=requests"}]}
virtualservice {"name": "by connections", "vip": [{"ip_address": {"addr": "192.0.2.2", "type": "V4"}}],
	"services": [{"port": 80}], "pool_ref": "/api/pool?name=shop",
	"network_security_policy_ref": "/api/networksecuritypolicy?name=connections"}`)
	policy := objectOf(t, objects, "httppolicyset", "requests")["http_security_policy"].(schema.Object)
	policy["rules"].([]any)[0].(schema.Object)["match"] = schema.Object{"geo_matches": planet}
	rules := objectOf(t, objects, "networksecuritypolicy", "connections")["rules"].([]any)
	rules[0].(schema.Object)["match"] = schema.Object{"geo_matches": planet}
	m, _ := model.Build(7, objects)
	compiled, findings := compilerOf(m, nil, placed(m)).Compile(engineUUID, nil)
	if services := servicesOf(compiled); len(services) > 0 {
		t.Errorf("got %v", services)
	}
	for _, field := range []string{
		"http_security_policy.rules[0].match.geo_matches[0].attribute", "rules[0].match.geo_matches[0].attribute",
	} {
		if !slices.ContainsFunc(findings, func(finding model.Finding) bool { return finding.Field == field }) {
			t.Errorf("got the findings %v: want one about %s", findings, field)
		}
	}
}

// refusedByEngines returns what dataplane/snapshot would refuse of the comparisons and limits in a Plan: rule.rs and
// rate.rs.
func refusedByEngines(plan *enginev1.Plan) (problems []string) {
	var visit func(protoreflect.Message)
	visit = func(message protoreflect.Message) {
		if problem := refusedByEngine(message.Interface()); problem != "" {
			problems = append(problems, fmt.Sprintf("%s: %v", problem, message.Interface()))
		}
		message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
			switch {
			case field.Message() == nil || field.IsMap():
			case field.IsList():
				for i := range value.List().Len() {
					visit(value.List().Get(i).Message())
				}
			default:
				visit(value.Message())
			}
			return true
		})
	}
	visit(plan.ProtoReflect())
	return problems
}

func refusedByEngine(message any) string {
	const most = 1_000_000_000
	isRate := func(count, period, burst uint32) bool {
		return count >= 1 && count <= most && period >= 1 && period <= most && burst <= most
	}
	switch m := message.(type) {
	case *dataplanev1.Server:
		address, err := netip.ParseAddr(m.GetAddress())
		address = address.Unmap()
		if err != nil || address.Zone() != "" || address.IsUnspecified() || address.IsMulticast() ||
			address.String() == "255.255.255.255" || m.GetPort() < 1 || m.GetPort() > 65535 {
			return "a server"
		}
	case *dataplanev1.RateLimit:
		redirects := []uint32{301, 302, 303, 307, 308}
		if redirect := m.GetRedirect(); redirect != nil && !slices.Contains(redirects, redirect.GetStatus()) {
			return "the status of a redirect"
		}
		if !isRate(m.GetCount(), m.GetPeriodS(), m.GetBurst()) {
			return "the numbers of a limit"
		}
	case *dataplanev1.ScriptLimit:
		if !isRate(m.GetCount(), m.GetPeriodS(), m.GetBurst()) {
			return "the numbers of a limit"
		}
	case *dataplanev1.LocalResponse:
		if m.GetStatus() < 200 || m.GetStatus() > 599 || !httpguts.ValidHeaderFieldValue(m.GetContentType()) {
			return "a response"
		}
	case *dataplanev1.HttpRedirect:
		if m.GetPort() > 65535 || strings.ContainsAny(m.GetAddQuery(), " #\r\n") {
			return "a redirect"
		}
	case *dataplanev1.UriToken:
		if m.GetKind() == dataplanev1.UriTokenKind_URI_TOKEN_KIND_UNSPECIFIED {
			return "a token"
		}
	case *dataplanev1.TextMatch:
		if m.GetCriterion() == dataplanev1.TextCriterion_TEXT_CRITERION_UNSPECIFIED {
			return "a criterion"
		}
	case *dataplanev1.HttpMatch:
		if slices.Contains(m.GetVersion().GetNames(), "") {
			return "a version"
		}
	case *dataplanev1.AddressMatch:
		for _, subnet := range m.GetSubnets() {
			if _, err := netip.ParsePrefix(subnet); err != nil {
				return "a subnet"
			}
		}
		for _, span := range m.GetRanges() {
			first, err := netip.ParseAddr(span.GetFirst())
			last, alsoErr := netip.ParseAddr(span.GetLast())
			if err != nil || alsoErr != nil || last.Less(first) {
				return "a range of addresses"
			}
		}
	}
	return ""
}
