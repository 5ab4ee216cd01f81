package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/weir-lb/weir/client"
)

// speakHTTP2 lets clients of the virtual service "web" speak HTTP/2 on all of its ports.
func speakHTTP2(s *stage) {
	s.Helper()
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		services, _ := o["services"].([]any)
		for _, service := range services {
			service.(map[string]any)["enable_http2"] = true
		}
	})
}

func TestClientsSpeakHTTP2OverTLSAndByPriorKnowledge(t *testing.T) {
	s := setUp(t, echo(t))
	speakHTTP2(s)
	body := bytes.Repeat([]byte("weir\n"), 1<<20)
	file := filepath.Join(s.dir, "body")
	s.must(os.WriteFile(file, body, 0o600))
	sum := fmt.Sprintf("sha256: %x", sha256.Sum256(body))
	for _, flags := range [][]string{{"--http2", tlsURL("/up")}, {"--http2-prior-knowledge", plainURL("/up")}} {
		got := s.curl(append(flags, "-i", "-H", "X-Mine: 1")...)
		contains(t, got, "HTTP/2 200", "GET /up", "X-Mine: 1", "X-Forwarded-For: 127.")
		got = s.curl(append(flags, "--data-binary", "@"+file)...)
		contains(t, got, sum, "POST /up", fmt.Sprintf("framing: [] %d", len(body)))
		got = s.curl(append(flags, "-T", file)...)
		contains(t, got, sum, "PUT /up")
	}
	contains(t, s.curl("-i", "--http1.1", tlsURL("/")), "HTTP/1.1 200")
	contains(t, s.curl("-i", plainURL("/")), "HTTP/1.1 200")
	const asked = 6 // by HTTP/2, each time on a connection of its own
	s.awaitCounter("http2_connections", asked)
	s.awaitCounter("http2_requests", asked)
	s.awaitCounter("open_http2_connections", 0)
	s.awaitCounter("open_http2_requests", 0)
}

func TestThousandStreamsAtOnceGetTheirOwnAnswers(t *testing.T) {
	s := setUp(t, echo(t))
	speakHTTP2(s)
	transport := &http2.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	browser := &http.Client{Transport: transport}
	var all sync.WaitGroup
	for n := range 1000 {
		all.Go(func() {
			want := fmt.Sprintf("GET /%d\n", n)
			if got, err := get(s.ctx, browser, tlsURL(fmt.Sprintf("/%d", n))); err != nil ||
				!strings.HasPrefix(got, want) {
				t.Errorf("stream %d: %v: %q", n, err, got)
			}
		})
	}
	all.Wait()
}

func get(ctx context.Context, browser *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := browser.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func TestNghttpAndH2loadAreServed(t *testing.T) {
	s := setUp(t, echo(t))
	speakHTTP2(s)
	out, err := exec.CommandContext(s.ctx, "nghttp", "-v", "--no-verify-peer", tlsURL("/a")).CombinedOutput()
	if err != nil {
		t.Fatalf("nghttp: %v\n%s", err, out)
	}
	contains(t, string(out), "The negotiated protocol: h2", ":status: 200")
	for _, url := range []string{tlsURL("/b"), plainURL("/b")} {
		out, err = exec.CommandContext(s.ctx, "h2load", "-n", "2000", "-c", "4", "-m", "32", url).CombinedOutput()
		if err != nil {
			t.Fatalf("h2load: %v\n%s", err, out)
		}
		contains(t, string(out), "2000 succeeded, 0 failed, 0 errored, 0 timeout")
	}
}

func TestClientsOfHTTP2LeaveWhenTheVirtualServiceIsDisabled(t *testing.T) {
	s := setUp(t, echo(t))
	speakHTTP2(s)
	gone := make(chan struct{})
	transport := &http2.Transport{AllowHTTP: true, DialTLSContext: func(
		ctx context.Context, network, address string, _ *tls.Config,
	) (net.Conn, error) {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, network, address)
		return &watched{Conn: conn, gone: gone}, err
	}}
	if got, err := get(s.ctx, &http.Client{Transport: transport}, plainURL("/a")); err != nil ||
		!strings.HasPrefix(got, "GET /a") {
		t.Fatalf("%v: %q", err, got)
	}
	s.change("virtualservice", "web", func(o client.Object) { o["enabled"] = false })
	select {
	case <-gone:
	case <-time.After(eventTimeout):
		t.Error("the client's connection stays")
	}
}

// watched is a connection that tells when it has ended.
type watched struct {
	net.Conn

	gone chan struct{}
	once sync.Once
}

func (w *watched) Read(into []byte) (int, error) {
	n, err := w.Conn.Read(into)
	if err != nil {
		w.once.Do(func() { close(w.gone) })
	}
	return n, err
}
