package kinds

import (
	"strings"
	"testing"
)

func TestWritesRefuseServersThatEnginesRefuse(t *testing.T) {
	for _, text := range []string{"0.0.0.0", "224.0.0.1", "255.255.255.255", "::", "ff02::1", "::ffff:224.0.0.1"} {
		ip := &IPAddr{Addr: text, Type: "V4"}
		if strings.Contains(text, ":") {
			ip.Type = "V6"
		}
		pool := &Pool{Servers: []Server{{IP: ip}}, DefaultServerPort: 80}
		if problem := pool.Validate(); problem == nil || problem.Field != "servers[0].ip.addr" {
			t.Errorf("%s in a pool: %v", text, problem)
		}
		group := &IpAddrGroup{IPPorts: []IPAddrPort{{IP: ip, Port: 80}}}
		if problem := group.Validate(); problem == nil || problem.Field != "ip_ports[0].ip.addr" {
			t.Errorf("%s in a group: %v", text, problem)
		}
		// A name may have such an address, and gets another one.
		pool.Servers[0].ResolveByDNS, pool.Servers[0].Hostname = true, "a.test"
		if problem := pool.Validate(); problem != nil {
			t.Errorf("%s of a name: %v", text, problem)
		}
	}
	pool := &Pool{Servers: []Server{{IP: &IPAddr{Addr: "10.0.0.1", Type: "V4"}}}, DefaultServerPort: 80}
	if problem := pool.Validate(); problem != nil {
		t.Error(problem)
	}
}
