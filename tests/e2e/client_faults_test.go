package e2e

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

// ask sends raw bytes, as far as they are taken, and returns what comes back until the connection is closed.
func ask(t *testing.T, raw string) (string, error) {
	t.Helper()
	return askAndThen(t, raw, func(*net.TCPConn) error { return nil })
}

// askAndEnd is ask by a client that sends no more and says so.
func askAndEnd(t *testing.T, raw string) (string, error) {
	t.Helper()
	return askAndThen(t, raw, (*net.TCPConn).CloseWrite)
}

func askAndThen(t *testing.T, raw string, then func(*net.TCPConn) error) (string, error) {
	t.Helper()
	conn, err := net.Dial("tcp", plainAddress)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(eventTimeout)); err != nil {
		t.Fatal(err)
	}
	go func() {
		if _, err := io.WriteString(conn, raw); err == nil {
			_ = then(conn.(*net.TCPConn))
		}
	}()
	all, err := io.ReadAll(conn)
	return string(all), err
}

func TestBadRequestsAreRefusedAndTheConnectionClosed(t *testing.T) {
	setUp(t, echo(t))
	for name, c := range map[string]struct{ raw, want string }{
		"garbage":            {"\x16\x03\x01 hello\r\n\r\n", "400"},
		"two lengths":        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", "400"},
		"length and chunked": {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		"bare LF":            {"GET / HTTP/1.1\nHost: a\n\n", "400"},
		"NUL in a field":     {"GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n", "400"},
		"folded field":       {"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", "400"},
		"space before colon": {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", "400"},
		"no host":            {"GET / HTTP/1.1\r\n\r\n", "400"},
		"two hosts":          {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"},
		"version 2":          {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", "505"},
		"field of 20 KiB":    {"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 20<<10) + "\r\n\r\n", "431"},
		"head without end": {"GET / HTTP/1.1\r\nHost: a\r\n" +
			strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 80), "431"},
		"target of 60 KiB":    {"GET /" + strings.Repeat("x", 60<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", "414"},
		"bad chunk size":      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "400"},
		"TE in HTTP/1.0":      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		"negative length":     {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", "400"},
		"length over 64 bits": {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", "400"},
		"list of lengths":     {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx", "400"},
		"length with a plus":  {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx", "400"},
		"bare CR": {"POST / HTTP/1.1\r\nHost: a\r\nX: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"400"},
		"folded coding":      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", "400"},
		"coding behind a VT": {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n", "400"},
		"chunked not last": {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
			"400"},
		"chunked twice": {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		"unknown coding": {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
			"501"},
		"chunk size with LF":  {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0;a\n\r\n", "400"},
		"length in a trailer": {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 1\r\n\r\n", "400"},
		"authority as target": {"GET b:80 HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
		"user in the target":  {"GET http://u@b/ HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
		"tunnel":              {"CONNECT b:80 HTTP/1.1\r\nHost: b:80\r\n\r\n", "501"},
		"refused while body streams": {
			"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n" +
				strings.Repeat("x", 4<<20), "400"},
	} {
		got, err := ask(t, c.raw)
		if !strings.HasPrefix(got, "HTTP/1.1 "+c.want+" ") {
			t.Errorf("%s: want %s, got %v %.200q", name, c.want, err, got)
		}
		if strings.Count(got, "HTTP/1.1 ") > 1 {
			t.Errorf("%s: answered more than once: %.400q", name, got)
		}
	}
	if status, err := getOnce(plainURL("/")); err != nil || status != http.StatusOK {
		t.Errorf("a good request afterwards: %d %v", status, err)
	}
}

func TestPassesWhatIsForTheServerAndNothingElse(t *testing.T) {
	s := setUp(t, echo(t))
	s.changeApplied("web", "applicationprofile", "System-HTTP", func(o client.Object) {
		profile, _ := o["http_profile"].(map[string]any)
		profile["weir_half_close_timeout"] = 60_000 // clients here end their side and read on
	})
	for name, c := range map[string]struct{ raw, want, never string }{
		"bytes outside ASCII": {"GET / HTTP/1.1\r\nHost: a\r\nX-Odd: \xff\xfe\r\n", "X-Odd: \xff\xfe", ""},
		"target": {"GET /a/../b//./%2e%2E?x=%00&y=<|> HTTP/1.1\r\nHost: a\r\n",
			"GET /a/../b//./%2e%2E?x=%00&y=<|>\n", ""},
		"absolute target":      {"GET http://b:81?q HTTP/1.1\r\nHost: a\r\n", "GET /?q\n", "http://a"},
		"host of the target":   {"GET http://b:81?q HTTP/1.1\r\nHost: a\r\n", "http://b:81/elsewhere", ""},
		"target of the server": {"OPTIONS * HTTP/1.1\r\nHost: a\r\nMax-Forwards: 3\r\n", "", "400 Bad Request"},
		"field of this hop": {"GET / HTTP/1.1\r\nHost: a\r\nConnection: X-Hop\r\nX-Hop: secret\r\nX-End: kept\r\n",
			"X-End: kept", "secret"},
		"other protocol": {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
			"200 OK", "Upgrade"},
		"host as hop field": {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Host\r\n", "http://a/elsewhere", ""},
		"length as hop field": {"POST / HTTP/1.1\r\nHost: a\r\nConnection: Content-Length\r\nContent-Length: 0\r\n",
			"framing: [] 0\n", ""},
		"empty line in advance": {"\r\nGET / HTTP/1.1\r\nHost: a\r\n", "200 OK", ""},
	} {
		got, err := ask(t, c.raw+"Connection: close\r\n\r\n")
		if err != nil || !strings.Contains(got, c.want) || c.never != "" && strings.Contains(got, c.never) {
			t.Errorf("%s: %v %q", name, err, got)
		}
	}
	const get, body = "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nGET / HTT"
	for name, c := range map[string]struct {
		raw     string
		answers int
	}{
		"one request":          {get, 1},
		"pipelined requests":   {get + body + get, 3},
		"half a request":       {get + "GET / HTTP/1.1\r\nHo", 1},
		"body that has no end": {"POST / HTTP/1.0\r\n\r\n" + strings.Repeat("x", 1<<20), 1},
		"request behind a close": {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" +
			strings.Repeat(get, 10_000), 1},
	} {
		got, err := askAndEnd(t, c.raw)
		if strings.Count(got, "HTTP/1.1 200 OK\r\n") != c.answers || strings.Count(got, "\nsha256: ") != c.answers {
			t.Errorf("%s, then the end: want %d answers, got %v %.400q", name, c.answers, err, got)
		}
	}
}

func TestHalfAHeadIsTimedOutWhileOthersAreServed(t *testing.T) {
	s := setUp(t, echo(t))
	s.changeApplied("web", "applicationprofile", "System-HTTP", func(o client.Object) {
		profile, _ := o["http_profile"].(map[string]any)
		profile["client_header_timeout"], profile["post_accept_timeout"] = 5000, 5000
	})
	answer := make(chan string, 1)
	go func() {
		got, err := ask(t, "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ")
		answer <- fmt.Sprintf("%s%v", got, err)
	}()
	served := 0
	for {
		select {
		case got := <-answer:
			if !strings.HasPrefix(got, "HTTP/1.1 408 ") {
				t.Errorf("want 408, got %q", got)
			}
			if served == 0 {
				t.Error("nobody was served meanwhile")
			}
			return
		default:
			if status, err := getOnce(plainURL("/")); err != nil || status != http.StatusOK {
				t.Fatalf("a good request meanwhile: %d %v", status, err)
			}
			served++
		}
	}
}

// rawTLS sends bytes to the TLS port and returns what comes back until the connection is closed.
func rawTLS(t *testing.T, raw []byte, half bool) ([]byte, error) {
	t.Helper()
	conn, err := net.Dial("tcp", tlsAddress)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(eventTimeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(raw); err != nil {
		return nil, err
	}
	if half {
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(conn)
}

func TestBadTLSIsAnsweredWithAnAlertAndDisturbsNobody(t *testing.T) {
	setUp(t, echo(t))
	const alertRecord = 21
	for name, c := range map[string]struct {
		raw   []byte
		half  bool
		alert bool
	}{
		"plain HTTP": {raw: []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), alert: true},
		"broken handshake": {raw: append([]byte{22, 3, 1, 0, 40}, bytes.Repeat([]byte{7}, 40)...),
			alert: true},
		"record cut in half, then the end": {raw: []byte{22, 3, 1, 2, 0, 1, 0}, half: true},
		"oversized record": {raw: append([]byte{22, 3, 1, 0xff, 0xff},
			bytes.Repeat([]byte{0}, 1000)...)},
	} {
		answer, err := rawTLS(t, c.raw, c.half)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("%s: the connection was not closed", name)
		}
		if c.alert && (len(answer) == 0 || answer[0] != alertRecord) || len(answer) > 0 && answer[0] != alertRecord {
			t.Errorf("%s: want an alert, got %q", name, answer)
		}
		if status, err := getOverTLS("", tls.VersionTLS12); err != nil || status != http.StatusOK {
			t.Errorf("a good request after %s: %d %v", name, status, err)
		}
	}
	if status, err := getOverTLS("nobody.example", tls.VersionTLS12); err != nil || status != http.StatusOK {
		t.Errorf("a name that no certificate has gets the default: %d %v", status, err)
	}
	if _, err := getOverTLS("", tls.VersionTLS11); err == nil || !strings.Contains(err.Error(), "remote error: tls: ") {
		t.Errorf("TLS 1.1 must be refused with an alert, got %v", err)
	}
}

func getOverTLS(name string, most uint16) (int, error) {
	transport := &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: name, MinVersion: tls.VersionTLS10,
			MaxVersion: most}}
	answer, err := (&http.Client{Transport: transport, Timeout: eventTimeout}).Get(tlsURL("/"))
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

func TestChangesOfAnotherVirtualServiceFailNoRequest(t *testing.T) {
	s := bareStage(t)
	s.serveNginx()
	s.create("pool", client.Object{"name": "other", "servers": serverList([]string{"127.0.0.1:9"})})
	s.createVirtualService("other", "other", loopback(5), tlsPort, plainPort)
	const changes = 200
	report := s.underLoad(func() {
		for i := range changes {
			s.changeApplied("other", "virtualservice", "other", func(o client.Object) {
				o["services"] = []any{map[string]any{"port": 20000 + i%2, "enable_ssl": i%3 == 0}}
			})
		}
	}, "--url", tlsURL("/index.html"), "--connections", "8", "--requests-per-connection", "10")
	if report.ErrorTotal != 0 || report.Requests == 0 {
		t.Errorf("%d requests, errors %v", report.Requests, report.Errors)
	}
}

// changeApplied changes an object that a virtual service is made of, and waits until its engine serves it.
func (s *stage) changeApplied(service, kind, name string, edit func(client.Object)) {
	s.Helper()
	before := appliedRevision(s.runtime("virtualservice", service))
	s.change(kind, name, edit)
	s.eventually("the change is applied", func() error {
		runtime := s.runtime("virtualservice", service)
		if appliedRevision(runtime) <= before || !strings.Contains(fmt.Sprint(runtime), "applied on 1 of 1") {
			return errors.New(fmt.Sprint(runtime))
		}
		return nil
	})
}

// appliedRevision is the revision of the newest configuration of a virtual service that engines have to apply.
func appliedRevision(runtime client.Object) float64 {
	applied, _ := runtime["applied"].(map[string]any)
	revision, _ := applied["revision"].(float64)
	return revision
}
