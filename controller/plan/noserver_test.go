package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
)

// One address or port that is none of a server, from before they were checked or from DNS, must not make engines refuse
// what all virtual services have.
func TestServersThatEnginesRefuseAreLeftOut(t *testing.T) {
	objects := objectsIn(t, `
ipaddrgroup {"name": "servers", "addrs": [{"addr": "10.0.0.2", "type": "V4"}, {"addr": "224.0.0.1", "type": "V4"}],
	"ranges": [{"begin": {"addr": "223.255.255.254", "type": "V4"}, "end": {"addr": "239.255.255.255", "type": "V4"}}]}
pool {"name": "shop", "default_server_port": 8080, "ipaddrgroup_ref": "/api/ipaddrgroup?name=servers",
	"servers": [{"ip": {"addr": "10.0.0.1", "type": "V4"}}]}
virtualservice {"name": "a", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}],
	"pool_ref": "/api/pool?name=shop"}`)
	server := func(address string) schema.Object {
		return schema.Object{"ip": schema.Object{"addr": address, "type": "V4"}}
	}
	at := func(address string, port int64) schema.Object {
		object := server(address)
		object["port"] = port
		return object
	}
	pool := objectOf(t, objects, "pool", "shop")
	pool["servers"] = append(pool["servers"].([]any), server("0.0.0.0"), server("255.255.255.255"), server("ff02::1"),
		server("::ffff:224.0.0.9"))
	objectOf(t, objects, "ipaddrgroup", "servers")["ip_ports"] = []any{
		at("10.0.0.3", 65_536), at("10.0.0.4", 70_000), server("10.0.0.5"), at("fe80::1%eth0", 80), at("::", 80),
		at("10.0.0.6", 65_535)}
	m, findings := model.Build(7, objects)
	compiled, more := compilerOf(m, nil, placed(m)).Compile(engineUUID, nil)
	findings = append(findings, more...)
	for _, problem := range refusedByEngines(compiled) {
		t.Errorf("engines refuse %s", problem)
	}
	var ids []string
	for _, resource := range compiled.GetResources() {
		for _, server := range resource.GetPool().GetPool().GetServers() {
			ids = append(ids, server.GetId())
		}
	}
	if want := []string{"10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.6:65535", "223.255.255.254:8080",
		"223.255.255.255:8080"}; !slices.Equal(ids, want) {
		t.Errorf("got the servers %v: want %v", ids, want)
	}
	for _, part := range []string{
		"0.0.0.0 is no address of a server", "255.255.255.255 is an address of many", "ff02::1 is an address of many",
		"::ffff:224.0.0.9 is an address of many", "addrs[1] of servers: 224.0.0.1 is an address of many",
		"ip_ports[0] of servers: 65536 is no port", "ip_ports[1] of servers: 70000 is no port",
		"ip_ports[2] of servers has no port", "ip_ports[3] of servers: fe80::1%eth0 has a zone",
		"ip_ports[4] of servers: :: is no address", "ranges[0] of servers: 224.0.0.0 is an address of many",
	} {
		if !slices.ContainsFunc(findings, func(finding model.Finding) bool {
			return finding.Kind == "pool" && strings.Contains(finding.Message, part)
		}) {
			t.Errorf("no finding has %q; got %v", part, findings)
		}
	}
}
