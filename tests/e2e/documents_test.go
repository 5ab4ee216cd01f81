package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

// serverAt is how commands write a server.
func serverAt(place int, address string) string {
	host, port, _ := net.SplitHostPort(address)
	return fmt.Sprintf("servers[%d].ip.addr=%s servers[%d].port=%s", place, host, place, port)
}

func TestPoliciesAsTheirPageSays(t *testing.T) {
	const office = 63
	s, _ := groupStage(t)
	s.must(os.WriteFile(filepath.Join(s.dir, "house.json"), []byte(blocks(t, "policies.md", "json")[0]), 0o600))
	pages := blocks(t, "policies.md", "")
	said := s.shell(pages[0], "servers[0].ip.addr=10.0.0.2 servers[0].port=8080", serverAt(0, telling(t, "api")),
		"198.51.100.7", loopback(office))
	if strings.Contains(strings.ToLower(said), "warning") {
		t.Errorf("the commands say %s", said)
	}
	ask := func(path string, flags ...string) string { return s.ask(false, "shop.test", path, flags...) }
	s.eventually("the rules are in force", func() error {
		if got := ask("/admin"); got != "Not from here.\n 403" {
			return fmt.Errorf("got %q", got)
		}
		return nil
	})
	from := []string{"--interface", loopback(office)}
	host := fmt.Sprintf("shop.test:%d", plainPort)
	s.gets("the office", ask("/admin", from...), "first: ", host, "/admin 200")
	s.gets("another path", ask("/"), "first: ", host, "/ 200")
	s.gets("the API", ask("/api/x", from...), "api: ", host, "/api/x X-Client=", loopback(office), " 200")

	find, _, _ := strings.Cut(pages[1], "\n")
	s.eventually("records name the rule", func() error {
		if got := s.shell(find); !strings.Contains(got, "/admin") {
			return fmt.Errorf("%s says %s", find, got)
		}
		return nil
	})
	change, _, _ := strings.Cut(pages[2], "\n")
	s.shell(change)
	s.triesAChangeFirst(pages[len(pages)-1])
}

// triesAChangeFirst runs the last example of the page, which writes nothing.
func (s *stage) triesAChangeFirst(page string) {
	s.Helper()
	next := filepath.Join(s.dir, "next.json")
	texts := blocks(s.T, "policies.md", "json")
	s.must(os.WriteFile(next, []byte(texts[len(texts)-1]), 0o600))
	at := []string{"http://shop.test/", "http://shop.test:" + fmt.Sprint(plainPort) + "/"}
	ask := func(path string, flags ...string) string {
		return s.ask(false, "shop.test", path, append(flags, "--interface", loopback(63))...)
	}
	before := ask("/api/v1/x")
	contains(s.T, s.shell(page, at...), "As if this were stored: pool api-2, httppolicyset house. Nothing is written.",
		"with the draft", "The request rule api of house chooses the pool.", "The pool is api-2: ",
		"The server would be 10.0.0.3:8080")
	contains(s.T, s.shell(strings.Replace(page, "/api/x", "/api/v1/x", 1), at...),
		"The request rule api-v1 of house answers with 404.")
	if after := ask("/api/v1/x"); after != before || !strings.HasPrefix(after, "api: ") {
		s.Errorf("the draft is in force: got %q, before %q", after, before)
	}
	if _, err := s.controller.Session.ByName(s.ctx, "pool", "api-2"); !errors.Is(err, client.ErrNotFound) {
		s.Errorf("the draft is stored: %v", err)
	}
	// Rules of a draft that never match are named, and a draft that no write would store is refused.
	shadowed := strings.NewReplacer("SELECT_POOL", "SELECT_LOCAL", `"pool_ref": "/api/pool?name=api-2"`,
		`"status_code": "HTTP_LOCAL_RESPONSE_STATUS_CODE_403"`)
	s.must(os.WriteFile(next, []byte(shadowed.Replace(texts[len(texts)-1])), 0o600))
	contains(s.T, s.shell(page, at...), "answers with 403", "RULES WITHOUT EFFECT", `rule "api-v1" never matches`)
	s.must(os.WriteFile(next, []byte(`{"pool": {"name": "api", "lb_algorithm": "LB_ALGORITHM_DICE"}}`), 0o600))
	contains(s.T, s.shell(strings.TrimSpace(strings.NewReplacer(at...).Replace(page))+" 2>&1 || true"),
		"LB_ALGORITHM_DICE")
}

func TestFastPathsAreServedAsProxies(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "echo", "servers": serverList([]string{telling(t, "echo")})})
	s.createVip("echo")
	s.create("virtualservice", client.Object{"name": "echo", "vsvip_ref": client.Ref("vsvip", "echo"),
		"pool_ref": client.Ref("pool", "echo"), "services": list{object{"port": plainPort}},
		"application_profile_ref": client.Ref("applicationprofile", "System-L4-Application"),
		"network_profile_ref":     client.Ref("networkprofile", "System-TCP-Fast-Path")})
	s.waitUp("echo")
	s.gets("the server", s.curl("-H", "Host: echo.test", plainURL("/x")), "echo: echo.test/x")
	if said := fmt.Sprint(s.runtime("virtualservice", "echo")["warnings"]); !strings.Contains(said, "TCP_PROXY") {
		t.Errorf("the warnings are %s", said)
	}
}

func TestHostingAsItsPageSays(t *testing.T) {
	s := hostingStage(t, false, "shop", "cart", "beta")
	s.commands()
	s.createVip("front")
	s.shell("weir cert create shop-cert certificate.self_signed=true certificate.subject.common_name=shop.example.com")
	for _, page := range blocks(t, "hosting.md", "") {
		said := s.shell(page, "services[0].port=443", fmt.Sprintf("services[0].port=%d", tlsPort),
			"services[0].port=80", fmt.Sprintf("services[0].port=%d", plainPort))
		if strings.Contains(strings.ToLower(said), "warning") {
			t.Errorf("%s says %s", page, said)
		}
	}
	for _, name := range []string{"front", "shop", "sites", "cart", "beta"} {
		s.waitUp(name)
	}
	const site = "shop.example.com"
	s.eventually("each child gets what is for it", func() error {
		for want, got := range map[string]string{
			"shop": s.ask(true, site, "/"), "cart": s.ask(false, site, "/cart/1"),
			"beta": s.ask(false, site, "/other", "-H", "Cookie: beta=yes"),
		} {
			if !strings.HasPrefix(got, want+": GET "+site) || !strings.HasSuffix(got, " 200") {
				return fmt.Errorf("%s: got %q", want, got)
			}
		}
		return nil
	})
	if got := s.ask(false, site, "/other"); !strings.HasSuffix(got, " 404") {
		t.Errorf("what is for no child gets %q", got)
	}
}

func TestDatagramsAsTheirPageSays(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.commands()
	s.shell(blocks(t, "udp.md", "")[0],
		"servers[0].ip.addr=10.0.0.1 servers[0].port=53", serverAt(0, s.dnsmasq("one")),
		"servers[1].ip.addr=10.0.0.2 servers[1].port=53", serverAt(1, s.dnsmasq("two")),
		"192.0.2.53", vip, "services[0].port=53", fmt.Sprintf("services[0].port=%d", dnsPort),
		"services[1].port=53", fmt.Sprintf("services[1].port=%d", dnsPort))
	s.waitUp("dns")
	at := net.JoinHostPort(vip, fmt.Sprint(dnsPort))
	for _, how := range []string{"+notcp", "+tcp"} {
		s.eventually("www.test is known "+how, func() error {
			if answer, err := dig(s.ctx, at, "www.test", "A", how); err != nil || answer != "192.0.2.7" {
				return fmt.Errorf("got %q, %w", answer, err)
			}
			return nil
		})
	}
}

// On its second example, one server takes requests at the port of HTTP, and connections and datagrams at another port.
func TestPortsAsTheirPageSays(t *testing.T) {
	const server, desktopPort = 77, 4172
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.commands()
	at := func(port int) string { return net.JoinHostPort(loopback(server), fmt.Sprint(port)) }
	s.serveAt(at(plainPort), false, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "web ", r.Host) })
	desktop, err := net.Listen("tcp", at(desktopPort))
	s.must(err)
	t.Cleanup(func() { desktop.Close() })
	go func() {
		for {
			client, err := desktop.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(client, "desktop")
			client.Close()
		}
	}()
	datagrams, err := net.ListenPacket("udp", at(desktopPort))
	s.must(err)
	t.Cleanup(func() { datagrams.Close() })
	go func() {
		for buffer := make([]byte, 64); ; {
			length, client, err := datagrams.ReadFrom(buffer)
			if err != nil {
				return
			}
			datagrams.WriteTo(buffer[:length], client) //nolint:errcheck // the client asks again
		}
	}()
	s.shell(blocks(t, "udp.md", "")[1], "servers[0].ip.addr=10.0.0.7 servers[0].port=80", serverAt(0, at(plainPort)),
		"192.0.2.80", vip,
		"services[0].port=80", fmt.Sprintf("services[0].port=%d", plainPort))
	s.waitUp("desktops")
	s.gets("the web server", s.curl(plainURL("/")), "web ", plainAddress)
	for _, network := range []string{"tcp", "udp"} {
		s.eventually("the desktop answers over "+network, func() error {
			client, err := net.Dial(network, net.JoinHostPort(vip, fmt.Sprint(desktopPort)))
			if err != nil {
				return err
			}
			defer client.Close()
			s.must(client.SetDeadline(time.Now().Add(time.Second)))
			if _, err := fmt.Fprint(client, "desktop"); err != nil {
				return err
			}
			answer := make([]byte, len("desktop"))
			if _, err := io.ReadFull(client, answer); err != nil || string(answer) != "desktop" {
				return fmt.Errorf("got %q, %w", answer, err)
			}
			return nil
		})
	}
	contains(t, s.commands()("explain", plainURL("/")), "The server would be "+at(plainPort))
}

func TestMonitorsAsTheirPageSays(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	var well atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if well.Load() && r.URL.Path == "/health" {
			fmt.Fprint(w, "all is well")
		}
	}))
	t.Cleanup(server.Close)
	s.create("pool", client.Object{"name": "shop", "servers": serverList([]string{server.Listener.Addr().String()})})
	s.createVip("shop")
	s.commands()
	s.shell(fmt.Sprintf("weir vs create shop vsvip_ref=shop pool_ref=shop services[0].port=%d", plainPort))
	pages := blocks(t, "monitors.md", "")
	s.shell(pages[0], "type=HEALTH_MONITOR_HTTP", "send_interval=1 receive_timeout=1 type=HEALTH_MONITOR_HTTP")
	s.waitServer("shop", "OPER_DOWN", "all is well")
	well.Store(true)
	s.waitServer("shop", "OPER_UP", "")

	s.must(os.WriteFile(filepath.Join(s.dir, "check.sh"), []byte(pages[4]), 0o600))
	for _, page := range pages[1:4] {
		if said := s.shell(page); strings.Contains(strings.ToLower(said), "warning") {
			t.Errorf("%s says %s", page, said)
		}
	}
}
