package e2e

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/tests/accept"
)

// greeter speaks first, and answers once its client has ended with how much it got: no client that waits for a word, or
// for an end, gets by without both directions.
func greeter(t *testing.T) string {
	t.Helper()
	return accept.Each(t, func(conn *net.TCPConn) {
		fmt.Fprint(conn, "220 ready\n")
		sum := sha256.New()
		got, err := io.Copy(sum, conn)
		fmt.Fprintf(conn, "%d %x %v\n", got, sum.Sum(nil), err)
	}).String()
}

// halfCloser is a connection whose own direction can end alone.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// tell sends bytes behind the server's greeting, ends, and returns both of the server's lines.
func tell(conn halfCloser, bytes string) (string, error) {
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(eventTimeout)); err != nil {
		return "", err
	}
	from := bufio.NewReader(conn)
	greeting, err := from.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("no greeting: %w", err)
	}
	if _, err := io.WriteString(conn, bytes); err != nil {
		return "", err
	}
	if err := conn.CloseWrite(); err != nil {
		return "", err
	}
	rest, err := io.ReadAll(from)
	return greeting + string(rest), err
}

func (s *stage) createLayer4(name, pool, profile string, port int, secure bool) string {
	s.Helper()
	s.create("vsvip", client.Object{"name": name, "vip": []any{
		map[string]any{"vip_id": "1", "ip_address": map[string]any{"addr": vip, "type": "V4"}}}})
	s.create("virtualservice", client.Object{
		"name": name, "vsvip_ref": client.Ref("vsvip", name), "pool_ref": client.Ref("pool", pool),
		"application_profile_ref": client.Ref("applicationprofile", profile),
		"services":                []any{map[string]any{"port": port, "enable_ssl": secure}},
	})
	s.waitUp(name)
	return fmt.Sprintf("%s:%d", vip, port)
}

func TestCarriesWhatIsNotHTTPInBothDirectionsAndToBothEnds(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "mail", "servers": serverList([]string{greeter(t)})})
	plain := s.createLayer4("mail", "mail", "System-L4-Application", plainPort, false)
	secure := s.createLayer4("mails", "mail", "System-SSL-Application", tlsPort, true)
	s.create("applicationprofile", client.Object{"name": "named", "type": "APPLICATION_PROFILE_TYPE_L4",
		"tcp_app_profile": map[string]any{"proxy_protocol_enabled": true}})
	named := s.createLayer4("named", "mail", "named", plainPort+1, false)

	for _, size := range []int{0, 1, 100_000, 5_000_000} {
		bytes := strings.Repeat("x", size)
		want := fmt.Sprintf("220 ready\n%d %x <nil>\n", size, sha256.Sum256([]byte(bytes)))
		for at, dial := range map[string]func() (halfCloser, error){
			"plain": func() (halfCloser, error) {
				conn, err := net.Dial("tcp", plain)
				if err != nil {
					return nil, err
				}
				return conn.(*net.TCPConn), nil
			},
			"TLS": func() (halfCloser, error) {
				return tls.Dial("tcp", secure, &tls.Config{InsecureSkipVerify: true}) // a test's own certificate
			},
		} {
			conn, err := dial()
			s.must(err)
			if got, err := tell(conn, bytes); err != nil || got != want {
				t.Errorf("%s, %d bytes: got %q, %v; want %q", at, size, got, err, want)
			}
		}
	}

	s.create("applicationprofile", client.Object{"name": "h2", "type": "APPLICATION_PROFILE_TYPE_SSL",
		"tcp_app_profile": map[string]any{"weir_alpn_protocols": []any{"h2"}}})
	known := s.createLayer4("h2", "mail", "h2", tlsPort+1, true)
	for _, c := range []struct{ at, offer, want string }{{secure, "h2", ""}, {secure, "foo", ""}, {known, "h2", "h2"},
		{known, "", ""}} {
		config := &tls.Config{InsecureSkipVerify: true} // a test's own certificate
		if c.offer != "" {
			config.NextProtos = []string{c.offer}
		}
		conn, err := tls.Dial("tcp", c.at, config)
		if err != nil {
			t.Errorf("a client that offers %q at %s: %v", c.offer, c.at, err)
			continue
		}
		if got := conn.ConnectionState().NegotiatedProtocol; got != c.want {
			t.Errorf("a client that offers %q at %s speaks %q; want %q", c.offer, c.at, got, c.want)
		}
		if got, err := tell(conn, "hi"); err != nil || !strings.HasPrefix(got, "220 ready\n2 ") {
			t.Errorf("a client that offers %q at %s: got %q, %v", c.offer, c.at, got, err)
		}
	}

	conn, err := net.Dial("tcp", named)
	s.must(err)
	local := conn.LocalAddr().(*net.TCPAddr)
	header := fmt.Sprintf("PROXY TCP4 127.0.0.1 %s %d %d\r\n", vip, local.Port, plainPort+1)
	want := fmt.Sprintf("220 ready\n%d %x <nil>\n", len(header)+2, sha256.Sum256([]byte(header+"hi")))
	if got, err := tell(conn.(*net.TCPConn), "hi"); err != nil || got != want {
		t.Errorf("with PROXY protocol: got %q, %v; want %q", got, err, want)
	}
}

func TestLayer4ClientIsResetWhenNoServerTakesItsConnection(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "gone", "servers": serverList([]string{accept.FreeAddress(t)})})
	at := s.createLayer4("gone", "gone", "System-L4-Application", plainPort, false)
	conn, err := net.Dial("tcp", at)
	if err == nil { // else the reset was faster than Dial
		defer conn.Close()
		s.must(conn.SetDeadline(time.Now().Add(eventTimeout)))
		_, err = conn.Read(make([]byte, 1))
	}
	if err == nil || !strings.Contains(err.Error(), "reset") {
		t.Errorf("got %v, want a reset", err)
	}
}
