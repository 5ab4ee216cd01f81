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
