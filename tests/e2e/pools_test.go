package e2e

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

func TestDocumentedFastServersGetTheRequests(t *testing.T) {
	s, run := groupStage(t)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(100 * time.Millisecond)
		fmt.Fprint(w, "slow: ")
	}))
	t.Cleanup(slow.Close)
	s.create("pool", client.Object{"name": "shop",
		"servers": serverList([]string{telling(t, "fast"), slow.Listener.Addr().String()})})
	s.pasteFrom("pools.md", "Fast servers first")
	run("vs", "set", "shop", "pool_ref=shop")
	s.eventually("the fast server gets nearly all", func() error {
		if counts := s.answered(10); counts["fast"] < 36 {
			return fmt.Errorf("they go to %v", counts)
		}
		return nil
	})
	if told := run("explain", plainURL("/x")); !strings.Contains(told, "fastest response") {
		t.Errorf("explained as %s", told)
	}
}

func TestServersAreAskedForTheirOwnHostAndResponsesAreForTheClients(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://"+r.Host+"/next")
		fmt.Fprint(w, r.Host)
	}))
	t.Cleanup(server.Close)
	s := setUp(t, server.Listener.Addr().String())
	if got := s.curl("-H", "Host: shop.test", plainURL("/")); got != "shop.test" {
		t.Errorf("the server is asked for %q", got)
	}
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) { o["host_name_xlate"] = "inner.test:80" })
	got := s.curl("-i", "-H", "Host: shop.test", plainURL("/"))
	contains(t, got, "\r\n\r\ninner.test:80", "Location: http://shop.test/next\r\n")
	s.changeApplied("web", "pool", "web", func(o client.Object) {
		o["append_port"] = "NEVER"
		servers, _ := o["servers"].([]any)
		first, _ := servers[0].(map[string]any)
		first["hostname"], first["rewrite_host_header"] = "one.test", true
	})
	if got := s.curl("-H", "Host: shop.test", plainURL("/")); got != "one.test" {
		t.Errorf("the server is asked for %q", got)
	}
}

func TestAddressesOfAGroupAreServers(t *testing.T) {
	s := policyStage(t, client.Object{})
	host, port, err := net.SplitHostPort(telling(t, "farm"))
	s.must(err)
	number, err := strconv.Atoi(port)
	s.must(err)
	s.create("ipaddrgroup", client.Object{"name": "farm", "addrs": list{object{"addr": host, "type": "V4"}}})
	s.create("pool", client.Object{"name": "farm", "ipaddrgroup_ref": client.Ref("ipaddrgroup", "farm"),
		"default_server_port": number})
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		o["pool_ref"] = client.Ref("pool", "farm")
	})
	s.eventually("the server of the group answers", func() error {
		if answer := s.ask(false, "shop.test", "/"); !strings.HasPrefix(answer, "farm: ") {
			return fmt.Errorf("got %q", answer)
		}
		return nil
	})
	if servers := s.runtime("pool", "farm")["num_servers"]; fmt.Sprint(servers) != "1" {
		t.Errorf("the pool has %v servers", servers)
	}
}

func TestPortIsClosedWhileDown(t *testing.T) {
	s := policyStage(t, client.Object{})
	at := net.JoinHostPort(vip, strconv.Itoa(plainPort))
	enable := func(enabled bool) {
		s.changeApplied("web", "pool", "web", func(o client.Object) { o["enabled"] = enabled })
	}
	refuses := func() error { return s.refuses(at) }
	answers := func() error {
		if refuses() == nil {
			return errors.New("connections are refused")
		}
		if answer := s.ask(false, "shop.test", "/"); !strings.HasPrefix(answer, "web: ") {
			return fmt.Errorf("got %q", answer)
		}
		return nil
	}
	enable(false)
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		o["remove_listening_port_on_vs_down"] = true
	})
	s.eventually("the port is closed", refuses)
	enable(true)
	s.eventually("the server answers", answers)
	enable(false)
	s.eventually("the port is closed again", refuses)
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		o["remove_listening_port_on_vs_down"] = false
	})
	if err := refuses(); err == nil {
		t.Error("the port is closed without the setting")
	}
}

// refuses is nil if nobody listens at an address.
func (s *stage) refuses(at string) error {
	conn, err := net.Dial("tcp", at)
	if err == nil {
		s.must(conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("got %v", err)
	}
	return nil
}

func TestTakenPortLeavesOthersServed(t *testing.T) {
	s := policyStage(t, client.Object{})
	s.createVirtualService("later", "api", loopback(4), tlsPort, plainPort)
	s.waitUp("later")
	at := net.JoinHostPort(vip, strconv.Itoa(plainPort))
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		o["remove_listening_port_on_vs_down"] = true
	})
	s.changeApplied("web", "pool", "web", func(o client.Object) { o["enabled"] = false })
	s.eventually("the port is closed", func() error { return s.refuses(at) })
	other, err := net.Listen("tcp", at)
	s.must(err)
	t.Cleanup(func() { other.Close() })
	before := s.dataplane()
	s.must(syscall.Kill(before, syscall.SIGKILL))
	s.untilReplaced(before)
	s.eventually("the other virtual service is served", func() error {
		status, err := getOnce("http://" + net.JoinHostPort(loopback(4), strconv.Itoa(plainPort)) + "/")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d", status)
		}
		return err
	})
	s.must(other.Close())
	s.changeApplied("web", "pool", "web", func(o client.Object) { o["enabled"] = true })
	s.eventually("the port is open again", func() error {
		if s.refuses(at) == nil {
			return errors.New("connections are refused")
		}
		if answer := s.ask(false, "shop.test", "/"); !strings.HasPrefix(answer, "web: ") {
			return fmt.Errorf("got %q", answer)
		}
		return nil
	})
}

// serveAt starts an HTTP server at an address.
func (s *stage) serveAt(at string, secure bool, answer http.HandlerFunc) {
	s.Helper()
	listener, err := net.Listen("tcp", at)
	s.must(err)
	server := httptest.NewUnstartedServer(answer)
	s.must(server.Listener.Close())
	server.Listener = listener
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	s.Cleanup(server.Close)
}

func TestServersHaveThePortOfService(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	host := loopback(40)
	for _, port := range []int{plainPort, tlsPort} {
		s.serveAt(net.JoinHostPort(host, strconv.Itoa(port)), false, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "port ", port)
		})
	}
	s.createVip("web")
	s.create("pool", client.Object{"name": "web", "servers": serverList([]string{net.JoinHostPort(host, "9")}),
		"use_service_port": true})
	s.create("virtualservice", client.Object{
		"name": "web", "vsvip_ref": client.Ref("vsvip", "web"), "pool_ref": client.Ref("pool", "web"),
		"application_profile_ref": client.Ref("applicationprofile", "System-L4-Application"),
		"services":                list{object{"port": plainPort}, object{"port": tlsPort}}})
	s.waitUp("web")
	for _, port := range []int{plainPort, tlsPort} {
		at := net.JoinHostPort(vip, strconv.Itoa(port))
		if got, want := s.curl("http://"+at+"/"), fmt.Sprint("port ", port); got != want {
			t.Errorf("%s: got %q", at, got)
		}
	}
}

func TestRequestsHaveThePortOfService(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	host := loopback(40)
	for _, port := range []int{plainPort, tlsPort} {
		at := net.JoinHostPort(host, strconv.Itoa(port))
		s.serveAt(at, port == tlsPort, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "port %d, TLS %t", port, r.TLS != nil)
		})
	}
	s.createVip("web")
	s.create("pool", client.Object{"name": "web", "servers": serverList([]string{net.JoinHostPort(host, "9")}),
		"use_service_port": true, "use_service_ssl_mode": true,
		"ssl_profile_ref": client.Ref("sslprofile", "System-Standard")})
	s.create("virtualservice", client.Object{
		"name": "web", "vsvip_ref": client.Ref("vsvip", "web"), "pool_ref": client.Ref("pool", "web"),
		"ssl_key_and_certificate_refs": list{client.Ref("sslkeyandcertificate", "System-Default-Cert")},
		"services":                     list{object{"port": plainPort}, object{"port": tlsPort, "enable_ssl": true}}})
	s.waitUp("web")
	for range 2 { // on new connections, and on those that are kept
		for scheme, port := range map[string]int{"http": plainPort, "https": tlsPort} {
			at := net.JoinHostPort(vip, strconv.Itoa(port))
			if got, want := s.curl(scheme+"://"+at+"/"), fmt.Sprintf("port %d, TLS %t", port,
				port == tlsPort); got != want {
				t.Errorf("%s: got %q", at, got)
			}
		}
	}
}
