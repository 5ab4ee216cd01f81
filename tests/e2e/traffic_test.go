package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

// echo answers with what it was asked, so that a test can see what reaches a server.
func echo(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Add("Set-Cookie", "id=1; Path=/")
		w.Header().Add("Location", "http://"+r.Host+"/elsewhere")
		fmt.Fprintf(w, "%s %s\n", r.Method, r.RequestURI)
		for name, values := range r.Header {
			fmt.Fprintf(w, "%s: %s\n", name, strings.Join(values, "|"))
		}
		fmt.Fprintf(w, "framing: %v %d\nsha256: %x\n", r.TransferEncoding, r.ContentLength, sha256.Sum256(body))
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestServesAPageOverEveryTLSVersionAndKeyType(t *testing.T) {
	s := bareStage(t)
	servers := nginx(t, s.lab, 3)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "web", "servers": serverList(servers),
		"health_monitor_refs": []any{client.Ref("healthmonitor", "System-HTTP")}})
	s.createVirtualService("web", "web", vip, tlsPort, plainPort)
	s.waitUp("web")
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		o["ssl_key_and_certificate_refs"] = []any{client.Ref("sslkeyandcertificate", "System-Default-Cert-EC"),
			client.Ref("sslkeyandcertificate", "System-Default-Cert")}
	})
	for name, flags := range map[string][]string{
		"TLS 1.2 EC":  {"--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"},
		"TLS 1.2 RSA": {"--tls-max", "1.2", "--ciphers", "ECDHE-RSA-AES256-GCM-SHA384"},
		"TLS 1.3":     {"--tlsv1.3"},
		"plain":       nil,
	} {
		url := tlsURL("/index.html")
		if name == "plain" {
			url = plainURL("/index.html")
		}
		if got := s.curl(append(flags, url)...); got != page {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestOpenSSLSeesFullHandshakesAndCloseNotify(t *testing.T) {
	s := setUp(t, echo(t))
	command := exec.CommandContext(s.ctx, "openssl", "s_client", "-connect", tlsAddress, "-tls1_2",
		"-quiet", "-ign_eof")
	command.Stdin = strings.NewReader("GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	contains(t, string(out), "HTTP/1.1 200 OK", "Connection: close")
}

func TestSecureProfileDoesItsHeaderWork(t *testing.T) {
	s := setUp(t, echo(t))
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		o["application_profile_ref"] = client.Ref("applicationprofile", "System-Secure-HTTP")
	})
	contains(t, s.curl("-i", plainURL("/a?b=c")), fmt.Sprintf("Location: https://%s:%d/a?b=c", vip, tlsPort))
	out := s.curl("-i", "-H", "X-Forwarded-For: 6.6.6.6", tlsURL("/a?b=c"))
	contains(t, out, "Strict-Transport-Security: max-age=31536000; includeSubDomains", "; Secure", "; HttpOnly",
		fmt.Sprintf("Location: https://%s:%d/elsewhere", vip, tlsPort), "X-Forwarded-Proto: https",
		"X-Forwarded-For: 127.")
	if strings.Contains(out, "6.6.6.6") {
		t.Errorf("a client's own X-Forwarded-For reached the server:\n%s", out)
	}
}

func TestBodiesArriveWholeHoweverTheyAreFramed(t *testing.T) {
	s := setUp(t, echo(t))
	body := bytes.Repeat([]byte("weir\n"), 1<<20)
	file := filepath.Join(s.dir, "body")
	s.must(os.WriteFile(file, body, 0o600))
	sum := fmt.Sprintf("sha256: %x", sha256.Sum256(body))
	for name, flags := range map[string][]string{
		"content length, 100-continue": {"--data-binary", "@" + file, "-H", "Expect: 100-continue"},
		"chunked":                      {"--data-binary", "@" + file, "-H", "Transfer-Encoding: chunked"},
		"put":                          {"-T", file},
	} {
		for _, url := range []string{plainURL("/up"), tlsURL("/up")} {
			if got := s.curl(append(flags, url)...); !strings.Contains(got, sum) {
				t.Errorf("%s to %s: body changed on the way:\n%s", name, url, got)
			}
		}
	}
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	s := setUp(t, echo(t))
	conn, err := net.Dial("tcp", plainAddress)
	s.must(err)
	defer conn.Close()
	const count = 20
	for i := range count {
		_, err := fmt.Fprintf(conn, "GET /%d HTTP/1.1\r\nHost: web\r\n%s\r\n", i,
			map[bool]string{true: "Connection: close\r\n"}[i == count-1])
		s.must(err)
	}
	answers, err := io.ReadAll(conn)
	s.must(err)
	at := 0
	for i := range count {
		line := fmt.Sprintf("GET /%d\n", i)
		found := bytes.Index(answers[at:], []byte(line))
		if found < 0 {
			t.Fatalf("answer %d is missing or out of order:\n%s", i, answers)
		}
		at += found
	}
}

func TestAHundredThousandTLSTransactionsWithoutAnError(t *testing.T) {
	s := bareStage(t)
	servers := nginx(t, s.lab, 3)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "web", "servers": serverList(servers)})
	s.createVirtualService("web", "web", vip, tlsPort, plainPort)
	s.waitUp("web")
	const wanted = 100_000
	report := s.load("--url", tlsURL("/index.html"), "--tls", "1.2", "--cipher", "ECDHE-ECDSA-AES128-GCM-SHA256",
		"--connections", "32", "--requests-per-connection", "1", "--count", fmt.Sprint(wanted))
	if report.ErrorTotal != 0 || report.Requests != wanted || report.TLS.FullHandshakes != wanted {
		t.Errorf("%d transactions, %d full handshakes, errors %v", report.Requests,
			report.TLS.FullHandshakes, report.Errors)
	}
	t.Logf("%d transactions at %.0f/s", report.Requests, report.TPS)
}
