package e2e

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/tests/accept"
)

// badServer answers requests with raw bytes, chosen by the path: it does what no decent server does.
func badServer(t *testing.T) string {
	t.Helper()
	return accept.Each(t, func(conn *net.TCPConn) { misbehave(t, conn) }).String()
}

func misbehave(t *testing.T, conn *net.TCPConn) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		switch request.URL.Path {
		case "/good":
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
		case "/too-much":
			fmt.Fprint(conn,
				"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngoodEVIL HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen")
		case "/garbage":
			fmt.Fprint(conn, "\x00\x01\x02 not http at all\r\n\r\n")
		case "/dies-in-head":
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Le")
			return
		case "/dies-in-body":
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this")
			return
		case "/dies-in-chunk":
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n100\r\nhalf")
			return
		case "/resets":
			_ = conn.SetLinger(0)
			return
		case "/resets-in-body":
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this")
			_ = conn.SetLinger(0)
			return
		case "/resets-without-length":
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\nto the end")
			_ = conn.SetLinger(0)
			return
		case "/hints":
			fmt.Fprint(conn,
				"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
		case "/too-early":
			fmt.Fprint(conn, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\n\r\nstop")
			return
		case "/length-without-body":
			fmt.Fprint(conn,
				"HTTP/1.1 204 No Content\r\nContent-Length: 4\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n")
		case "/not-modified":
			fmt.Fprint(conn, "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n")
		case "/length-and-chunked":
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
		case "/switches":
			fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
		case "/yours", "/yours-and-more", "/yours-cut":
			yours(conn, request.URL)
		case "/two-lengths":
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 8\r\n\r\ngood")
		case "/stalls":
			select {
			case <-t.Context().Done():
			case <-time.After(time.Minute):
			}
			return
		}
	}
}

// yours answers with the query, over and over, and with what the path says.
func yours(conn *net.TCPConn, target *url.URL) {
	body := strings.Repeat(target.RawQuery, 1+len(target.RawQuery)*len(target.Path)%997)
	switch target.Path {
	case "/yours":
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	case "/yours-and-more":
		fmt.Fprintf(conn,
			"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%sHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL",
			len(body), body)
	case "/yours-cut":
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body)+1, body)
		conn.Close()
	}
}

// rawGet sends one request over a connection of its own and returns everything that comes back.
func rawGet(address, path string) (string, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	return getOver(conn, path)
}

// rawGetTLS is rawGet over TLS. It also tells whether the last record was an alert, as close_notify is one.
func rawGetTLS(path string) (got string, alert bool, err error) {
	conn, err := net.Dial("tcp", tlsAddress)
	if err != nil {
		return "", false, err
	}
	seen := &tap{Conn: conn}
	// The type of a record can be seen up to this version.
	got, err = getOver(tls.Client(seen, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}), path)
	return got, seen.lastRecordType() == 21, err
}

// tap keeps what was read.
type tap struct {
	net.Conn
	seen []byte
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.seen = append(t.seen, p[:n]...)
	return n, err
}

func (t *tap) lastRecordType() (last byte) {
	const headerBytes = 5
	for rest := t.seen; len(rest) > headerBytes; rest = rest[min(len(rest), headerBytes+
		int(binary.BigEndian.Uint16(rest[3:]))):] {
		last = rest[0]
	}
	return last
}

func getOver(conn net.Conn, path string) (string, error) {
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(eventTimeout)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n", path); err != nil {
		return "", err
	}
	all, err := io.ReadAll(conn)
	return string(all), err
}

func TestBadServersGiveCleanErrorsAndNothingOfOthers(t *testing.T) {
	setUp(t, badServer(t))
	for path, want := range map[string]string{
		"/garbage":             "HTTP/1.1 502 ",
		"/dies-in-head":        "HTTP/1.1 502 ",
		"/resets":              "HTTP/1.1 502 ",
		"/two-lengths":         "HTTP/1.1 502 ",
		"/length-and-chunked":  "HTTP/1.1 502 ",
		"/switches":            "HTTP/1.1 502 ",
		"/too-much":            "\r\n\r\ngood",
		"/length-without-body": "HTTP/1.1 204 No Content\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: close\r\n\r\n",
		"/not-modified":        "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n",
		"/hints":               "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n",
	} {
		got, err := rawGet(plainAddress, path)
		if err != nil || !strings.Contains(got, want) || strings.Contains(got, "EVIL") {
			t.Errorf("%s: %v\n%s", path, err, got)
		}
		if got, err := rawGet(plainAddress, "/good"); err != nil || !strings.HasSuffix(got, "\r\n\r\ngood") {
			t.Errorf("the request after %s: %v\n%s", path, err, got)
		}
	}
	if got, err := ask(t, "GET /hints HTTP/1.0\r\n\r\n"); err != nil || !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") {
		t.Errorf("HTTP/1.0 knows no interim responses: %v %q", err, got)
	}
	const bodyBytes = 8 << 20
	head := fmt.Sprintf("POST /too-early HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", bodyBytes)
	if got, err := ask(t, head+strings.Repeat("x", bodyBytes)); !strings.HasPrefix(got, "HTTP/1.1 413 ") {
		t.Errorf("an answer that does not wait for the body: %v %q", err, got)
	}
}

func TestCutBodyArrivesAsFarAsItCameAndIsSeenToBeCut(t *testing.T) {
	setUp(t, badServer(t))
	for path, end := range map[string]string{"/dies-in-body": "only this", "/resets-in-body": "only this",
		"/dies-in-chunk": "half"} {
		if got, err := rawGet(plainAddress, path); err != nil || !strings.HasSuffix(got, end) {
			t.Errorf("%s: %v %q", path, err, got)
		}
		if got, alert, err := rawGetTLS(path); err != nil || alert || !strings.HasSuffix(got, end) {
			t.Errorf("%s over TLS, close_notify %v: %v %q", path, alert, err, got)
		}
	}
	if got, alert, err := rawGetTLS("/good"); err != nil || !alert || !strings.HasSuffix(got, "good") {
		t.Errorf("a whole response over TLS, close_notify %v: %v %q", alert, err, got)
	}
	if got, err := rawGet(plainAddress, "/resets-without-length"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("only a reset tells this cut from the end: %v %q", err, got)
	}
	if got, _, err := rawGetTLS("/resets-without-length"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("only a reset tells this cut from the end, over TLS: %v %q", err, got)
	}
}

func TestNobodyGetsBytesOfAnother(t *testing.T) {
	s := setUp(t, badServer(t), badServer(t))
	const clients, requests = 16, 150
	paths := []string{"/yours", "/yours", "/yours-and-more", "/yours", "/yours-cut"}
	problems := make(chan error, clients)
	for i := range clients {
		base := []string{plainURL(""), tlsURL("")}[i%2]
		go func() { problems <- askForOwn(base, fmt.Sprintf("client%d.", i), paths, requests) }()
	}
	for range clients {
		if err := <-problems; err != nil {
			s.Error(err)
		}
	}
}

// askForOwn asks over connections that are kept, and checks that each answer repeats what was asked for, and nothing
// else.
func askForOwn(base, own string, paths []string, requests int) error {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	asker := &http.Client{Transport: transport, Timeout: eventTimeout}
	whole := 0
	for i := range requests {
		mine := fmt.Sprintf("%s%d!", own, i)
		path := paths[i%len(paths)]
		answer, err := asker.Get(base + path + "?" + mine)
		if err != nil {
			continue // Nothing came, so nothing of others.
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			continue // A server that hangs up may take a request on a kept connection along.
		}
		if (err != nil) != (path == "/yours-cut") {
			return fmt.Errorf("%s %s: %v", path, mine, err)
		}
		if strings.ReplaceAll(string(body), mine, "") != "" {
			return fmt.Errorf("%s %s: got %.200q", path, mine, body)
		}
		whole++
	}
	if whole < requests/2 {
		return fmt.Errorf("%s: only %d of %d answers were whole", own, whole, requests)
	}
	return nil
}

func TestStalledServerIsTimedOut(t *testing.T) {
	s := setUp(t, badServer(t))
	s.changeApplied("web", "pool", "web", func(o client.Object) { o["server_timeout"] = 1000 })
	if got, err := rawGet(plainAddress, "/stalls"); err != nil || !strings.HasPrefix(got, "HTTP/1.1 504 ") {
		t.Errorf("%v %q", err, got)
	}
}

func TestRequestIsTakenToAnotherServerWhenOneRefuses(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "web", "servers": serverList([]string{accept.FreeAddress(t), badServer(t)})})
	s.createVirtualService("web", "web", vip, tlsPort, plainPort)
	s.waitUp("web")
	for range 20 {
		if got, err := rawGet(plainAddress, "/good"); err != nil || !strings.HasSuffix(got, "good") {
			t.Fatalf("%v\n%s", err, got)
		}
	}
}

func TestMonitorTakesADeadServerOutAndBringsItBack(t *testing.T) {
	s := bareStage(t)
	servers := nginx(t, s.lab, 2)
	victim := badServer(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("healthmonitor", client.Object{"name": "quick", "type": "HEALTH_MONITOR_HTTP", "send_interval": 1,
		"receive_timeout":   1,
		"successful_checks": 1, "failed_checks": 1,
		"http_monitor": map[string]any{"http_request": "GET /garbage HTTP/1.0",
			"http_response_code": []any{"HTTP_2XX", "HTTP_4XX"}}})
	s.create("pool", client.Object{"name": "web", "servers": serverList(append(servers, victim)),
		"health_monitor_refs": []any{client.Ref("healthmonitor", "quick")}})
	s.createVirtualService("web", "web", vip, tlsPort, plainPort)
	s.waitUp("web")
	s.eventually("two of three servers are up, and the reason is told", func() error {
		text := fmt.Sprint(s.runtime("pool", "web"))
		if !strings.Contains(text, "num_servers_up:2") {
			return errors.New(text)
		}
		return nil
	})
	s.change("healthmonitor", "quick", func(o client.Object) {
		o["http_monitor"].(map[string]any)["http_request"] = "GET /good HTTP/1.0"
	})
	s.eventually("all three are up", func() error {
		text := fmt.Sprint(s.runtime("pool", "web"))
		if !strings.Contains(text, "num_servers_up:3") {
			return errors.New(text)
		}
		return nil
	})
	s.untilTold("VS_UP", "web: is up")
	s.change("healthmonitor", "quick", func(o client.Object) {
		o["http_monitor"].(map[string]any)["http_response_code"] = []any{"HTTP_5XX"}
	})
	s.untilTold("POOL_DOWN", "web: is down: server ")
	for _, server := range append(servers, victim) {
		s.untilTold("SERVER_DOWN", "web: server "+server+" is down: ")
	}
}

// untilTold waits for an event that begins like this.
func (s *stage) untilTold(id, beginning string) {
	s.Helper()
	s.eventually(id+" tells "+beginning, func() error {
		told := s.told(id)
		if !slices.ContainsFunc(told, func(text string) bool { return strings.HasPrefix(text, beginning) }) {
			return fmt.Errorf("told: %q", told)
		}
		return nil
	})
}
