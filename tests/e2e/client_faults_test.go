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

// ask sends raw bytes and returns what comes back until the connection is closed.
func ask(t *testing.T, raw string) (string, error) {
	t.Helper()
	conn, err := net.Dial("tcp", plainAddress)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(15 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, raw); err != nil {
		return "", err
	}
	all, err := io.ReadAll(conn)
	return string(all), err
}

func TestBadRequestsAreRefusedAndTheConnectionClosed(t *testing.T) {
	setUp(t, echo(t))
	for name, c := range map[string]struct{ raw, want string }{
		"garbage":             {"\x16\x03\x01 hello\r\n\r\n", "400"},
		"two lengths":         {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", "400"},
		"length and chunked":  {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		"bare LF":             {"GET / HTTP/1.1\nHost: a\n\n", "400"},
		"NUL in a field":      {"GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n", "400"},
		"folded field":        {"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", "400"},
		"space before colon":  {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", "400"},
		"no host":             {"GET / HTTP/1.1\r\n\r\n", "400"},
		"two hosts":           {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"},
		"version 2":           {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", "505"},
		"field of 20 KiB":     {"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 20<<10) + "\r\n\r\n", "431"},
		"head without end":    {"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 80), "431"},
		"target of 60 KiB":    {"GET /" + strings.Repeat("x", 60<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", "414"},
		"bad chunk size":      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "400"},
		"TE in HTTP/1.0":      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		"negative length":     {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", "400"},
		"length over 64 bits": {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", "400"},
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

func TestBytesOutsideASCIIInAFieldValuePass(t *testing.T) {
	setUp(t, echo(t))
	got, err := ask(t, "GET / HTTP/1.1\r\nHost: a\r\nX-Odd: \xff\xfe\r\nConnection: close\r\n\r\n")
	if err != nil || !strings.Contains(got, "X-Odd: \xff\xfe") {
		t.Errorf("%v %q", err, got)
	}
}

func TestHalfAHeadIsTimedOutWhileOthersAreServed(t *testing.T) {
	s := setUp(t, echo(t))
	s.change("applicationprofile", "System-HTTP", func(o client.Object) {
		profile, _ := o["http_profile"].(map[string]any)
		profile["client_header_timeout"], profile["post_accept_timeout"] = 1000, 1000
	})
	s.waitUp("web")
	s.eventually("half a head is answered 408", func() error {
		got, err := ask(t, "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ")
		if !strings.HasPrefix(got, "HTTP/1.1 408 ") {
			return fmt.Errorf("%v %q", err, got)
		}
		return nil
	})
	if status, err := getOnce(plainURL("/")); err != nil || status != http.StatusOK {
		t.Errorf("a good request afterwards: %d %v", status, err)
	}
}

func TestBadTLSIsAnsweredWithAnAlertAndDisturbsNobody(t *testing.T) {
	setUp(t, echo(t))
	for name, raw := range map[string][]byte{
		"plain HTTP":       []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
		"broken handshake": append([]byte{22, 3, 1, 0, 40}, bytes.Repeat([]byte{7}, 40)...),
		"oversized record": append([]byte{22, 3, 1, 0xff, 0xff}, bytes.Repeat([]byte{0}, 1000)...),
	} {
		conn, err := net.Dial("tcp", tlsAddress)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = conn.Write(raw)
		answer, _ := io.ReadAll(conn)
		conn.Close()
		const alertRecord = 21
		if len(answer) > 0 && answer[0] != alertRecord {
			t.Errorf("%s: answered %q", name, answer)
		}
	}
	record, err := net.Dial("tcp", tlsAddress)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = record.Write([]byte{22, 3, 1, 2, 0, 1, 0})
	record.Close()
	for _, name := range []string{"nobody.example", strings.Repeat("x.", 100) + "y"} {
		conn, err := tls.Dial("tcp", tlsAddress, &tls.Config{InsecureSkipVerify: true, ServerName: name})
		if err != nil {
			t.Errorf("SNI %.20q: %v", name, err)
			continue
		}
		conn.Close()
	}
	old, err := tls.Dial("tcp", tlsAddress, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10})
	if err == nil {
		old.Close()
		t.Error("TLS 1.1 was accepted")
	} else if !strings.Contains(err.Error(), "remote error: tls: ") {
		t.Errorf("TLS 1.1 was refused without an alert: %v", err)
	}
}

func TestChangesOfAnotherVirtualServiceFailNoRequest(t *testing.T) {
	s := bareStage(t)
	s.serveNginx()
	s.create("pool", client.Object{"name": "other", "servers": serverList([]string{"127.0.0.1:9"})})
	s.createVirtualService("other", "other", "127.3.3.5", tlsPort, plainPort)
	const changes = 200
	report := s.underLoad(func() {
		for i := range changes {
			s.change("virtualservice", "other", func(o client.Object) {
				o["services"] = []any{map[string]any{"port": 20000 + i%2, "enable_ssl": i%3 == 0}}
			})
		}
	}, "--url", tlsURL("/index.html"), "--connections", "8", "--requests-per-connection", "10", "--duration", "20s")
	if report.ErrorTotal != 0 || report.Requests == 0 {
		t.Errorf("%d requests, errors %v", report.Requests, report.Errors)
	}
	s.eventually("the last change is applied", func() error {
		if text := fmt.Sprint(s.runtime("virtualservice", "other")); !strings.Contains(text, "applied on 1 of 1") {
			return errors.New(text)
		}
		return nil
	})
}
