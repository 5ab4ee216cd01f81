package plan

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Whoever writes a policy is told of its rules without effect, before a virtual service uses it.
func TestRulesWithoutEffectAreFoundBeforeAPolicyIsUsed(t *testing.T) {
	objects := objectsIn(t, `
stringgroup {"name": "none"}
ipaddrgroup {"name": "nobody"}
ipaddrgroup {"name": "ten", "prefixes": [{"ip_addr": {"addr": "10.0.0.0", "type": "V4"}, "mask": 8}]}
ipaddrgroup {"name": "germans", "country_codes": ["DE"]}
pool {"name": "web"}
httppolicyset {"name": "house",
  "http_security_policy": {"rules": [
    {"name": "inspect", "index": 1, "match": {"path": {"match_criteria": "EQUALS", "match_str": ["/x"]}}, "action": {"action": "HTTP_SECURITY_ACTION_CLOSE_CONN"}},
    {"name": "nobody", "index": 2, "match": {"client_ip": {"match_criteria": "IS_IN", "group_refs": ["/api/ipaddrgroup?name=nobody"]}}, "action": {"action": "HTTP_SECURITY_ACTION_CLOSE_CONN"}},
    {"name": "germans", "index": 3, "match": {"client_ip": {"match_criteria": "IS_IN", "group_refs": ["/api/ipaddrgroup?name=germans"]}}, "action": {"action": "HTTP_SECURITY_ACTION_CLOSE_CONN"}},
    {"name": "french", "index": 4, "match": {"geo_matches": [{"attribute": "ATTRIBUTE_COUNTRY_CODE", "match_operation": "IS_IN", "values": ["FR"]}]}, "action": {"action": "HTTP_SECURITY_ACTION_CLOSE_CONN"}},
    {"name": "one", "index": 5, "match": {"path": {"match_criteria": "EQUALS", "match_str": ["X"]}}, "action": {"action": "HTTP_SECURITY_ACTION_ALLOW"}}]},
  "http_request_policy": {"rules": [
    {"name": "none", "index": 1, "match": {"path": {"match_criteria": "CONTAINS", "string_group_refs": ["/api/stringgroup?name=none"]}}, "switching_action": {"action": "HTTP_SWITCHING_SELECT_LOCAL", "other_status_code": 503}},
    {"name": "server", "index": 2, "switching_action": {"action": "HTTP_SWITCHING_SELECT_POOL", "pool_ref": "/api/pool?name=web", "server": {"ip": {"addr": "10.0.0.1", "type": "V4"}}}},
    {"name": "off", "index": 3, "enable": false, "switching_action": {"action": "HTTP_SWITCHING_SELECT_LOCAL", "other_status_code": 503}},
    {"name": "late", "index": 4, "match": {"method": {"match_criteria": "IS_IN", "methods": ["HTTP_METHOD_GET"]}}, "switching_action": {"action": "HTTP_SWITCHING_SELECT_POOL", "pool_ref": "/api/pool?name=web"}},
    {"name": "idle", "index": 5}]}}
networksecuritypolicy {"name": "net", "rules": [
  {"name": "all of ten", "index": 1, "enable": true, "action": "NETWORK_SECURITY_POLICY_ACTION_TYPE_ALLOW", "match": {"client_ip": {"match_criteria": "IS_IN", "group_refs": ["/api/ipaddrgroup?name=ten"]}}},
  {"name": "one of ten", "index": 2, "enable": true, "action": "NETWORK_SECURITY_POLICY_ACTION_TYPE_DENY", "match": {"client_ip": {"match_criteria": "IS_IN", "addrs": [{"addr": "10.0.0.1", "type": "V4"}]}}}]}
l4policyset {"name": "four", "l4_connection_policy": {"rules": [
  {"name": "ping", "index": 1, "match": {"protocol": {"match_criteria": "IS_IN", "protocol": "PROTOCOL_ICMP"}}, "action": {"select_pool": {"action_type": "L4_RULE_ACTION_SELECT_POOL", "pool_ref": "/api/pool?name=web"}}},
  {"name": "datagrams", "index": 2, "match": {"protocol": {"match_criteria": "IS_IN", "protocol": "PROTOCOL_UDP"}}, "action": {"select_pool": {"action_type": "L4_RULE_ACTION_SELECT_POOL", "pool_ref": "/api/pool?name=web"}}},
  {"name": "all", "index": 3, "action": {"select_pool": {"action_type": "L4_RULE_ACTION_SELECT_POOL", "pool_ref": "/api/pool?name=web"}}},
  {"name": "late", "index": 4, "match": {"port": {"match_criteria": "IS_IN", "ports": [80]}}, "action": {"select_pool": {"action_type": "L4_RULE_ACTION_SELECT_POOL", "pool_ref": "/api/pool?name=web"}}}]}}
jwtserverprofile {"name": "issuer", "issuer": "https://issuer.test", "jwks_keys": "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"a\",\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\",\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}"}
authprofile {"name": "tokens", "type": "AUTH_PROFILE_JWT", "jwt_profile_ref": "/api/jwtserverprofile?name=issuer"}
ssopolicy {"name": "tokens", "type": "SSO_TYPE_JWT",
  "authentication_policy": {"default_auth_profile_ref": "/api/authprofile?name=tokens", "authn_rules": [
    {"name": "health", "index": 1, "match": {"path": {"match_criteria": "BEGINS_WITH", "match_str": ["/health"]}}, "action": {"type": "SKIP_AUTHENTICATION"}},
    {"name": "healthy", "index": 2, "match": {"path": {"match_criteria": "BEGINS_WITH", "match_str": ["/healthy"]}}}]},
  "authorization_policy": {"authz_rules": [
    {"name": "all", "index": 1, "match": {}, "action": {"type": "HTTP_LOCAL_RESPONSE", "status_code": "HTTP_RESPONSE_STATUS_CODE_403"}},
    {"name": "admin", "index": 2, "match": {"path": {"match_criteria": "BEGINS_WITH", "match_str": ["/admin"]}}, "action": {"type": "ALLOW_ACCESS"}}]}}`)
	get := func(kind, uuid string) (schema.Object, bool) {
		for _, object := range objects[kind] {
			if object["uuid"] == uuid {
				return object, true
			}
		}
		return nil, false
	}
	const takes = " takes all that it would"
	for kind, want := range map[string][]string{
		"httppolicyset": {
			`http_security_policy.rules[1]: rule "nobody" never matches: match.client_ip names no address: what it compares with is empty`,
			`http_security_policy.rules[4]: rule "one" never matches: rule "inspect" before it (http_security_policy.rules[0])` + takes,
			`http_request_policy.rules[0]: rule "none" never matches: match.path compares with no text: what it compares with is empty`,
			`http_request_policy.rules[3]: rule "late" never chooses its pool: rule "server" before it (http_request_policy.rules[1]) does for all that it matches`,
			`http_request_policy.rules[4]: rule "idle" has no action: what it matches is changed in nothing`,
		},
		"networksecuritypolicy": {`rules[1]: rule "one of ten" never matches: rule "all of ten" before it (rules[0])` +
			takes},
		"l4policyset": {
			`l4_connection_policy.rules[0]: rule "ping" never matches: match.protocol: no virtual service has PROTOCOL_ICMP`,
			`l4_connection_policy.rules[3]: rule "late" never matches: rule "all" before it (l4_connection_policy.rules[2])` + takes,
		},
		"ssopolicy": {
			`authentication_policy.authn_rules[1]: rule "healthy" never matches: rule "health" before it (authentication_policy.authn_rules[0])` + takes,
			`authorization_policy.authz_rules[1]: rule "admin" never matches: rule "all" before it (authorization_policy.authz_rules[0])` + takes,
		},
		"pool": nil,
	} {
		var got []string
		for _, finding := range RulesWithoutEffect(kind, objects[kind][0], get) {
			got = append(got, finding.Field+": "+finding.Message)
			if finding.Rule == "" {
				t.Errorf("%v names no rule", finding)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", kind, got, want)
		}
	}
}

func TestOfManyRulesWithoutEffectSomeAreNamed(t *testing.T) {
	rules := []any{}
	for i := range 50 {
		rules = append(rules, schema.Object{"name": "idle", "index": int64(i), "enable": true})
	}
	object := schema.Object{"name": "set", "http_request_policy": schema.Object{"rules": rules}}
	found := RulesWithoutEffect("httppolicyset", object, nil)
	if last := found[len(found)-1]; len(found) != 21 || last.Field != "http_request_policy.rules" ||
		last.Message != "30 more rules have no effect, as those that are named" {
		t.Errorf("%d, %v", len(found), last)
	}
}

// A policy of modest size may name much: what is read of its groups is bounded.
func TestRulesThatNameLargeGroupsTakeLittleMemory(t *testing.T) {
	group := func(uuid string) schema.Object {
		var pairs []any
		for i := range 10_000 {
			pairs = append(pairs, schema.Object{"key": fmt.Sprintf("/%s/%d", uuid, i)})
		}
		return schema.Object{"uuid": uuid, "name": uuid, "kv": pairs}
	}
	groups := map[string]schema.Object{}
	for i := range 10 {
		uuid := fmt.Sprint("stringgroup-", i)
		groups[uuid] = group(uuid)
	}
	get := func(_, uuid string) (schema.Object, bool) {
		object, known := groups[uuid]
		return object, known
	}
	for _, criterion := range []string{"BEGINS_WITH", "REGEX_MATCH"} {
		rules := []any{}
		for i := range 300 {
			var references []any
			for at := range 10 {
				references = append(references, schema.RefPath("stringgroup", fmt.Sprint("stringgroup-", at)))
			}
			if i == 0 {
				references = references[:1]
			}
			rules = append(rules, schema.Object{"name": fmt.Sprint("r", i), "index": int64(i), "enable": true,
				"match": schema.Object{"path": schema.Object{"match_criteria": criterion,
					"string_group_refs": references}},
				"action": schema.Object{"action": "HTTP_SECURITY_ACTION_CLOSE_CONN"}})
		}
		object := schema.Object{"name": "set", "http_security_policy": schema.Object{"rules": rules}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found := RulesWithoutEffect("httppolicyset", object, get)
		runtime.ReadMemStats(&after)
		took := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%s: %d MB", criterion, took)
		// The race detector has sync.Pool forget, and so expressions take ten times as much.
		if most := map[string]uint64{"BEGINS_WITH": 100, "REGEX_MATCH": 2000}[criterion]; took > most {
			t.Errorf("%s: %d MB", criterion, took)
		}
		if isRegex := criterion == "REGEX_MATCH"; !isRegex && (len(found) != 21 ||
			!strings.Contains(found[0].Message, `rule "r2" never matches: rule "r1" before it`)) {
			t.Errorf("%s: %v", criterion, found)
		}
	}
}

func TestNothingIsSaidOfPoliciesWhoseGroupsAreNotRead(t *testing.T) {
	objects := objectsIn(t, `
stringgroup {"name": "none"}
ipaddrgroup {"name": "ten", "prefixes": [{"ip_addr": {"addr": "10.0.0.0", "type": "V4"}, "mask": 8}]}
pool {"name": "web"}
httppolicyset {"name": "house", "http_security_policy": {"rules": [
  {"name": "r", "index": 1, "match": {"path": {"match_criteria": "CONTAINS", "string_group_refs": ["/api/stringgroup?name=none"]}}, "action": {"action": "HTTP_SECURITY_ACTION_CLOSE_CONN"}}]}}
networksecuritypolicy {"name": "net", "rules": [
  {"name": "r", "index": 1, "enable": true, "action": "NETWORK_SECURITY_POLICY_ACTION_TYPE_ALLOW", "match": {"client_ip": {"match_criteria": "IS_IN", "group_refs": ["/api/ipaddrgroup?name=ten"]}}}]}
l4policyset {"name": "four", "l4_connection_policy": {"rules": [
  {"name": "r", "index": 1, "match": {"client_ip": {"match_criteria": "IS_IN", "group_refs": ["/api/ipaddrgroup?name=ten"]}}, "action": {"select_pool": {"action_type": "L4_RULE_ACTION_SELECT_POOL", "pool_ref": "/api/pool?name=web"}}}]}}`)
	lone := &loneGroups{read: loneMost + 1, get: func(kind, uuid string) (schema.Object, bool) {
		t.Errorf("%s %s is read", kind, uuid)
		return nil, false
	}}
	set, _ := schema.Into[kinds.HTTPPolicySet](objects["httppolicyset"][0])
	net, _ := schema.Into[kinds.NetworkSecurityPolicy](objects["networksecuritypolicy"][0])
	four, _ := schema.Into[kinds.L4PolicySet](objects["l4policyset"][0])
	for _, found := range []report{lone.http(set), lone.network(net), lone.l4(four)} {
		if len(found.findings) > 0 {
			t.Errorf("%v", found.findings)
		}
	}
}
