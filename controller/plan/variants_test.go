package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
)

// What virtual services of the test below may use.
const ofManyPorts = `
jwtserverprofile {"name": "login", "jwks_keys": "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}"}
authprofile {"name": "login", "type": "AUTH_PROFILE_JWT", "jwt_profile_ref": "/api/jwtserverprofile?name=login"}
ssopolicy {"name": "login", "type": "SSO_TYPE_JWT", "authentication_policy": {"default_auth_profile_ref": "/api/authprofile?name=login"}}
stringgroup {"name": "types", "type": "SG_TYPE_STRING", "kv": [{"key": "text/html"}]}
ipaddrgroup {"name": "office", "prefixes": [{"ip_addr": {"addr": "10.0.0.0", "type": "V4"}, "mask": 8}]}
ipaddrgroup {"name": "pairs", "ip_ports": [{"ip": {"addr": "10.0.0.1", "type": "V4"}, "port": 80}]}
applicationprofile {"name": "compresses", "type": "APPLICATION_PROFILE_TYPE_HTTP", "http_profile": {"http_to_https": true,
	"compression_profile": {"compression": true, "type": "AUTO_COMPRESSION", "remove_accept_encoding_header": true}}}
applicationprofile {"name": "filters", "type": "APPLICATION_PROFILE_TYPE_HTTP", "http_profile": {
	"compression_profile": {"compression": true, "type": "CUSTOM_COMPRESSION", "remove_accept_encoding_header": true, "filter": [
		{"name": "a", "index": 1, "match": "IS_IN", "level": "NO_COMPRESSION", "ip_addrs_ref": "/api/ipaddrgroup?name=office"}]}}}
applicationprofile {"name": "pairs", "type": "APPLICATION_PROFILE_TYPE_HTTP", "http_profile": {
	"compression_profile": {"compression": true, "type": "CUSTOM_COMPRESSION", "remove_accept_encoding_header": true, "filter": [
		{"name": "a", "index": 1, "match": "IS_IN", "level": "NO_COMPRESSION", "ip_addrs_ref": "/api/ipaddrgroup?name=pairs"}]}}}
applicationprofile {"name": "stores", "type": "APPLICATION_PROFILE_TYPE_HTTP", "http_profile": {
	"cache_config": {"enabled": true, "mime_types_group_refs": ["/api/stringgroup?name=types"]}}}
applicationprofile {"name": "asks", "type": "APPLICATION_PROFILE_TYPE_HTTP", "http_profile": {
	"ssl_client_certificate_mode": "SSL_CLIENT_CERTIFICATE_REQUIRE", "pki_profile_ref": "/api/pkiprofile?name=none"}}
applicationprofile {"name": "proxied", "type": "APPLICATION_PROFILE_TYPE_L4", "tcp_app_profile": {"proxy_protocol_enabled": true}}
pool {"name": "shop", "servers": [{"ip": {"addr": "10.0.0.1", "type": "V4"}}]}
httppolicyset {"name": "rules", "http_request_policy": {"rules": [{"name": "old", "index": 1,
	"match": {"path": {"match_criteria": "BEGINS_WITH", "match_str": ["/old"]}},
	"redirect_action": {"protocol": "HTTPS", "status_code": "HTTP_REDIRECT_STATUS_CODE_301"}}]}}
httppolicyset {"name": "security", "http_security_policy": {"rules": [{"name": "admin", "index": 1,
	"match": {"path": {"match_criteria": "BEGINS_WITH", "match_str": ["/admin"]}},
	"action": {"action": "HTTP_SECURITY_ACTION_CLOSE_CONN"}}]}}
networksecuritypolicy {"name": "office", "rules": [{"name": "office", "index": 1, "enable": true,
	"action": "NETWORK_SECURITY_POLICY_ACTION_TYPE_DENY",
	"match": {"client_ip": {"match_criteria": "IS_NOT_IN", "group_refs": ["/api/ipaddrgroup?name=office"]}}}]}
l4policyset {"name": "l4", "l4_connection_policy": {"rules": [{"name": "a", "index": 1,
	"match": {"port": {"match_criteria": "IS_IN", "ports": [53]}},
	"action": {"select_pool": {"action_type": "L4_RULE_ACTION_SELECT_POOL", "pool_ref": "/api/pool?name=shop"}}}]}}
vsdatascriptset {"name": "connections", "datascript": [{"evt": "VS_DATASCRIPT_EVT_TCP_CLIENT_ACCEPT", "script": "avi.vs.close_conn()"}]}
vsdatascriptset {"name": "tls", "datascript": [{"evt": "VS_DATASCRIPT_EVT_CLIENT_SSL_CLIENT_HELLO", "script": "avi.vs.close_conn()"}]}
vsdatascriptset {"name": "requests", "datascript": [{"evt": "VS_DATASCRIPT_EVT_HTTP_REQ", "script": "avi.vs.close_conn()"}]}
vsdatascriptset {"name": "bytes", "datascript": [{"evt": "VS_DATASCRIPT_EVT_L4_REQUEST", "script": "avi.vs.close_conn()"}]}
virtualservice {"name": "p", "type": "VS_TYPE_VH_PARENT", "vip": [{"ip_address": {"addr": "192.0.2.9", "type": "V4"}}], "services": [{"port": 80}]}
virtualservice {"name": "a", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}],
	"pool_ref": "/api/pool?name=shop", "ssl_key_and_certificate_refs": ["/api/sslkeyandcertificate?name=System-Default-Cert"]}
`

// manyPorts makes virtual services with any profiles at any ports, as they may be stored.
type manyPorts struct {
	*rand.Rand
	objects map[string][]schema.Object
}

func (m manyPorts) ref(kind, name string) string {
	for _, object := range m.objects[kind] {
		if object["name"] == name {
			return schema.RefPath(kind, object["uuid"].(string))
		}
	}
	return schema.RefPath(kind, kind+"-none")
}

func (m manyPorts) one(names ...string) string { return names[m.IntN(len(names))] }

func (m manyPorts) often(percent int) bool { return m.IntN(100) < percent }

func (m manyPorts) application() string {
	if m.often(10) {
		return m.ref("applicationprofile", m.one("pairs", "asks", "none"))
	}
	return m.ref("applicationprofile", m.one("System-HTTP", "System-Secure-HTTP", "compresses", "filters", "stores",
		"proxied", "System-L4-Application", "System-L4-Application", "System-SSL-Application",
		"System-DNS", "System-Syslog"))
}

func (m manyPorts) network() string {
	if m.often(30) {
		return m.ref("networkprofile", m.one("System-UDP-Fast-Path", "System-UDP-No-Snat",
			"System-UDP-Per-Pkt", "none"))
	}
	return m.ref("networkprofile", m.one("System-TCP-Proxy", "System-TCP-Fast-Path"))
}

func (m manyPorts) service() schema.Object {
	port := []int64{53, 80, 81, 82, 443}[m.IntN(5)]
	made := schema.Object{"port": port, "port_range_end": port, "enable_ssl": m.often(25), "enable_http2": m.often(10)}
	if m.often(40) {
		made["override_application_profile_ref"] = m.application()
	}
	if m.often(30) {
		made["override_network_profile_ref"] = m.network()
	}
	return made
}

// fill gives a virtual service ports and settings.
func (m manyPorts) fill(vs schema.Object) {
	var services []any
	for range 1 + m.IntN(3) {
		services = append(services, m.service())
	}
	vs["services"], vs["network_profile_ref"] = services, m.network()
	vs["application_profile_ref"] = m.application()
	listed := func(field, ref, kind string, names ...string) {
		if m.often(10) {
			vs[field] = []any{schema.Object{"index": int64(1), ref: m.ref(kind, m.one(names...))}}
		}
	}
	listed("http_policies", "http_policy_set_ref", "httppolicyset", "rules", "security", "none")
	listed("vs_datascripts", "vs_datascript_set_ref", "vsdatascriptset", "connections", "tls",
		"requests", "bytes", "none")
	listed("l4_policies", "l4_policy_set_ref", "l4policyset", "l4", "none")
	settings := map[string]any{
		"network_security_policy_ref":      m.ref("networksecuritypolicy", m.one("office", "office", "office", "none")),
		"max_cps_per_client":               int64(10),
		"remove_listening_port_on_vs_down": true,
		"host_name_xlate":                  "shop.test",
		"performance_limits": schema.Object{"max_throughput": int64(5),
			"max_concurrent_connections": int64(5)},
		"content_rewrite": schema.Object{"rewritable_content_ref": m.ref("stringgroup", m.one("types", "none")),
			"rsp_rewrite_rules": []any{schema.Object{"enable": true, "pairs": []any{schema.Object{
				"search_string": schema.Object{"val": "b"}, "replacement_string": schema.Object{"val": "c"}}}}}},
		"service_pool_select": []any{schema.Object{"service_port": int64(53), "service_pool_ref": m.ref("pool", "shop"),
			"service_protocol": m.one("PROTOCOL_TYPE_TCP_PROXY", "PROTOCOL_TYPE_UDP_FAST_PATH")}},
	}
	for _, field := range slices.Sorted(maps.Keys(settings)) {
		if m.often(10) {
			vs[field] = settings[field]
		}
	}
	if m.often(6) {
		vs["sso_policy_ref"] = m.ref("ssopolicy", "login")
		vs["jwt_config"] = schema.Object{"audience": "shop", "jwt_location": "JWT_LOCATION_AUTHORIZATION_HEADER"}
	}
	switch {
	case m.often(4):
		vs["type"] = "VS_TYPE_VH_PARENT"
	case m.often(4):
		vs["type"], vs["vh_parent_vs_ref"] = "VS_TYPE_VH_CHILD", m.ref("virtualservice", "p")
		vs["vh_domain_name"] = []any{"a.test"}
	}
}

// Whatever profiles the ports of a virtual service have: it is served, and keeps out at each port whom it keeps out, or
// a finding says why it is not.
func TestPortsWithAnyProfilesAreServedOrAFindingSaysWhyNot(t *testing.T) {
	objects := objectsIn(t, ofManyPorts)
	usual := schema.Clone(objectOf(t, objects, "virtualservice", "a"))
	served, several := 0, 0
	for seed := range uint64(1500) {
		vs := schema.Clone(usual)
		manyPorts{rand.New(rand.NewPCG(seed, 1)), objects}.fill(vs)
		objects["virtualservice"] = replaceNamed(objects["virtualservice"], vs)
		m, findings := model.Build(7, objects)
		compiled, found := compilerOf(m, nil, placed(m)).Compile(engineUUID, nil)
		fail := func(format string, args ...any) {
			t.Errorf("seed %d: %s\n%v\n%v", seed, fmt.Sprintf(format, args...), vs, append(findings, found...))
		}
		for _, problem := range refusedByEngines(compiled) {
			fail("engines refuse %s", problem)
		}
		service := servicesOf(compiled)["a"]
		if service == nil {
			at := slices.IndexFunc(m.VirtualServices, func(vs *model.VirtualService) bool { return vs.Name == "a" })
			concerns := m.VirtualServices[at].Concerns()
			if !slices.ContainsFunc(append(findings, found...), func(f model.Finding) bool {
				return concerns[f.UUID]
			}) {
				fail("it is not served, and nothing says why")
			}
			continue
		}
		served++
		several += min(len(service.GetVariants()), 1)
		for _, problem := range problemsOfPorts(vs, service) {
			fail("%s", problem)
		}
	}
	if served < 150 || several < 50 {
		t.Errorf("%d virtual services are served, %d of them with variants: that says little", served, several)
	}
}

// problemsOfPorts says for which reasons engines would refuse a virtual service, and whom it lets in.
func problemsOfPorts(vs schema.Object, service *dataplanev1.VirtualService) (problems []string) {
	parts := append([]*dataplanev1.VirtualService{service}, service.GetVariants()...)
	seen := map[port]bool{}
	for _, listener := range service.GetListeners() {
		if seen[addressOf(listener)] {
			problems = append(problems, fmt.Sprintf("it listens twice at %d", listener.GetPort()))
		}
		seen[addressOf(listener)] = true
		if int(listener.GetVariant()) >= len(parts) {
			return append(problems, "there is no such variant")
		}
		part := parts[listener.GetVariant()]
		isUDP := listener.GetProtocol() == dataplanev1.TransportProtocol_TRANSPORT_PROTOCOL_UDP
		if isUDP != (part.GetUdp() != nil) || isUDP && part.GetTcp() != nil {
			problems = append(problems, "a listener has a profile of the other protocol")
		}
		if listener.GetTls() && part.GetTls() == nil {
			problems = append(problems, "a listener has no profile of TLS")
		}
	}
	if (service.GetParentUuid() != "" || service.GetHosting() != 0) && len(parts) > 1 {
		problems = append(problems, "a parent or child has variants")
	}
	keepsOut := func(field string, has func(*dataplanev1.VirtualService) bool) {
		isBare := func(part *dataplanev1.VirtualService) bool { return !has(part) }
		if vs[field] != nil && vs[field] != "" && slices.ContainsFunc(parts, isBare) {
			problems = append(problems, field+" is not for all ports")
		}
	}
	keepsOut("network_security_policy_ref", func(part *dataplanev1.VirtualService) bool {
		return part.GetNetworkPolicyUuid() != ""
	})
	keepsOut("sso_policy_ref", func(part *dataplanev1.VirtualService) bool { return part.GetTokens() != nil })
	keepsOut("vs_datascripts", func(part *dataplanev1.VirtualService) bool { return len(part.GetScriptSetUuids()) > 0 })
	if strings.Contains(fmt.Sprint(vs["http_policies"]), "security") {
		keepsOut("http_policies", func(part *dataplanev1.VirtualService) bool {
			return len(part.GetHttpPolicySetUuids()) > 0
		})
	}
	redirects := slices.ContainsFunc(parts, func(part *dataplanev1.VirtualService) bool {
		return part.GetHttp().GetHttpsPort() != 0
	})
	for _, part := range parts {
		if part.GetHttp() != nil && redirects && part.GetHttp().GetHttpsPort() == 0 {
			problems = append(problems, "a port does not know where HTTPS is")
		}
	}
	return problems
}
