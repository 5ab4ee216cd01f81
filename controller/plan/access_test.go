package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
)

// Rules of a policy that was stored before they had an effect: without defaults and checks.
func TestAccessRulesFromBeforeTheyHadAnEffectAreInForceOrCloseTheirVirtualService(t *testing.T) {
	const objects = `
jwtserverprofile {"name": "login", "jwks_keys": "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}"}
authprofile {"name": "login", "type": "AUTH_PROFILE_JWT", "jwt_profile_ref": "/api/jwtserverprofile?name=login"}
ssopolicy {"name": "login", "type": "SSO_TYPE_JWT", "authentication_policy": {"default_auth_profile_ref": "/api/authprofile?name=login"}}
virtualservice {"name": "a", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 443, "enable_ssl": true}],
	"sso_policy_ref": "/api/ssopolicy?name=login", "jwt_config": {"audience": "shop", "jwt_location": "JWT_LOCATION_AUTHORIZATION_HEADER"}}`
	admin := schema.Object{"path": schema.Object{"match_criteria": "BEGINS_WITH", "match_str": []any{"/admin"}}}
	skip := schema.Object{"type": "SKIP_AUTHENTICATION"}
	for _, each := range []struct {
		list, why string // empty: it is served, with the rule
		rule      schema.Object
	}{
		{"authn_rules", "", schema.Object{"name": "a", "index": int64(1), "match": admin, "action": schema.Object{}}},
		{"authn_rules", "names nothing", schema.Object{"name": "a", "index": int64(1),
			"action": schema.Object{"type": "SKIP_AUTHENTICATION"}}},
		{"authz_rules", "", schema.Object{"name": "a", "index": int64(1), "match": admin,
			"action": schema.Object{"type": "CLOSE_CONNECTION"}}},
		{"authz_rules", "is required", schema.Object{"name": "a", "index": int64(1), "match": admin}},
		{"authz_rules", "is required", schema.Object{"name": "a", "index": int64(1), "action": schema.Object{}}},
		{"authz_rules", "only allow", schema.Object{"name": "a", "index": int64(1), "match": admin,
			"action": schema.Object{}}},
		{"authz_rules", "status_code", schema.Object{"name": "a", "index": int64(1), "match": admin,
			"action": schema.Object{"type": "HTTP_LOCAL_RESPONSE"}}},
		{"authn_rules", "", schema.Object{"name": "a", "index": int64(1), "action": schema.Object{},
			"match": schema.Object{"path": schema.Object{"match_criteria": "BEGINS_WITH", "match_str": []any{"/admin"},
				"match_decoded_string": false}}}},
		{"authn_rules", "client_ip.ranges[0].end", schema.Object{"name": "a", "index": int64(1), "action": skip,
			"match": schema.Object{"client_ip": schema.Object{"match_criteria": "IS_IN", "ranges": []any{
				schema.Object{"begin": schema.Object{"addr": "10.0.0.1", "type": "V4"}}}}}}},
		{"authn_rules", "host_hdr.match_criteria", schema.Object{"name": "a", "index": int64(1), "action": skip,
			"match": schema.Object{"host_hdr": schema.Object{"value": []any{"a.test"}}}}},
		{"authz_rules", "action.status_code", schema.Object{"name": "a", "index": int64(1), "match": admin,
			"action": schema.Object{"type": "HTTP_LOCAL_RESPONSE", "status_code": "HTTP_RESPONSE_STATUS_CODE_404"}}},
		{"authz_rules", "action.type", schema.Object{"name": "a", "index": int64(1), "match": admin,
			"action": schema.Object{"type": "DROP"}}},
		{"authz_rules", "matches[0].type", schema.Object{"name": "a", "index": int64(1), "match": schema.Object{
			"access_token": schema.Object{"matches": []any{schema.Object{"name": "a", "type": "JWT_CLAIM_TYPE_LIST",
				"is_mandatory": true, "validate": false}}}}, "action": schema.Object{"type": "CLOSE_CONNECTION"}}},
		{"authz_rules", "is required", schema.Object{"name": "a", "index": int64(1), "match": schema.Object{
			"access_token": schema.Object{"matches": []any{schema.Object{"name": "a", "type": "JWT_CLAIM_TYPE_BOOL",
				"is_mandatory": true, "validate": true}}}}, "action": schema.Object{"type": "CLOSE_CONNECTION"}}},
	} {
		all := objectsIn(t, objects)
		policy := objectOf(t, all, "ssopolicy", "login")
		if each.list == "authn_rules" {
			policy["authentication_policy"].(schema.Object)[each.list] = []any{each.rule}
		} else {
			policy["authorization_policy"] = schema.Object{each.list: []any{each.rule}}
		}
		m, _ := model.Build(7, all)
		compiled, findings := compilerOf(m, nil, placed(m)).Compile(engineUUID, nil)
		var served, ruled bool
		for _, resource := range compiled.GetResources() {
			if access := resource.GetVirtualService().GetTokens().GetAccess(); access != nil {
				ruled = len(access.GetAuthentication())+len(access.GetAuthorization()) == 1
				for _, rule := range access.GetAuthentication() {
					if path := rule.GetRule().GetMatch().GetPath(); !path.GetDecoded() || rule.GetSkip() {
						t.Errorf("%v: got %v: want the defaults", each.rule, rule)
					}
				}
			}
			served = served || resource.GetVirtualService() != nil
		}
		said := slices.ContainsFunc(findings, func(f model.Finding) bool {
			return strings.Contains(f.Field+" "+f.Message, each.why)
		})
		if ok := each.why == ""; served != ok || ruled != ok || !said && !ok {
			t.Errorf("%v: served %t, ruled %t, findings %v", each.rule, served, ruled, findings)
		}
	}
}

// The same of SSL profiles for some clients: what engines could not follow closes the virtual service.
func TestSelectorsFromBeforeTheyHadAnEffectCloseTheirVirtualService(t *testing.T) {
	const objects = `
sslprofile {"name": "strict", "accepted_versions": [{"type": "SSL_VERSION_TLS1_3"}]}
virtualservice {"name": "a", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 443, "enable_ssl": true}]}`
	begin := schema.Object{"addr": "10.0.0.1", "type": "V4"}
	for field, clients := range map[string]schema.Object{
		"client_ip_list.ranges[0].end": {"match_criteria": "IS_IN",
			"ranges": []any{schema.Object{"begin": begin}}},
		"client_ip_list.prefixes[0].ip_addr": {"match_criteria": "IS_IN",
			"prefixes": []any{schema.Object{"mask": int64(8)}}},
		"client_ip_list.match_criteria": {"match_criteria": "IS_NEAR", "addrs": []any{begin}},
		"client_ip_list.addrs[0].type": {"match_criteria": "IS_IN",
			"addrs": []any{schema.Object{"addr": "10.0.0.1", "type": "V5"}}},
	} {
		all := objectsIn(t, objects)
		profile := objectOf(t, all, "sslprofile", "strict")
		objectOf(t, all, "virtualservice", "a")["ssl_profile_selectors"] = []any{schema.Object{
			"client_ip_list": clients, "ssl_profile_ref": "/api/sslprofile/" + profile["uuid"].(string)}}
		m, _ := model.Build(7, all)
		compiled, findings := compilerOf(m, nil, placed(m)).Compile(engineUUID, nil)
		for _, resource := range compiled.GetResources() {
			if resource.GetVirtualService() != nil {
				t.Errorf("%v: it is served", clients)
			}
		}
		if !slices.ContainsFunc(findings, func(f model.Finding) bool {
			return f.Field == "ssl_profile_selectors[0]."+field
		}) {
			t.Errorf("%v: got the findings %v: want one about %s", clients, findings, field)
		}
	}
}
