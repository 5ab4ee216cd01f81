package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

// A client returns to the server that has set its session, which gets its own value.
func TestAppCookieKeepsItsServer(t *testing.T) {
	s := setUp(t, settingSession(t, "a"), settingSession(t, "b"), settingSession(t, "c"))
	s.create("applicationpersistenceprofile", client.Object{"name": "session",
		"persistence_type":               "PERSISTENCE_TYPE_APP_COOKIE",
		"app_cookie_persistence_profile": client.Object{"prst_hdr_name": "SESSION"}})
	s.changeApplied("web", "pool", "web", func(o client.Object) {
		o["application_persistence_profile_ref"] = client.Ref("applicationpersistenceprofile", "session")
	})
	s.eventually("all servers are up", func() error {
		if up := s.runtime("pool", "web")["num_servers_up"]; up != 3.0 {
			return fmt.Errorf("%v are up", up)
		}
		return nil
	})
	first := s.askedWith("")
	cookie, _, _ := strings.Cut(first.Header.Get("Set-Cookie"), ";")
	own := "of-" + first.Header.Get("Server-Name")
	if !strings.HasSuffix(cookie, "~"+own) {
		t.Fatalf("the client has the cookie %q, and the server set %q", cookie, own)
	}
	for range 10 {
		if seen := s.askedWith(cookie).Header.Get("Seen"); seen != "SESSION="+own {
			t.Errorf("the server sees %q, and has set %q", seen, own)
		}
	}
}

// settingSession starts a server that sets a session of its own, and says which cookies it sees.
func settingSession(t *testing.T, name string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server-Name", name)
		w.Header().Set("Seen", r.Header.Get("Cookie"))
		w.Header().Set("Set-Cookie", "SESSION=of-"+name+"; Path=/")
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func (s *stage) askedWith(cookie string) *http.Response {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, plainURL("/"), nil)
	s.must(err)
	if cookie != "" {
		request.Header.Set("Cookie", cookie)
	}
	answer, err := (&http.Client{Timeout: eventTimeout}).Do(request)
	s.must(err)
	s.must(answer.Body.Close())
	return answer
}
