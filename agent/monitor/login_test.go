package monitor

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weir-lb/weir/agent/plan"
)

func loginMonitor(how plan.HTTPLogin) *plan.Monitor {
	monitor := httpMonitor(plan.HTTPCheck{Classes: []uint32{2}, Login: how})
	monitor.Login = plan.Login{Username: "me", Password: "secret"}
	return monitor
}

func TestHTTPMonitorLogsInWithBasic(t *testing.T) {
	for _, secret := range []string{"secret", "another"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, password, _ := r.BasicAuth(); user != "me" || password != secret {
				w.WriteHeader(http.StatusUnauthorized)
			}
		}))
		outcome := Probe(t.Context(), targetAt(server.Listener.Addr(), loginMonitor(plan.BasicLogin)))
		if outcome.Up != (secret == "secret") {
			t.Errorf("the server wants %q: %+v", secret, outcome)
		}
		server.Close()
	}
}

// challenge is a CHALLENGE_MESSAGE of NTLM that wants Unicode and has no target ([MS-NLMP] §2.2.1.2).
func challenge() string {
	message := append([]byte("NTLMSSP\x00\x02\x00\x00\x00"), make([]byte, 8)...)
	message = append(message, 0x01, 0x02, 0x08, 0x00)  // Unicode, NTLM, extended session security
	message = append(message, 1, 2, 3, 4, 5, 6, 7, 8)  // what is to be answered
	message = append(message, make([]byte, 8)...)      // reserved
	message = append(message, 4, 0, 4, 0, 48, 0, 0, 0) // target information: 4 bytes from 48 on
	message = append(message, make([]byte, 48-len(message))...)
	message = append(message, 0, 0, 0, 0) // its end
	return base64.StdEncoding.EncodeToString(message)
}

func TestHTTPMonitorLogsInWithNTLMOnOneConnection(t *testing.T) {
	for name, c := range map[string]struct {
		code      int
		challenge string
		reason    string
	}{
		"it lets us in":     {200, "NTLM " + challenge(), ""},
		"it refuses":        {403, "NTLM " + challenge(), "HTTP 403 from GET /health, want 2xx"},
		"it offers no NTLM": {200, `Basic realm="x"`, "HTTP 401 from GET /health, want 2xx"},
		"its challenge is nonsense": {200, "NTLM bm9uc2Vuc2U=",
			"its challenge of NTLM: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			first := ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
				message, _ := base64.StdEncoding.DecodeString(text)
				switch {
				case scheme != "NTLM" || len(message) < 12:
					w.WriteHeader(http.StatusTeapot)
				case message[8] == 1: // NEGOTIATE
					first = r.RemoteAddr
					w.Header().Set("WWW-Authenticate", c.challenge)
					w.WriteHeader(http.StatusUnauthorized)
					io.WriteString(w, "who are you?")
				case first != r.RemoteAddr:
					w.WriteHeader(http.StatusConflict)
				case !strings.Contains(string(message), "m\x00e\x00"):
					w.WriteHeader(http.StatusGone)
				default:
					w.WriteHeader(c.code)
				}
			}))
			defer server.Close()
			monitor := loginMonitor(plan.NTLMLogin)
			monitor.HTTP.Request = "GET /health HTTP/1.1"
			outcome := Probe(t.Context(), targetAt(server.Listener.Addr(), monitor))
			if outcome.Up != (c.reason == "") || outcome.Reason != c.reason {
				t.Errorf("got %+v, want %q", outcome, c.reason)
			}
		})
	}
}

func TestNTLMMonitorTakesAServerThatWantsNoLogin(t *testing.T) {
	monitor := loginMonitor(plan.NTLMLogin)
	monitor.HTTP.Contains = "well"
	at := plays(t, "< GET /health HTTP/1.0\n> HTTP/1.1 200 OK\n>\n> all is well")
	if outcome := Probe(t.Context(), targetAt(at, monitor)); !outcome.Up {
		t.Errorf("got %+v", outcome)
	}
}

// http2Server speaks HTTP/2 in plain or over TLS, and says what it was asked.
func http2Server(t *testing.T, secure bool) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/endless" {
			for err := error(nil); err == nil; {
				_, err = io.WriteString(w, "more and more ")
			}
		}
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintf(w, "%s %s %s %s of %s, %s", r.Proto, r.Method, r.URL, body, r.Host, r.Header.Get("X-Our"))
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Config.Protocols.SetHTTP2(true)
	server.EnableHTTP2 = secure
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

func TestHTTPMonitorSpeaksHTTP2WithThePool(t *testing.T) {
	for _, secure := range []bool{false, true} {
		server := http2Server(t, secure)
		for name, c := range map[string]struct {
			request, body, contains string
			reason                  string
		}{
			"a request": {"POST /x?y=1 HTTP/1.1\r\nHost: shop.test\r\nX-Our: own\r\nConnection: close", "ping",
				"HTTP/2.0 POST /x?y=1 ping of shop.test, own", ""},
			"another status": {"GET /bad HTTP/1.0", "", "", "HTTP 503 from GET /bad, want 2xx"},
			"another text": {"GET /x HTTP/1.0", "", "POST",
				`HTTP 200 from GET /x, without "POST" in its first 2048 bytes`},
			"text without end": {"GET /endless HTTP/1.0", "", "enough",
				`HTTP 200 from GET /endless, without "enough" in its first 2048 bytes`},
			"no request": {"GET", "", "", `http_request begins with "GET": that is not METHOD PATH VERSION`},
		} {
			t.Run(fmt.Sprint(name, secure), func(t *testing.T) {
				monitor := httpMonitor(plan.HTTPCheck{Classes: []uint32{2}, Request: c.request, Body: c.body,
					Contains: c.contains})
				if secure {
					monitor.Type = plan.HTTPS
				}
				target := targetAt(server.Listener.Addr(), monitor)
				target.HTTP2 = true
				outcome := Probe(t.Context(), target)
				if outcome.Up != (c.reason == "") || outcome.Reason != c.reason {
					t.Errorf("got %+v, want %q", outcome, c.reason)
				}
			})
		}
	}
}

func TestHTTPSMonitorSpeaksHTTP1WithAServerThatHasNoOther(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Proto)
	}))
	defer server.Close()
	monitor := httpMonitor(plan.HTTPCheck{Contains: "HTTP/1.0"})
	monitor.Type = plan.HTTPS
	target := targetAt(server.Listener.Addr(), monitor)
	target.HTTP2 = true
	if outcome := Probe(t.Context(), target); !outcome.Up {
		t.Errorf("got %+v", outcome)
	}
}

func TestMonitorVerifiesTheServerIfItHasAuthorities(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	trusting, doubting := x509.NewCertPool(), x509.NewCertPool()
	trusting.AddCert(server.Certificate())
	for authorities, reason := range map[*x509.CertPool]string{
		nil: "", trusting: "",
		doubting: "its certificate is not trusted: x509: certificate signed by unknown authority",
	} {
		monitor := httpMonitor(plan.HTTPCheck{})
		monitor.Type, monitor.TLS.Authorities = plan.HTTPS, authorities
		outcome := Probe(t.Context(), targetAt(server.Listener.Addr(), monitor))
		if outcome.Up != (reason == "") || outcome.Reason != reason {
			t.Errorf("got %+v, want %q", outcome, reason)
		}
	}
}

func TestMonitorPresentsItsCertificateAndKeepsToItsVersions(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	check := func(settings plan.MonitorTLS) Outcome {
		monitor := httpMonitor(plan.HTTPCheck{})
		monitor.Type, monitor.TLS = plan.HTTPS, settings
		return Probe(t.Context(), targetAt(server.Listener.Addr(), monitor))
	}
	ours := serverTLS(t).Certificates[0]
	if outcome := check(plan.MonitorTLS{Certificate: &ours}); !outcome.Up {
		t.Errorf("with a certificate: %+v", outcome)
	}
	if outcome := check(plan.MonitorTLS{}); outcome.Up {
		t.Errorf("without one: %+v", outcome)
	}
	if outcome := check(plan.MonitorTLS{Certificate: &ours, MinVersion: tls.VersionTLS13}); outcome.Up ||
		!strings.Contains(outcome.Reason, "version") {
		t.Errorf("with a later version: %+v", outcome)
	}
}
