package plan

import (
	"slices"
	"strings"
	"testing"

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
		[]any{schema.Object{"name": "a"}, schema.Object{"name": "a"}, schema.Object{}}
	objectOf(t, objects, "applicationprofile", "proxied")["dos_rl_profile"] = schema.Object{"rl_profile": schema.Object{
		"custom_requests_rate_limit": schema.Object{"rate_limiter": schema.Object{"count": int64(5)}}},
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
		"dos_rl_profile.dos_profile.thresh_info[0].min_value",
		"dos_rl_profile.dos_profile.thresh_info[1].attack",
		"rate_limiters[1].name",
		"rate_limiters[2].name",
		"content_rewrite.rsp_rewrite_rules[0].pairs[1].search_string.val",
	} {
		if !slices.ContainsFunc(findings, func(finding model.Finding) bool { return finding.Field == field }) {
			t.Errorf("got the findings %v: want one about %s", findings, field)
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

// The same of comparisons, which older versions stored without checks: only the virtual service itself is not served.
func TestComparisonsFromBeforeTheyHadAnEffectCloseTheirOwnVirtualServiceOnly(t *testing.T) {
	places := func(all ...any) schema.Object { return schema.Object{"geo_matches": all} }
	inTest := schema.Object{
		"attribute": "ATTRIBUTE_IP_PREFIX", "values": []any{"192.0.2.0/24"}, "match_operation": "IS_IN",
	}
	for _, match := range []schema.Object{
		{"hdrs": []any{schema.Object{"hdr": "X", "match_criteria": "HDR_EQUALS"}}},
		{"query": schema.Object{"match_criteria": "QUERY_MATCH_REGEX_MATCH", "match_str": []any{"(?=a)b"}}},
		places(inTest, inTest),
		places(schema.Object{"attribute": "ATTRIBUTE_IP_PREFIX", "values": []any{"192.0.2.0/24"}}),
		places(schema.Object{"attribute": "ATTRIBUTE_IP_PREFIX", "values": []any{}, "match_operation": "IS_IN"}),
		places(schema.Object{"values": []any{"DE"}, "match_operation": "IS_IN"}),
	} {
		objects := objectsIn(t, `
pool {"name": "shop", "servers": [{"ip": {"addr": "10.0.0.1", "type": "V4"}}]}
virtualservice {"name": "parent", "type": "VS_TYPE_VH_PARENT", "vh_type": "VS_TYPE_VH_ENHANCED",
	"vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}], "pool_ref": "/api/pool?name=shop"}
virtualservice {"name": "child", "type": "VS_TYPE_VH_CHILD", "vh_type": "VS_TYPE_VH_ENHANCED", "pool_ref": "/api/pool?name=shop",
	"vh_parent_vs_ref": "/api/virtualservice?name=parent", "vh_matches": [{"host": "a.test", "rules": [{"name": "one", "matches": {"path": {"match_criteria": "BEGINS_WITH", "match_str": ["/a"]}}}]}]}`)
		host := objectOf(t, objects, "virtualservice", "child")["vh_matches"].([]any)[0].(schema.Object)
		rule := host["rules"].([]any)[0]
		rule.(schema.Object)["matches"] = match
		m, _ := model.Build(7, objects)
		compiled, findings := compilerOf(m, nil, placed(m)).Compile(engineUUID, nil)
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
		if !served["parent"] || served["child"] || len(findings) == 0 {
			t.Errorf("%v: got %v and the findings %v", match, served, findings)
		}
	}
}
