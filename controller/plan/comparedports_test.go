package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
)

// Addresses with ports are servers of pools. Wherever clients are compared with a group that has them, this is said,
// and nobody gets in or is kept out by a part of the group.
func TestGroupsWithPortsAreNeverComparedInPart(t *testing.T) {
	const farm = `{"match_criteria": "IS_IN", "group_refs": ["/api/ipaddrgroup?name=farm"]}`
	const child = `"type": "VS_TYPE_VH_CHILD", "vh_type": "VS_TYPE_VH_ENHANCED", ` +
		`"vh_parent_vs_ref": "/api/virtualservice?name=front"`
	for name, c := range map[string]struct{ object, fields, says string }{
		"request rules": {`httppolicyset {"name": "x", "http_security_policy": {"rules": [{"name": "a", "index": 1,
			"match": {"client_ip": ` + farm + `}, "action": {"action": "HTTP_SECURITY_ACTION_CLOSE_CONN"}}]}}`,
			`"http_policies": [{"index": 1, "http_policy_set_ref": "/api/httppolicyset?name=x"}]`, "ip_ports"},
		"network rules": {`networksecuritypolicy {"name": "x", "rules": [{"name": "a", "index": 1, "enable": true,
			"action": "NETWORK_SECURITY_POLICY_ACTION_TYPE_DENY", "match": {"client_ip": ` + farm + `}}]}`,
			`"network_security_policy_ref": "/api/networksecuritypolicy?name=x"`, "ip_ports"},
		"rules of layer 4": {`l4policyset {"name": "x", "l4_connection_policy": {"rules": [{"name": "a", "index": 1,
			"match": {"client_ip": ` + farm + `}, "action": {"select_pool": {
			"action_type": "L4_RULE_ACTION_SELECT_POOL", "pool_ref": "/api/pool?name=shop"}}}]}}`,
			`"application_profile_ref": "/api/applicationprofile?name=System-L4-Application",
			"l4_policies": [{"index": 1, "l4_policy_set_ref": "/api/l4policyset?name=x"}]`, "ip_ports"},
		"scripts": {`vsdatascriptset {"name": "x", "ipgroup_refs": ["/api/ipaddrgroup?name=farm"], "datascript": [
			{"evt": "VS_DATASCRIPT_EVT_HTTP_REQ", "script": "avi.vs.close_conn()"}]}`,
			`"vs_datascripts": [{"index": 1, "vs_datascript_set_ref": "/api/vsdatascriptset?name=x"}]`, "ip_ports"},
		"SSL profiles of some clients": {``, `"ssl_key_and_certificate_refs": [
			"/api/sslkeyandcertificate?name=System-Default-Cert"], "ssl_profile_selectors": [{
			"client_ip_list": ` + farm + `, "ssl_profile_ref": "/api/sslprofile?name=System-Standard"}]`, "ip_ports"},
		"compression": {`applicationprofile {"name": "x", "type": "APPLICATION_PROFILE_TYPE_HTTP", "http_profile": {
			"compression_profile": {"compression": true, "type": "CUSTOM_COMPRESSION",
			"remove_accept_encoding_header": true, "filter": [{"name": "a", "index": 1, "match": "IS_IN",
			"level": "NO_COMPRESSION", "ip_addrs_ref": "/api/ipaddrgroup?name=farm"}]}}}`,
			`"application_profile_ref": "/api/applicationprofile?name=x"`, "ip_ports"},
		"children": {`virtualservice {"name": "front", "type": "VS_TYPE_VH_PARENT", "vh_type": "VS_TYPE_VH_ENHANCED",
			"vip": [{"ip_address": {"addr": "192.0.2.9", "type": "V4"}}], "services": [{"port": 80}]}`,
			child + `, "vh_matches": [{"host": "a.test", "rules": [{"name": "a", "matches": {"client_ip": ` + farm +
				`}}]}]`, "ip_ports"},
		"filters of logs": {``, `"analytics_policy": {"client_log_filters": [{"name": "a", "index": 1, "enabled": true,
			"client_ip": ` + farm + `}]}`, "filter a has no effect: farm has ip_ports"},
	} {
		where := `"vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}]`
		if strings.Contains(c.fields, "VH_CHILD") {
			where = `"services": []`
		}
		objects := objectsIn(t, `
ipaddrgroup {"name": "farm", "addrs": [{"addr": "10.0.0.2", "type": "V4"}],
	"ip_ports": [{"ip": {"addr": "10.0.0.1", "type": "V4"}, "port": 80}]}
pool {"name": "shop", "servers": [{"ip": {"addr": "10.0.0.1", "type": "V4"}}]}
`+strings.ReplaceAll(c.object, "\n", " ")+`
virtualservice {"name": "a", "pool_ref": "/api/pool?name=shop", `+where+`, `+
			strings.ReplaceAll(c.fields, "\n", " ")+`}`)
		m, findings := model.Build(7, objects)
		compiled, more := compilerOf(m, nil, placed(m)).Compile(engineUUID, nil)
		isServed := slices.ContainsFunc(compiled.GetResources(), func(resource *enginev1.Resource) bool {
			return resource.GetVirtualService().GetName() == "a"
		})
		if isServed != (name == "filters of logs") {
			t.Errorf("%s: served %v", name, isServed)
		}
		if all := fmt.Sprint(append(findings, more...)); !strings.Contains(all, c.says) {
			t.Errorf("%s: no finding has %q: %s", name, c.says, all)
		}
	}
}
