package e2e

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/weir-lb/weir/client"
)

// modern is a server that speaks HTTP/1.1 and HTTP/2. It tells which of them a request came by.
type modern struct {
	*httptest.Server

	connections atomic.Int64
}

// modernServer answers with the hash of a request's body, and 5 MiB more at paths that begin with /large. At paths that
// begin with /last, it ends the connection of HTTP/2 gracefully (GOAWAY).
func modernServer(t *testing.T, secure bool) *modern {
	t.Helper()
	server := &modern{}
	server.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hash := sha256.New()
		if _, err := io.Copy(hash, r.Body); err != nil {
			return
		}
		w.Header().Set("Trailer", "X-Sum")
		if strings.HasPrefix(r.URL.Path, "/last") {
			w.Header().Set("Connection", "close")
		}
		fmt.Fprintf(w, "%s %s %s by %s\nsum: %x\n", r.Method, r.URL.Path, r.Host, r.Proto, hash.Sum(nil))
		if strings.HasPrefix(r.URL.Path, "/large") {
			_, _ = w.Write(bytes.Repeat([]byte("weir\n"), 1<<20))
		}
		w.Header().Set("X-Sum", "1")
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetHTTP2(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			server.connections.Add(1)
		}
	}
	server.EnableHTTP2 = true
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

func (s *stage) askServersByHTTP2(secure bool) {
	s.Helper()
	s.changeApplied("web", "pool", "web", func(o client.Object) {
		o["enable_http2"] = true
		if secure {
			o["ssl_profile_ref"] = client.Ref("sslprofile", "System-Standard")
		}
	})
	contains(s.T, s.curl("-s", plainURL("/")), "by HTTP/2.0")
}

func TestEitherVersionOfClientsMeetsEitherVersionOfServers(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS to servers %v", secure), func(t *testing.T) {
			server := modernServer(t, secure)
			s := setUp(t, server.Listener.Addr().String())
			if secure {
				s.changeApplied("web", "pool", "web", func(o client.Object) {
					o["ssl_profile_ref"] = client.Ref("sslprofile", "System-Standard")
				})
			}
			speakHTTP2(s)
			exchangeBothWays(s, "by HTTP/1.1")
			s.askServersByHTTP2(secure)
			exchangeBothWays(s, "by HTTP/2.0")
		})
	}
}

// exchangeBothWays sends and fetches large and small bodies by both versions of HTTP. The server must say by which
// version it was asked.
func exchangeBothWays(s *stage, by string) {
	s.Helper()
	body := bytes.Repeat([]byte("weir\n"), 1<<20)
	file := filepath.Join(s.dir, "body")
	s.must(os.WriteFile(file, body, 0o600))
	sum := fmt.Sprintf("sum: %x", sha256.Sum256(body))
	for _, flags := range [][]string{
		{"--http1.1", plainURL("/up")}, {"--http2-prior-knowledge", plainURL("/up")},
		{"--http1.1", tlsURL("/up")}, {"--http2", tlsURL("/up")},
	} {
		contains(s.T, s.curl(append(flags, "-i")...), " 200", "GET /up", by)
		contains(s.T, s.curl(append(flags, "--data-binary", "@"+file)...), sum, "POST /up", by)
		contains(s.T, s.curl(append(flags, "-H", "Transfer-Encoding: chunked", "--data-binary", "@"+file)...), sum, by)
		contains(s.T, s.curl(append(flags, "-I")...), " 200")
		large := append([]string{flags[0]}, strings.Replace(flags[1], "/up", "/large", 1))
		if got := s.curl(large...); !strings.HasSuffix(got, string(body)) {
			s.Errorf("%v: got %d bytes", large, len(got))
		}
	}
}

func TestStreamsOfManyClientsShareConnectionsToServers(t *testing.T) {
	server := modernServer(t, false)
	s := setUp(t, server.Listener.Addr().String())
	speakHTTP2(s)
	s.askServersByHTTP2(false)
	before := server.connections.Load()
	var all sync.WaitGroup
	for range 8 {
		transport := &http2.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		defer transport.CloseIdleConnections()
		browser := &http.Client{Transport: transport}
		for n := range 100 {
			all.Go(func() {
				want := fmt.Sprintf("GET /%d ", n)
				got, err := get(s.ctx, browser, tlsURL(fmt.Sprintf("/%d", n)))
				if err != nil || !strings.HasPrefix(got, want) || !strings.Contains(got, "by HTTP/2.0") {
					t.Errorf("stream %d: %v: %q", n, err, got)
				}
			})
		}
	}
	all.Wait()
	// Two workers, each of which may have to open its connections before it knows how many streams the server takes.
	if opened := server.connections.Load() - before; opened > 40 {
		t.Errorf("800 requests took %d connections", opened)
	}
}

func TestServerThatEndsItsConnectionsLosesNoRequest(t *testing.T) {
	server := modernServer(t, false)
	s := setUp(t, server.Listener.Addr().String())
	speakHTTP2(s)
	s.askServersByHTTP2(false)
	transport := &http2.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	browser := &http.Client{Transport: transport}
	before := server.connections.Load()
	var all sync.WaitGroup
	for n := range 400 {
		all.Go(func() {
			// At each path /last, the server sends GOAWAY while other requests are on the connection.
			path := [...]string{"/last", "/stays"}[n%2]
			got, err := get(s.ctx, browser, tlsURL(fmt.Sprintf("%s%d", path, n)))
			if err != nil || !strings.HasPrefix(got, fmt.Sprintf("GET %s%d ", path, n)) {
				t.Errorf("%s%d: %v: %q", path, n, err, got)
			}
		})
	}
	all.Wait()
	if server.connections.Load() == before {
		t.Error("the server has ended no connection")
	}
	for n := range 20 {
		server.CloseClientConnections() // without a word
		contains(s.T, s.curl(plainURL(fmt.Sprintf("/%d", n))), fmt.Sprintf("GET /%d ", n), "by HTTP/2.0")
	}
}
