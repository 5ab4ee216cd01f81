package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

// A client that resumes its session from another address keeps its server.
func TestTLSSessionKeepsItsServer(t *testing.T) {
	s := setUp(t, telling(t, "a"), telling(t, "b"), telling(t, "c"), telling(t, "d"))
	s.create("applicationpersistenceprofile", client.Object{"name": "session",
		"persistence_type": "PERSISTENCE_TYPE_TLS"})
	s.changeApplied("web", "pool", "web", func(o client.Object) {
		o["application_persistence_profile_ref"] = client.Ref("applicationpersistenceprofile", "session")
	})
	s.eventually("all servers are up", func() error {
		if up := s.runtime("pool", "web")["num_servers_up"]; up != 4.0 {
			return fmt.Errorf("%v are up", up)
		}
		return nil
	})
	sessions := tls.NewLRUClientSessionCache(1)
	own, _ := s.servedFrom(20, sessions)
	for host := 21; host < 40; host++ {
		if server, resumed := s.servedFrom(host, sessions); server != own || !resumed {
			t.Errorf("server %s, and not %s; the session was resumed: %v", server, own, resumed)
		}
	}
	for host := 20; host < 40; host++ {
		if server, _ := s.servedFrom(host, nil); server != own {
			return
		}
	}
	t.Errorf("without a session, all addresses lead to server %s", own)
}

// servedFrom asks over TLS from an address of this test. It returns the name of the server that answers, and whether a
// session was resumed.
func (s *stage) servedFrom(host int, sessions tls.ClientSessionCache) (server string, resumed bool) {
	s.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(loopback(host))}}
	transport := &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ClientSessionCache: sessions}}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport, Timeout: eventTimeout}).Get(tlsURL("/"))
	s.must(err)
	defer func() { _ = answer.Body.Close() }()
	told, err := io.ReadAll(answer.Body)
	s.must(err)
	server, _, _ = strings.Cut(string(told), ":")
	return server, answer.TLS.DidResume
}
