package plan

import (
	"slices"
	"strings"
	"testing"
)

// A PROXY header tells rules about requests another port than that of the listener. Rules about connections see the
// latter.
func TestPortsOfProxyHeadersMayBeAny(t *testing.T) {
	const objects = `
networkprofile {"name": "behind", "profile": {"type": "PROTOCOL_TYPE_TCP_PROXY", "tcp_proxy_profile": {SOURCES}}}
pool {"name": "web", "servers": [{"ip": {"addr": "10.0.0.1", "type": "V4"}}]}
httppolicyset {"name": "house", "http_security_policy": {"rules": [
  {"name": "no admin from outside", "index": 1, "enable": true, "action": {"action": "HTTP_SECURITY_ACTION_CLOSE_CONN"},
   "match": {"vs_port": {"match_criteria": "IS_IN", "ports": [443]}, "path": {"match_criteria": "BEGINS_WITH", "match_str": ["/admin"]}}},
  {"name": "own port", "index": 2, "enable": true, "action": {"action": "HTTP_SECURITY_ACTION_CLOSE_CONN"},
   "match": {"vs_port": {"match_criteria": "IS_IN", "ports": [8443]}}},
  {"name": "last", "index": 3, "enable": true, "action": {"action": "HTTP_SECURITY_ACTION_CLOSE_CONN"}}]}}
networksecuritypolicy {"name": "net", "rules": [{"name": "other port", "index": 1, "enable": true,
  "action": "NETWORK_SECURITY_POLICY_ACTION_TYPE_DENY", "match": {"vs_port": {"match_criteria": "IS_IN", "ports": [443]}}}]}
virtualservice {"name": "a-single", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 8443}],
  "pool_ref": "/api/pool?name=web", "network_profile_ref": "/api/networkprofile?name=behind",
  "network_security_policy_ref": "/api/networksecuritypolicy?name=net",
  "http_policies": [{"index": 1, "http_policy_set_ref": "/api/httppolicyset?name=house"}]}
virtualservice {"name": "b-parent", "type": "VS_TYPE_VH_PARENT", "vh_type": "VS_TYPE_VH_ENHANCED",
  "vip": [{"ip_address": {"addr": "192.0.2.2", "type": "V4"}}], "services": [{"port": 8443}],
  "network_profile_ref": "/api/networkprofile?name=behind"}
virtualservice {"name": "c-child", "type": "VS_TYPE_VH_CHILD", "vh_type": "VS_TYPE_VH_ENHANCED",
  "vh_parent_vs_ref": "/api/virtualservice?name=b-parent", "pool_ref": "/api/pool?name=web",
  "http_policies": [{"index": 1, "http_policy_set_ref": "/api/httppolicyset?name=house"}],
  "vh_matches": [{"host": "a.test", "rules": [{"name": "by port", "matches": {"path": {"match_criteria": "BEGINS_WITH", "match_str": ["/"]},
    "vs_port": {"match_criteria": "IS_IN", "ports": [443]}}}]}]}
`
	const none = ": no port of the virtual service is like that"
	const admin = `rule "no admin from outside" of house (http_security_policy.rules[0]) never matches: match.vs_port` +
		none
	const last = `rule "last" of house (http_security_policy.rules[2]) never matches: ` +
		`rule "own port" before it (http_security_policy.rules[1]) takes all that it would`
	const network = `a-single: rule "other port" of net (rules[0]) never matches: match.vs_port` + none
	for sources, want := range map[string][]string{
		"": {"a-single: " + admin, "a-single: " + last, network, "c-child: " + admin, "c-child: " + last,
			`c-child: rule "by port" never matches: matches.vs_port` + none},
		`"weir_proxy_protocol_sources": [{"ip_addr": {"addr": "10.9.0.0", "type": "V4"}, "mask": 16}]`: {network},
	} {
		var got []string
		_, findings := compileText(t, strings.Replace(objects, "SOURCES", sources, 1))
		for _, finding := range findings {
			if strings.Contains(finding.Message, "never matches") {
				got = append(got, finding.Name+": "+finding.Message)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q:\ngot  %q\nwant %q", sources, got, want)
		}
	}
}
