package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// logIn opens a session with a controller that answers as told.
func logIn(t *testing.T, answer http.HandlerFunc) (*Session, *httptest.Server) {
	t.Helper()
	routes := http.NewServeMux()
	routes.HandleFunc("POST /login", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "csrftoken", Value: "token"})
		http.SetCookie(w, &http.Cookie{Name: "avi-sessionid", Value: "session"})
		fmt.Fprint(w, `{"session_cookie_name":"avi-sessionid"}`)
	})
	routes.HandleFunc("/api/", answer)
	server := httptest.NewUnstartedServer(routes)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that the client breaks off
	server.StartTLS()
	t.Cleanup(server.Close)
	credentials := Credentials{URL: server.URL, Username: "admin"}
	_, err := Login(t.Context(), credentials)
	var unknown *UnknownCertificate
	if !errors.As(err, &unknown) {
		t.Fatalf("a certificate that nobody vouches for: got %v", err)
	}
	credentials.Fingerprint = unknown.Fingerprint
	session, err := Login(t.Context(), credentials)
	if err != nil {
		t.Fatal(err)
	}
	return session, server
}

func TestReadsAllPages(t *testing.T) {
	session, _ := logIn(t, func(w http.ResponseWriter, r *http.Request) {
		page := r.URL.Query().Get("page")
		next := map[string]string{"1": `,"next":"2"`}[page]
		fmt.Fprintf(w, `{"results":[{"name":"%s of %s"}]%s}`, page, r.URL.Query().Get("colour"), next)
	})
	objects, err := session.List(t.Context(), "pool", url.Values{"colour": {"red"}})
	if err != nil || len(objects) != 2 || objects[1]["name"] != "2 of red" {
		t.Errorf("got %v, %v", objects, err)
	}
}

func TestSignsItsCalls(t *testing.T) {
	session, _ := logIn(t, func(w http.ResponseWriter, r *http.Request) {
		cookie, err := r.Cookie("avi-sessionid")
		if err != nil || cookie.Value != "session" || r.Header.Get("X-CSRFToken") != "token" ||
			r.Header.Get("X-Avi-Tenant") != "blue" {
			t.Errorf("got %v", r.Header)
		}
		fmt.Fprint(w, "{}")
	})
	resumed, err := Resume(session.Saved())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resumed.InTenant("blue").Create(t.Context(), "pool", Object{"name": "web"}); err != nil {
		t.Error(err)
	}
}

func TestSaysWhatItRepeatsByItself(t *testing.T) {
	var told []string
	session, _ := logIn(t, func(w http.ResponseWriter, r *http.Request) {
		told = append(told, r.Header.Get("X-Weir-Background"))
		fmt.Fprint(w, "{}")
	})
	for _, each := range []*Session{session, session.Background(), session} {
		if err := each.Get(t.Context(), "pool", nil); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(told, ","); got != ",true," {
		t.Errorf("got %q", got)
	}
}

func TestTellsApartWhyACallFails(t *testing.T) {
	session, server := logIn(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		if _, err := fmt.Sscanf(r.URL.Path, "/api/%d", &status); err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, `{"error":"no"}`)
	})
	for path, want := range map[string]string{
		"400": "no", "412": "no", "500": "no (GET /api/500: 500)",
		"401": "the session with " + session.URL() + " is over", "419": "the session with " +
			session.URL() + " is over",
	} {
		if err := session.Get(t.Context(), path, nil); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
	server.Close()
	want := "no answer from " + session.URL() + ": connection refused"
	if err := session.Get(t.Context(), "200", nil); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestIsInterruptedInTheMiddleOfACall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	interrupted := make(chan struct{})
	session, _ := logIn(t, func(http.ResponseWriter, *http.Request) {
		cancel()
		<-interrupted // no answer comes before
	})
	err := session.Get(ctx, "pool", nil)
	close(interrupted)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestRefusesACertificateThatChanged(t *testing.T) {
	session, _ := logIn(t, func(http.ResponseWriter, *http.Request) {})
	saved := session.Saved()
	saved.Fingerprint = "ab"
	other, err := Resume(saved)
	if err != nil {
		t.Fatal(err)
	}
	var changed *ChangedCertificate
	if err := other.Get(t.Context(), "pool", nil); !errors.As(err, &changed) || changed.Known != "ab" {
		t.Errorf("got %v", err)
	}
}

func TestSaysThatAServerIsNoController(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	address := "https://" + plain.Listener.Addr().String()
	_, err := Login(t.Context(), Credentials{URL: address})
	if want := "no answer from " + address + ": what listens there does not speak TLS"; err == nil ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for _, address := range []string{"http://10.0.0.1:9443", "https://", "https://10.0.0.1/path", "://"} {
		if _, err := Resume(Saved{URL: address}); err == nil {
			t.Errorf("%q was taken for an address", address)
		}
	}
}
