package model

import (
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// world has objects as the store has them: decoded, with defaults, their references resolved.
type world map[string][]schema.Object

func (w world) add(t *testing.T, kind, uuid, body string) {
	t.Helper()
	k, ok := schema.Lookup(kind)
	if !ok {
		t.Fatalf("no kind %s", kind)
	}
	o, err := k.Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	o["uuid"] = uuid
	k.Fill(o)
	for _, reference := range k.References(o) {
		target, err := schema.ParseRef(reference.Kind, reference.Value)
		if err != nil {
			t.Fatal(err)
		}
		if target.UUID == "" {
			target.UUID = schema.BuiltinUUID(target.Kind, target.Name)
		}
		reference.Set(target.Path())
	}
	w[kind] = append(w[kind], o)
}

// seed returns a virtual service with TLS and all that it needs, with two engines in its group.
func seed(t *testing.T) world {
	t.Helper()
	w := world{}
	for _, b := range schema.Builtins() {
		if b.Kind.Name != "sslkeyandcertificate" { // certificates have no keys yet
			w[b.Kind.Name] = append(w[b.Kind.Name], b.Object)
		}
	}
	w.add(t, "sslkeyandcertificate", "cert-1", fmt.Sprintf(`{"name":"c","key":%q,"certificate":{"certificate":%q}}`,
		testdata(t, "ec.key"), testdata(t, "ec.pem")))
	w.add(t, "healthmonitor", "hm-1", `{"name":"hm","type":"HEALTH_MONITOR_HTTPS","https_monitor":{}}`)
	w.add(t, "pool", "pool-1", `{"name":"p","default_server_port":8080,"health_monitor_refs":["hm-1"],"servers":[
		{"ip":{"addr":"10.0.0.1","type":"V4"}},{"ip":{"addr":"2001:db8::1","type":"V6"},"port":81}]}`)
	w.add(t, "vsvip", "vsvip-1", `{"name":"vip","vip":[
		{"ip_address":{"addr":"192.0.2.1","type":"V4"},"ip6_address":{"addr":"2001:db8::2","type":"V6"}},
		{"ip_address":{"addr":"192.0.2.2","type":"V4"},"enabled":false}]}`)
	w.add(t, "virtualservice", "vs-1", `{"name":"vs","vsvip_ref":"vsvip-1","pool_ref":"pool-1",
		"services":[{"port":443,"enable_ssl":true}],"ssl_key_and_certificate_refs":["cert-1"]}`)
	w.add(t, "serviceengine", "se-2", `{"name":"b"}`)
	w.add(t, "serviceengine", "se-1", `{"name":"a"}`)
	return w
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../schema/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestResolvesAllThatAVirtualServiceNeeds(t *testing.T) {
	m, findings := Build(7, seed(t))
	if len(findings) != 0 || m.Revision != 7 || len(m.VirtualServices) != 1 {
		t.Fatalf("got %+v with findings %v", m, findings)
	}
	vs := m.VirtualServices[0]
	if vs.Pool != m.Pools[0] || vs.Pool.HealthMonitors[0].UUID != "hm-1" || vs.Certificates[0].UUID != "cert-1" {
		t.Errorf("pool %v, certificates %v", vs.Pool, vs.Certificates)
	}
	if want := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::2")}; !slices.Equal(
		vs.Addresses, want) {
		t.Errorf("addresses %v, want those that are enabled", vs.Addresses)
	}
	if len(vs.Vips) != 2 || vs.Vips[1].VipID != "1" {
		t.Errorf("vips %+v, want those of the VsVip", vs.Vips)
	}
	if vs.ApplicationProfile.Name != "System-HTTP" || vs.NetworkProfile.Name != "System-TCP-Proxy" ||
		vs.SSLProfile.Name != "System-Standard" {
		t.Errorf("profiles %s, %s, %s", vs.ApplicationProfile.Name, vs.NetworkProfile.Name, vs.SSLProfile.Name)
	}
	if vs.HTTP.ClientHeaderTimeoutMs != 10000 || vs.TCP.IdleTimeoutS != 600 {
		t.Errorf("http %+v, tcp %+v", vs.HTTP, vs.TCP)
	}
	if len(vs.Certificates[0].ChainDER) != 1 || len(vs.Certificates[0].KeyDER) == 0 {
		t.Error("the certificate cannot serve")
	}
}

func TestBringsEnginesTogetherInTheirGroup(t *testing.T) {
	m, _ := Build(1, seed(t))
	group := m.VirtualServices[0].Group
	if group == nil || group != m.Groups[0] || group.Name != "Default-Group" {
		t.Fatalf("got %+v", group)
	}
	if names := []string{group.Engines[0].Name, group.Engines[1].Name}; !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("engines %v are not sorted by uuid", names)
	}
	if group.Engines[0].Group != group {
		t.Error("an engine is not in its group")
	}
}

func TestGivesServersTheirOwnPortOrThatOfThePool(t *testing.T) {
	m, _ := Build(1, seed(t))
	var got []string
	for _, member := range m.Pools[0].Members {
		got = append(got, member.ID+" "+member.Address.String())
	}
	if want := []string{"10.0.0.1:8080 10.0.0.1:8080", "[2001:db8::1]:81 [2001:db8::1]:81"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestTakesDefaultsForProfilesThatSayNothing(t *testing.T) {
	w := seed(t)
	w.add(t, "applicationprofile", "ap-1", `{"name":"ap","type":"APPLICATION_PROFILE_TYPE_HTTP"}`)
	w.add(t, "networkprofile", "np-1", `{"name":"np","profile":{"type":"PROTOCOL_TYPE_TCP_PROXY"}}`)
	w.add(t, "virtualservice", "vs-2",
		`{"name":"vs2","services":[{"port":80}],"application_profile_ref":"ap-1","network_profile_ref":"np-1",
		"vip":[{"ip_address":{"addr":"192.0.2.9","type":"V4"}}]}`)
	m, findings := Build(1, w)
	vs := m.VirtualServices[1]
	if len(findings) != 0 || vs.HTTP.MaxHeaderCount != 256 || vs.TCP.IdleTimeoutS != 600 ||
		vs.Addresses[0].String() != "192.0.2.9" {
		t.Errorf("got %+v, %v", vs, findings)
	}
	if conn := m.Pools[0].Conn; conn.IdleTimeoutMs != 60000 {
		t.Errorf("connections to servers %+v", conn)
	}
}

func TestKnowsWhichCheckAMonitorMakes(t *testing.T) {
	w := seed(t)
	w.add(t, "healthmonitor", "hm-2",
		`{"name":"m","type":"HEALTH_MONITOR_HTTP","http_monitor":{"http_request":"GET /a"},"https_monitor":{}}`)
	w.add(t, "healthmonitor", "hm-3", `{"name":"m3","type":"HEALTH_MONITOR_TCP","http_monitor":{}}`)
	w.add(t, "pool", "pool-2", `{"name":"p2","health_monitor_refs":["hm-2","hm-3"]}`)
	m, _ := Build(1, w)
	checks := map[string]*kinds.HTTPMonitor{}
	for _, pool := range m.Pools {
		for _, monitor := range pool.HealthMonitors {
			checks[monitor.UUID] = monitor.Check
		}
	}
	if checks["hm-1"].Request != "GET / HTTP/1.0" || checks["hm-2"].Request != "GET /a" || checks["hm-3"] != nil {
		t.Errorf("got %v", checks)
	}
}

func TestLayersThatAreNotHTTPOverTCPHaveNoHTTPAndNoTCP(t *testing.T) {
	w := seed(t)
	w.add(t, "virtualservice", "vs-2", `{"name":"dns","vsvip_ref":"vsvip-1","services":[{"port":53}],
		"application_profile_ref":"/api/applicationprofile?name=System-DNS","network_profile_ref":"/api/networkprofile?name=System-UDP-Per-Pkt"}`)
	m, _ := Build(1, w)
	if vs := m.VirtualServices[1]; vs.HTTP != nil || vs.TCP != nil {
		t.Errorf("got %v, %v", vs.HTTP, vs.TCP)
	}
}

func TestFindsWhatCannotBeResolved(t *testing.T) {
	w := seed(t)
	w.add(t, "pool", "pool-2", `{"name":"names","health_monitor_refs":["hm-1","hm-9"],"servers":[
		{"ip":{"addr":"origin.example","type":"DNS"}},{"ip":{"addr":"10.0.0.1","type":"V4"}},
		{"ip":{"addr":"10.0.0.1","type":"V4"},"port":80}]}`)
	w.add(t, "sslkeyandcertificate", "cert-2", `{"name":"empty","certificate":{"self_signed":true}}`)
	w.add(t, "virtualservice", "vs-0",
		`{"name":"lost","services":[{"port":443,"enable_ssl":true}],"vsvip_ref":"vsvip-9","pool_ref":"pool-9",
		"ssl_key_and_certificate_refs":["cert-1","cert-2"],"ssl_profile_ref":"sp-9","se_group_ref":"seg-9"}`)
	w["serviceengine"] = append(w["serviceengine"], schema.Object{"uuid": "se-9", "name": "bad", "enable_state": true})
	m, findings := Build(1, w)
	var got []string
	for _, f := range findings {
		got = append(got, fmt.Sprintf("%s %s %s: %s: %s", f.Kind, f.UUID, f.Name, f.Field, f.Message))
	}
	want := []string{
		`pool pool-2 names: health_monitor_refs[1]: /api/healthmonitor/hm-9 is not there or cannot be used`,
		`pool pool-2 names: servers[0].ip: the name "origin.example" has no address yet: events of the pool say why`,
		`pool pool-2 names: servers[2]: 10.0.0.1:80 is already servers[1]`,
		`serviceengine se-9 bad: : schema: enable_state cannot be true`,
		`sslkeyandcertificate cert-2 empty: certificate: holds no certificate`,
		`virtualservice vs-0 lost: pool_ref: /api/pool/pool-9 is not there or cannot be used`,
		`virtualservice vs-0 lost: se_group_ref: /api/serviceenginegroup/seg-9 is not there or cannot be used`,
		`virtualservice vs-0 lost: ssl_key_and_certificate_refs[1]: /api/sslkeyandcertificate/cert-2 is not there or cannot be used`,
		`virtualservice vs-0 lost: ssl_profile_ref: /api/sslprofile/sp-9 is not there or cannot be used`,
		`virtualservice vs-0 lost: vsvip_ref: /api/vsvip/vsvip-9 is not there or cannot be used`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if len(m.VirtualServices) != 2 || len(m.Engines) != 2 || len(m.Pools[1].Members) != 1 ||
		len(m.VirtualServices[0].Certificates) != 1 {
		t.Errorf("what is sound was not kept: %+v", m)
	}
}

func TestIsTheSameWhateverTheOrderOfObjects(t *testing.T) {
	straight, backward := seed(t), seed(t)
	for kind := range backward {
		slices.Reverse(backward[kind])
	}
	a, _ := Build(1, straight)
	b, _ := Build(1, backward)
	if !reflect.DeepEqual(a, b) {
		t.Error("the model depends on the order of objects")
	}
}

func TestLeavesTheObjectsAsTheyAre(t *testing.T) {
	w, untouched := seed(t), seed(t)
	Build(1, w)
	if !reflect.DeepEqual(w, untouched) {
		t.Error("building changed an object")
	}
}

func TestAVirtualServiceIsClosedByAnyObjectThatWouldKeepSomebodyOut(t *testing.T) {
	for kind, field := range map[string]string{
		"virtualservice":     "waf_policy_ref",
		"pkiprofile":         "crls",
		"serviceenginegroup": "iptables",
	} {
		w := seed(t)
		w.add(t, "pkiprofile", "pki-1", fmt.Sprintf(`{"name":"pki","ca_certs":[{"certificate":%q}]}`,
			testdata(t, "ec.pem")))
		w["pool"][0]["pki_profile_ref"] = "/api/pkiprofile/pki-1"
		if m, _ := Build(1, w); m.VirtualServices[0].Closed {
			t.Fatal("it is closed from the start")
		}
		for _, o := range w[kind] {
			setAt(o, strings.Split(field, "."), map[string]any{
				"crls":     []any{schema.Object{"file_ref": "u"}},
				"iptables": []any{schema.Object{"table": "filter"}}}[field])
		}
		m, findings := Build(1, w)
		said := slices.ContainsFunc(findings, func(f Finding) bool {
			return f.Kind == kind && strings.HasPrefix(f.Field, field)
		})
		if !m.VirtualServices[0].Closed || !said {
			t.Errorf("%s with %s: closed %t, findings %v", kind, field, m.VirtualServices[0].Closed, findings)
		}
	}
}

// setAt sets a field, and creates the objects on the path to it; nil stands for a reference.
func setAt(o schema.Object, path []string, value any) {
	if len(path) > 1 {
		inner, _ := o[path[0]].(schema.Object)
		if inner == nil {
			inner = schema.Object{}
			o[path[0]] = inner
		}
		setAt(inner, path[1:], value)
		return
	}
	if value == nil {
		value = "/api/pkiprofile/pki-1"
	}
	o[path[0]] = value
}

func TestPoolsOfAVirtualServiceAreItsOwnAndThoseOfRulesInForce(t *testing.T) {
	w := worldOfMany(t)
	w.add(t, "httppolicyset", "set-2", `{"name":"more","http_request_policy":{"rules":[
		{"name":"own","index":1,"switching_action":{"action":"HTTP_SWITCHING_SELECT_POOL","pool_ref":"pool-1"}},
		{"name":"off","index":2,"enable":false,"switching_action":{"action":"HTTP_SWITCHING_SELECT_POOL",
			"pool_ref":"pool-3"}},
		{"name":"gone","index":3,"switching_action":{"action":"HTTP_SWITCHING_SELECT_POOL","pool_ref":"pool-9"}}]}}`)
	w.add(t, "pool", "pool-3", `{"name":"r"}`)
	w.add(t, "virtualservice", "vs-5", `{"name":"v","vsvip_ref":"vsvip-1","pool_ref":"pool-1","services":[{"port":84}],
		"http_policies":[{"index":2,"http_policy_set_ref":"set-1"},{"index":1,"http_policy_set_ref":"set-2"}]}`)
	m, findings := Build(1, w)
	at := slices.IndexFunc(m.VirtualServices, func(vs *VirtualService) bool { return vs.UUID == "vs-5" })
	vs := m.VirtualServices[at]
	var order, pools []string
	for _, set := range vs.Policies {
		order = append(order, set.UUID)
	}
	for _, pool := range vs.Pools() {
		pools = append(pools, pool.UUID)
	}
	if !slices.Equal(order, []string{"set-2", "set-1"}) || !slices.Equal(pools, []string{"pool-1", "pool-2"}) ||
		len(vs.RulePools()) != 1 {
		t.Errorf("sets %v, pools %v", order, pools)
	}
	for _, uuid := range []string{"set-1", "strings-1", "addresses-1", "pool-2", "hm-1"} {
		if !vs.Concerns()[uuid] {
			t.Errorf("%s does not concern the virtual service", uuid)
		}
	}
	const lost = "http_request_policy.rules[2].switching_action.pool_ref"
	if !slices.ContainsFunc(findings, func(f Finding) bool { return f.UUID == "set-2" && f.Field == lost }) {
		t.Errorf("no finding about %s: %v", lost, findings)
	}
}

func TestAddressesOfAGroupAreServersOfThePool(t *testing.T) {
	w := seed(t)
	w.add(t, "ipaddrgroup", "farm-1", `{"name":"farm","addrs":[{"addr":"10.0.0.1","type":"V4"},
		{"addr":"2001:db8::7","type":"V6"},{"addr":"::ffff:10.0.0.9","type":"V6"}],
		"ranges":[{"begin":{"addr":"10.0.0.9","type":"V4"},"end":{"addr":"10.0.0.10","type":"V4"}}],
		"prefixes":[{"ip_addr":{"addr":"10.1.0.0","type":"V4"},"mask":24}]}`)
	w.add(t, "pool", "pool-9", `{"name":"grouped","default_server_port":81,"ipaddrgroup_ref":"farm-1",
		"servers":[{"ip":{"addr":"10.0.0.9","type":"V4"},"ratio":3},{"ip":{"addr":"name.example","type":"DNS"}}]}`)
	w.add(t, "virtualservice", "vs-9",
		`{"name":"grouped","vsvip_ref":"vsvip-1","pool_ref":"pool-9","services":[{"port":99}]}`)
	var keeper worldKeeper
	for range 2 {
		m, findings := keeper.Build(1, w)
		pool := m.Pools[len(m.Pools)-1]
		var got []string
		for _, member := range pool.Members {
			got = append(got, fmt.Sprintf("%s*%d %t", member.ID, member.Ratio, member.Enabled))
		}
		if want := []string{"10.0.0.9:81*3 true", "10.0.0.1:81*1 true", "[2001:db8::7]:81*1 true",
			"10.0.0.10:81*1 true"}; !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
		if pool.Size() != 5 {
			t.Errorf("there are %d servers: want one without an address, too", pool.Size())
		}
		if !slices.ContainsFunc(findings, func(f Finding) bool {
			return f.Field == "ipaddrgroup_ref" && strings.Contains(f.Message, "subnets and countries of farm")
		}) {
			t.Errorf("got the findings %v", findings)
		}
		w["pool"][len(w["pool"])-1]["description"] = "changed"
	}
}

func TestPoolHasAtMostSoManyServersOfAGroup(t *testing.T) {
	w := seed(t)
	w.add(t, "ipaddrgroup", "farm-1", `{"name":"farm","ranges":[
		{"begin":{"addr":"2001:db8::","type":"V6"},"end":{"addr":"2001:db8:1::","type":"V6"}}]}`)
	w.add(t, "pool", "pool-9", `{"name":"grouped","ipaddrgroup_ref":"farm-1"}`)
	m, findings := Build(1, w)
	if got := len(m.Pools[len(m.Pools)-1].Members); got != 5000 {
		t.Errorf("got %d servers", got)
	}
	if !slices.ContainsFunc(findings, func(f Finding) bool { return strings.Contains(f.Message, "at most 5000") }) {
		t.Errorf("got the findings %v", findings)
	}
}
