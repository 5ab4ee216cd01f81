package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

// named is a server that answers with its name, and with what it was asked.
func named(t *testing.T, name string, secure bool) string {
	t.Helper()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s: %s %s%s", name, r.Method, r.Host, r.RequestURI)
	})
	server := httptest.NewUnstartedServer(handler)
	if server.Start(); secure {
		server.Close()
		server = httptest.NewTLSServer(handler)
	}
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// hostingStage has pools with one server each, of the same name.
func hostingStage(t *testing.T, secure bool, names ...string) *stage {
	t.Helper()
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	for _, name := range names {
		s.create("pool", client.Object{"name": name, "servers": serverList([]string{named(t, name, secure)})})
	}
	return s
}

func (s *stage) createParent(object client.Object) {
	s.Helper()
	s.create("vsvip", client.Object{"name": "front", "vip": []any{
		map[string]any{"vip_id": "1", "ip_address": map[string]any{"addr": vip, "type": "V4"}}}})
	object["name"], object["vsvip_ref"], object["type"] = "front", client.Ref("vsvip", "front"), "VS_TYPE_VH_PARENT"
	s.create("virtualservice", object)
	s.waitUp("front")
}

// createChild creates a child with the pool of its name.
func (s *stage) createChild(name string, object client.Object) {
	s.Helper()
	object["name"], object["type"], object["pool_ref"] = name, "VS_TYPE_VH_CHILD", client.Ref("pool", name)
	object["vh_parent_vs_ref"] = client.Ref("virtualservice", "front")
	s.create("virtualservice", object)
	s.waitUp(name)
}

// ask asks for a host over TLS, or without it, and returns the status and the answer.
func (s *stage) ask(secure bool, host, path string, flags ...string) string {
	s.Helper()
	return s.curl(asking(secure, host, path, flags...)...)
}

func asking(secure bool, host, path string, flags ...string) []string {
	scheme, port := "http", plainPort
	if secure {
		scheme, port = "https", tlsPort
	}
	return append(flags, "-w", " %{http_code}", "--connect-to",
		fmt.Sprintf("%s:%d:%s:%d", host, port, vip, port),
		fmt.Sprintf("%s://%s:%d%s", scheme, host, port, path))
}

func (s *stage) gets(what, got string, want ...string) {
	s.Helper()
	if text := strings.Join(want, ""); got != text {
		s.Errorf("%s: got %q, want %q", what, got, text)
	}
}

func TestChildrenGetTheRequestsForTheirHostsAndPaths(t *testing.T) {
	s := hostingStage(t, false, "shop", "cart", "all", "beta")
	s.createParent(client.Object{"vh_type": "VS_TYPE_VH_ENHANCED", "services": []any{
		map[string]any{"port": tlsPort, "enable_ssl": true, "enable_http2": true},
		map[string]any{"port": plainPort, "enable_http2": true}}})
	match := func(host string, paths ...any) []any {
		one := map[string]any{"host": host}
		if len(paths) > 0 {
			one["rules"] = []any{map[string]any{"name": "paths", "matches": map[string]any{
				"path": map[string]any{"match_criteria": "BEGINS_WITH", "match_str": paths}}}}
		}
		return []any{one}
	}
	enhanced := func(matches []any) client.Object {
		return client.Object{"vh_type": "VS_TYPE_VH_ENHANCED", "vh_matches": matches}
	}
	s.createChild("shop", enhanced(match("shop.test")))
	s.createChild("cart", enhanced(match("shop.test", "/cart", "/basket")))
	s.createChild("all", enhanced(match("*.test")))
	for _, way := range []struct {
		secure bool
		flag   string
	}{{false, "--http1.1"}, {false, "--http2-prior-knowledge"}, {true, "--http1.1"}, {true, "--http2"}} {
		for _, c := range []struct{ host, path, server string }{
			{"shop.test", "/", "shop"}, {"shop.test", "/cart/1", "cart"}, {"shop.test", "/%63art", "cart"},
			{"SHOP.test", "/basket?a", "cart"}, {"blog.test", "/cart", "all"}, {"a.b.test", "/", "all"},
		} {
			port := plainPort
			if way.secure {
				port = tlsPort
			}
			s.gets(fmt.Sprint(way, c), s.ask(way.secure, c.host, c.path, way.flag),
				fmt.Sprintf("%s: GET %s:%d%s 200", c.server, c.host, port, c.path))
		}
		contains(t, s.ask(way.secure, "other.example", "/", way.flag), "404 Not Found", " 404")
	}

	s.eventually("requests are counted for the children", func() error {
		for name, want := range map[string]float64{"front": 4, "shop": 4, "cart": 12, "all": 8} {
			if got := s.requests(name); got != want {
				return fmt.Errorf("%v of %s, want %v", got, name, want)
			}
		}
		return nil
	})
	s.createChild("beta", enhanced([]any{map[string]any{"host": "shop.test",
		"rules": []any{map[string]any{"name": "beta",
			"matches": map[string]any{"hdrs": []any{map[string]any{"hdr": "X-Beta",
				"match_criteria": "HDR_EXISTS"}}}}}}}))
	for _, flag := range []string{"--http1.1", "--http2-prior-knowledge"} {
		s.gets("a field chooses a child", s.ask(false, "shop.test", "/", flag, "-H", "X-Beta: 1"),
			fmt.Sprintf("beta: GET shop.test:%d/ 200", plainPort))
		s.gets("no field does not", s.ask(false, "shop.test", "/", flag),
			fmt.Sprintf("shop: GET shop.test:%d/ 200", plainPort))
		s.gets("the path goes first", s.ask(false, "shop.test", "/cart", flag, "-H", "X-Beta: 1"),
			fmt.Sprintf("cart: GET shop.test:%d/cart 200", plainPort))
	}
	front, err := s.controller.Session.ByName(s.ctx, "virtualservice", "front")
	s.must(err)
	err = s.controller.Session.Delete(s.ctx, "virtualservice", fmt.Sprint(front["uuid"]))
	if err == nil || !strings.Contains(err.Error(), "cart") {
		t.Errorf("a parent with children is deleted: %v", err)
	}

	s.addFirewall("cart")
	s.eventually("the requests of a child that is not served go to nobody else", func() error {
		got, err := s.tryCurl(asking(false, "shop.test", "/cart")...) // an answer may end with the child
		if err == nil && !strings.HasSuffix(got, " 503") {
			err = fmt.Errorf("got %q", got)
		}
		return err
	})
	s.gets("its neighbour", s.ask(false, "shop.test", "/"), fmt.Sprintf("shop: GET shop.test:%d/ 200", plainPort))

	s.change("virtualservice", "cart", func(o client.Object) { o["enabled"] = false })
	s.eventually("a disabled child gets no requests", func() error {
		got, err := s.tryCurl(asking(false, "shop.test", "/cart")...)
		if err == nil && !strings.HasPrefix(got, "shop: ") {
			err = fmt.Errorf("got %q", got)
		}
		return err
	})
}

// addFirewall gives a virtual service a policy that engines do not apply, so that it is not served.
func (s *stage) addFirewall(name string) {
	s.Helper()
	s.change("virtualservice", name, func(o client.Object) { o["waf_policy_ref"] = "/api/wafpolicy/wafpolicy-1" })
}

// secureChildren are children with certificates of their own: that of shop is RSA, those of others are EC.
func secureChildren(s *stage) {
	s.Helper()
	key := func(name string) []any { return []any{client.Ref("sslkeyandcertificate", name)} }
	profile := client.Ref("sslprofile", "System-Standard")
	s.createParent(client.Object{"services": []any{map[string]any{"port": tlsPort, "enable_ssl": true,
		"enable_http2": true}},
		"ssl_key_and_certificate_refs": key("System-Default-Cert-EC"), "ssl_profile_ref": profile})
	s.createChild("shop", client.Object{"vh_domain_name": []any{"shop.test"}, "ssl_profile_ref": profile,
		"ssl_key_and_certificate_refs": key("System-Default-Cert")})
	s.createChild("all", client.Object{"vh_domain_name": []any{"*.test"}, "ssl_profile_ref": profile,
		"ssl_key_and_certificate_refs": key("System-Default-Cert-EC")})
}

func TestChildrenGetTheConnectionsWithTheirServerNames(t *testing.T) {
	s := hostingStage(t, false, "shop", "all")
	secureChildren(s)
	for _, c := range []struct {
		host, answer string
		key          x509.PublicKeyAlgorithm
	}{
		{"shop.test", "shop: GET shop.test:%d/a 200", x509.RSA},
		{"blog.test", "all: GET blog.test:%d/a 200", x509.ECDSA},
		{"a.b.test", "all: GET a.b.test:%d/a 200", x509.ECDSA},
	} {
		for _, flag := range []string{"--http1.1", "--http2"} {
			s.gets(c.host+" "+flag, s.ask(true, c.host, "/a", flag), fmt.Sprintf(c.answer, tlsPort))
		}
		conn, err := tls.Dial("tcp", tlsAddress, &tls.Config{ServerName: c.host, InsecureSkipVerify: true}) // its own
		s.must(err)
		if got := conn.ConnectionState().PeerCertificates[0].PublicKeyAlgorithm; got != c.key {
			t.Errorf("%s: the certificate is %v, want %v", c.host, got, c.key)
		}
		s.must(conn.Close())
	}
	contains(t, s.ask(true, "other.example", "/", "--http1.1"), "404 Not Found", " 404")
	for _, c := range []struct{ flag, host, status string }{
		{"--http1.1", "blog.test", " 400"}, {"--http1.1", "other.example", " 400"},
		{"--http2", "blog.test", " 421"}, {"--http2", "other.example", " 400"},
	} {
		contains(t, s.ask(true, "shop.test", "/", c.flag, "-H", "Host: "+c.host), c.status)
	}
	s.create("applicationprofile", client.Object{"name": "any-host", "type": "APPLICATION_PROFILE_TYPE_HTTP",
		"http_profile": map[string]any{"disable_sni_hostname_check": true}})
	s.change("virtualservice", "shop", func(o client.Object) {
		o["application_profile_ref"] = client.Ref("applicationprofile", "any-host")
	})
	s.eventually("the check is off", func() error {
		got, err := s.tryCurl(asking(true, "shop.test", "/", "-H", "Host: blog.test")...)
		if err == nil && got != "shop: GET blog.test/ 200" {
			err = fmt.Errorf("got %q", got)
		}
		return err
	})
	s.addFirewall("shop")
	s.eventually("the clients of a child that is not served go to nobody else", func() error {
		got, err := s.tryCurl(asking(true, "shop.test", "/")...) // an answer may end with the child
		if err == nil && !strings.HasSuffix(got, " 503") {
			err = fmt.Errorf("got %q", got)
		}
		return err
	})
}

// reuses makes a handshake with a session of an earlier one, and tells whether it was resumed.
func (s *stage) reuses(name, version, offered, kept string) bool {
	s.Helper()
	args := []string{"s_client", "-connect", tlsAddress, "-servername", name, version, "-ign_eof", "-sess_out", kept}
	if offered != "" {
		args = append(args, "-sess_in", offered)
	}
	command := exec.CommandContext(s.ctx, "openssl", args...)
	command.Stdin = strings.NewReader(fmt.Sprintf("GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", name))
	said, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "HTTP/1.1 200") {
		s.Fatalf("%s: %v\n%s", name, err, said)
	}
	return strings.Contains(string(said), "\nReused, ")
}

func TestSessionOfOneChildIsNotResumedByAnother(t *testing.T) {
	s := hostingStage(t, false, "shop", "all")
	secureChildren(s)
	for _, version := range []string{"-tls1_2", "-tls1_3"} {
		kept := func(name string) string { return filepath.Join(s.dir, name+version+".session") }
		if s.reuses("shop.test", version, "", kept("shop")) {
			t.Errorf("%s: resumed nothing", version)
		}
		if !s.reuses("shop.test", version, kept("shop"), kept("again")) {
			t.Errorf("%s: the same child does not resume it", version)
		}
		if s.reuses("blog.test", version, kept("shop"), kept("blog")) {
			t.Errorf("%s: another child resumes it", version)
		}
	}
}

// choppy sends its first record as records of 20 bytes, each in two pieces, and does something in the middle.
type choppy struct {
	net.Conn

	meanwhile func()
	started   bool
}

func (c *choppy) Write(record []byte) (int, error) {
	if c.started {
		return c.Conn.Write(record)
	}
	c.started = true
	message := record[5 : 5+int(binary.BigEndian.Uint16(record[3:]))]
	for at := 0; at < len(message); at += 20 {
		part := message[at:min(at+20, len(message))]
		if at == 100 {
			c.meanwhile()
		}
		header := append([]byte{22, 3, 1, 0}, byte(len(part)))
		for _, piece := range [][]byte{append(header, part[:len(part)/2]...), part[len(part)/2:]} {
			if _, err := c.Conn.Write(piece); err != nil {
				return 0, err
			}
		}
	}
	return len(record), nil
}

func TestTLSGoesThroughToTheServerOfItsName(t *testing.T) {
	s := hostingStage(t, true, "shop", "all", "rest")
	s.createParent(client.Object{"services": []any{map[string]any{"port": tlsPort}},
		"pool_ref":                client.Ref("pool", "rest"),
		"application_profile_ref": client.Ref("applicationprofile", "System-L4-Application")})
	layer4 := func(names ...any) client.Object {
		return client.Object{"vh_domain_name": names,
			"application_profile_ref": client.Ref("applicationprofile", "System-L4-Application")}
	}
	s.createChild("shop", layer4("shop.test", "shop.*"))
	s.createChild("all", layer4("*.test"))
	for _, c := range []struct{ host, server string }{
		{"shop.test", "shop"}, {"shop.example", "shop"}, {"blog.test", "all"}, {"other.example", "rest"}, {vip, "rest"},
	} {
		s.gets(c.host, s.ask(true, c.host, "/a"), fmt.Sprintf("%s: GET %s:%d/a 200", c.server, c.host, tlsPort))
	}

	dial := func(meanwhile func()) string {
		raw, err := net.Dial("tcp", tlsAddress)
		s.must(err)
		s.must(raw.SetDeadline(time.Now().Add(eventTimeout)))
		conn := tls.Client(&choppy{Conn: raw, meanwhile: meanwhile}, &tls.Config{ServerName: "shop.test",
			InsecureSkipVerify: true}) // its own
		defer conn.Close()
		_, err = io.WriteString(conn, "GET /b HTTP/1.0\r\nHost: x\r\n\r\n")
		s.must(err)
		answer, err := io.ReadAll(conn)
		s.must(err)
		return string(answer)
	}
	asked := ""
	contains(t, dial(func() { asked = s.ask(true, "blog.test", "/c") }), "shop: GET x/b")
	s.gets("while a hello is late", asked, fmt.Sprintf("all: GET blog.test:%d/c 200", tlsPort))
	s.eventually("connections are counted for the parent", func() error {
		counters, _ := s.runtime("virtualservice", "front")["counters"].(map[string]any)
		if total, _ := counters["connections"].(float64); total != 7 {
			return fmt.Errorf("%v", counters)
		}
		return nil
	})
	s.addFirewall("shop")
	s.eventually("the clients of a child that is not served go to nobody else", func() error {
		conn, err := tls.Dial("tcp", tlsAddress, &tls.Config{ServerName: "shop.test", InsecureSkipVerify: true})
		if err == nil {
			return errors.Join(errors.New("somebody answers"), conn.Close())
		}
		return nil
	})
}
