package plan

import (
	"slices"
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
virtualservice {"name": "a", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}],
	"pool_ref": "/api/pool?name=shop", "application_profile_ref": "/api/applicationprofile?name=proxied"}`)
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
		if vs := resource.GetVirtualService(); vs != nil {
			served = true
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
