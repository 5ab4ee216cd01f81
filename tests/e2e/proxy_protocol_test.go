package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/tests/accept"
)

// balancer starts a real HAProxy that passes connections on to target, with these options of a server line. It returns
// its address.
func balancer(t *testing.T, dir, target, options string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	defer listener.Close()
	config := filepath.Join(dir, fmt.Sprintf("haproxy-%d.cfg", listener.Addr().(*net.TCPAddr).Port))
	text := fmt.Sprintf(`defaults
  mode tcp
  timeout connect 30s
  timeout client 60s
  timeout server 60s
listen all
  bind fd@3
  unique-id-format mine
  server weir %s %s
`, target, options)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	command := exec.CommandContext(t.Context(), "haproxy", "-db", "-f", config)
	command.ExtraFiles, command.Stdout, command.Stderr = []*os.File{socket}, &said, &said
	if err := command.Start(); err != nil {
		t.Fatalf("haproxy: %v", err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("haproxy: %s", said.String())
		}
	})
	return listener.Addr().String()
}

// proxied makes the virtual service "web" accept PROXY headers from 127.0.0.1, and no other clients.
func (s *stage) proxied() {
	s.Helper()
	s.create("networkprofile", client.Object{"name": "proxied", "profile": map[string]any{
		"type": "PROTOCOL_TYPE_TCP_PROXY", "tcp_proxy_profile": map[string]any{
			"weir_proxy_protocol_sources": []any{map[string]any{
				"ip_addr": map[string]any{"addr": "127.0.0.1", "type": "V4"}, "mask": 32}}}}})
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		o["network_profile_ref"] = client.Ref("networkprofile", "proxied")
	})
	if _, err := getOnce(plainURL("/")); err == nil {
		s.Error("a connection without a header was answered")
	}
}

// fails runs curl, which is connected and gets no answer.
func (s *stage) fails(args ...string) {
	s.Helper()
	args = append([]string{"-sS", "-k", "--max-time", fmt.Sprint(eventTimeout.Seconds())}, args...)
	out, err := exec.CommandContext(s.ctx, "curl", args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "curl: (5") {
		s.Errorf("curl %v: %v\n%s", args, err, out)
	}
}

func TestClientsBehindHAProxyAreKnownByTheAddressInItsPROXYHeader(t *testing.T) {
	s := setUp(t, echo(t))
	s.proxied()
	for _, options := range []string{"send-proxy", "send-proxy-v2", "send-proxy-v2 proxy-v2-options crc32c,unique-id",
		"send-proxy-v2-ssl-cn"} {
		plain, secure := balancer(t, s.dir, plainAddress, options), balancer(t, s.dir, tlsAddress, options)
		for _, url := range []string{"http://" + plain + "/a", "https://" + secure + "/a"} {
			got := s.curl("--interface", "127.0.0.9", url)
			if !strings.Contains(got, "GET /a\n") || !strings.Contains(got, "X-Forwarded-For: 127.0.0.9\n") {
				t.Errorf("%s, %s: got %s", options, url, got)
			}
		}
	}
	contains(t, s.curl("--interface", "127.0.0.1", "--haproxy-protocol", plainURL("/")), "X-Forwarded-For: 127.0.0.1\n")

	s.fails("--interface", "127.0.0.1", plainURL("/"))
	s.fails("--interface", "127.0.0.2", "--haproxy-protocol", plainURL("/"))
	s.counts("client_proxy_header")
	s.counts("client_source_untrusted")
}

// introductions is a server that answers with the PROXY header of version 2 that each connection begins with.
func introductions(t *testing.T) string {
	t.Helper()
	return accept.Each(t, func(conn *net.TCPConn) {
		start := make([]byte, 16)
		if _, err := io.ReadFull(conn, start); err != nil {
			return
		}
		rest := make([]byte, binary.BigEndian.Uint16(start[14:]))
		if _, err := io.ReadFull(conn, rest); err != nil || len(rest) < 12 {
			return
		}
		fmt.Fprintf(conn, "%x %v %v", start[12:14], net.IP(rest[:4]), net.IP(rest[4:8]))
		for tlvs := rest[12:]; len(tlvs) >= 3; {
			end := 3 + int(binary.BigEndian.Uint16(tlvs[1:]))
			fmt.Fprintf(conn, " %#x=%q", tlvs[0], tlvs[3:end])
			tlvs = tlvs[end:]
		}
		fmt.Fprintln(conn)
		_ = conn.CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
	}).String()
}

func TestServerOfLayer4LearnsWhatThePROXYHeaderSaidAndWhatTLSWas(t *testing.T) {
	s := setUp(t, introductions(t))
	s.create("applicationprofile", client.Object{"name": "telling", "type": "APPLICATION_PROFILE_TYPE_SSL",
		"tcp_app_profile": map[string]any{"proxy_protocol_enabled": true,
			"proxy_protocol_version": "PROXY_PROTOCOL_VERSION_2", "weir_alpn_protocols": []any{"mail"}}})
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		o["application_profile_ref"] = client.Ref("applicationprofile", "telling")
	})
	s.proxied()
	options := "send-proxy-v2 proxy-v2-options crc32c,unique-id"

	plain := balancer(t, s.dir, plainAddress, options)
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}).Dial("tcp", plain)
	s.must(err)
	defer conn.Close()
	got, err := io.ReadAll(conn)
	if want := "2111 127.0.0.9 127.0.0.1 0x5=\"mine\"\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}

	secure := balancer(t, s.dir, tlsAddress, options)
	out, err := exec.CommandContext(s.ctx, "openssl", "s_client", "-quiet", "-alpn", "mail", "-bind", "127.0.0.9:0",
		"-connect", secure).Output()
	if err != nil {
		t.Errorf("openssl: %v", err)
	}
	contains(t, string(out), "2111 127.0.0.9 127.0.0.1 ", `0x5="mine"`, `0x1="mail"`, `TLSv1.3`, `TLS_AES_`)
}
