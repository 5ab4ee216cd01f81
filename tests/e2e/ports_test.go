package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

// portTeller is a server that answers with its name, and with the port that its client asked.
func portTeller(t *testing.T, name string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s\n", name, r.Host)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestSeveralVirtualServicesShareAVsVipByTheirPortsAndRangesOfPorts(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("vsvip", client.Object{"name": "shared", "vip": []any{
		map[string]any{"vip_id": "1", "ip_address": map[string]any{"addr": vip, "type": "V4"}}}})
	service := func(name string, services ...any) client.Object {
		return client.Object{"name": name, "vsvip_ref": client.Ref("vsvip", "shared"),
			"pool_ref": client.Ref("pool", name), "services": services}
	}
	one := map[string]any{"port": 8090}
	many := map[string]any{"port": 8091, "port_range_end": 8094}
	for name, services := range map[string][]any{"first": {one, map[string]any{"port": 8099}}, "second": {many}} {
		s.create("pool", client.Object{"name": name, "servers": serverList([]string{portTeller(t, name)})})
		s.create("virtualservice", service(name, services...))
		s.waitUp(name)
	}
	for port, name := range map[int]string{8090: "first", 8091: "second", 8092: "second", 8093: "second",
		8094: "second", 8099: "first"} {
		want := fmt.Sprintf("%s %s:%d\n", name, vip, port)
		if got := s.curl(fmt.Sprintf("http://%s:%d/", vip, port)); got != want {
			t.Errorf("port %d: got %q; want %q", port, got, want)
		}
	}
	if _, err := getOnce(fmt.Sprintf("http://%s:8095/", vip)); err == nil {
		t.Error("the port behind a range is answered")
	}

	s.create("pool", client.Object{"name": "third", "servers": serverList([]string{portTeller(t, "third")})})
	_, err := s.controller.Session.Create(s.ctx, "virtualservice",
		service("third", map[string]any{"port": 8080}, map[string]any{"port": 8094, "port_range_end": 8098}))
	if err == nil {
		t.Fatal("a virtual service took a port of another one")
	}
	contains(t, err.Error(), "services[1]", "8094", "second", vip)
	if got, want := s.curl(fmt.Sprintf("http://%s:8094/", vip)), fmt.Sprintf("second %s:8094\n", vip); got != want {
		t.Errorf("after the refusal: got %q; want %q", got, want)
	}

	s.change("virtualservice", "second", func(o client.Object) { o["services"] = []any{portRange(8091, 8092)} })
	s.create("virtualservice", service("third", portRange(8093, 8098)))
	s.waitUp("third")
	s.eventually("the port has changed hands", func() error {
		if got := s.curl(fmt.Sprintf("http://%s:8094/", vip)); !strings.HasPrefix(got, "third ") {
			return fmt.Errorf("got %q", got)
		}
		return nil
	})
}

// portRange is a range of ports.
func portRange(first, last int) map[string]any {
	return map[string]any{"port": first, "port_range_end": last}
}

func TestPortsHaveTheirOwnProfiles(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "dns", "servers": serverList([]string{s.dnsmasq("one")})})
	s.create("pool", client.Object{"name": "web", "servers": serverList([]string{portTeller(t, "web")})})
	s.createVip("mixed")
	port := func(number int, profiles map[string]any) any {
		profiles["port"] = number
		return profiles
	}
	l4, http := client.Ref("applicationprofile", "System-L4-Application"),
		client.Ref("applicationprofile", "System-HTTP")
	s.create("virtualservice", client.Object{"name": "mixed", "vsvip_ref": client.Ref("vsvip", "mixed"),
		"pool_ref": client.Ref("pool", "dns"), "application_profile_ref": client.Ref(
			"applicationprofile", "System-DNS"),
		"network_profile_ref": client.Ref("networkprofile", "System-UDP-Fast-Path"),
		"service_pool_select": []any{
			map[string]any{"service_port": 8090, "service_port_range_end": 8091,
				"service_pool_ref": client.Ref("pool", "web")}},
		"services": []any{
			port(dnsPort, map[string]any{}),
			port(dnsPort, map[string]any{"override_network_profile_ref": client.Ref("networkprofile",
				"System-TCP-Proxy")}),
			port(8090, map[string]any{"override_application_profile_ref": http,
				"override_network_profile_ref": client.Ref("networkprofile", "System-TCP-Proxy")}),
			port(8091, map[string]any{"override_application_profile_ref": l4,
				"override_network_profile_ref": client.Ref("networkprofile", "System-TCP-Proxy")}),
		}})
	s.waitUp("mixed")
	at := fmt.Sprintf("%s:%d", vip, dnsPort)
	for _, how := range []string{"+notcp", "+tcp"} {
		if answer, err := dig(s.ctx, at, "www.test", "A", how); err != nil || answer != "192.0.2.7" {
			t.Errorf("%s: got %q, %v", how, answer, err)
		}
	}
	for _, number := range []int{8090, 8091} {
		want := fmt.Sprintf("web %s:%d\n", vip, number)
		if got := s.curl(fmt.Sprintf("http://%s:%d/", vip, number)); got != want {
			t.Errorf("port %d: got %q; want %q", number, got, want)
		}
	}
	for number, want := range map[int]string{dnsPort: "The pool is dns", 8090: "The pool is web"} {
		contains(t, s.commands()("explain", fmt.Sprintf("http://%s:%d/", vip, number)), "virtual service mixed", want)
	}
	s.eventually("all ports are counted together", func() error {
		counters := s.counters("mixed")
		if counters["requests"] != 1.0 || counters["received_datagrams"] != 1.0 ||
			counters["connections"].(float64) < 4 {
			return fmt.Errorf("%v", counters)
		}
		return nil
	})
}
