package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
)

func TestReadsEventsUntilTheCallerHasEnough(t *testing.T) {
	session, _ := logIn(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "topics=overview%2Cvs%3Ax" || r.Header.Get("Last-Event-ID") != "7" {
			t.Errorf("got %s, %v", r.URL.RawQuery, r.Header)
		}
		fmt.Fprint(w, ": a comment\n\nevent: delta\nid: 8\ndata: {\"at_ms\":8}\n\nevent: delta\nid: 9\ndata: {}\n\n")
	})
	enough := errors.New("enough")
	var told []string
	err := session.Live(t.Context(), []string{"overview", "vs:x"}, "7", func(event LiveEvent) error {
		told = append(told, fmt.Sprintf("%s %s %s", event.Name, event.ID, event.Data))
		if len(told) == 2 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || fmt.Sprint(told) != `[delta 8 {"at_ms":8} delta 9 {}]` {
		t.Errorf("got %v, %v", told, err)
	}
}

func TestTellsApartWhyAStreamEnds(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		over   bool // the session is
		broken bool
		want   string
	}{
		{status: 200, body: "event: delta\nid: 1\n", broken: true},
		{status: 200, body: "event: end\ndata: {\"reason\":\"stops\",\"status\":503}\n\n", broken: true},
		{status: 200, body: "event: end\ndata: {\"reason\":\"no\",\"status\":419}\n\n", over: true},
		{status: 200, body: "event: end\ndata: {\"reason\":\"no role\",\"status\":403}\n\n", want: "no role"},
		{status: 401, body: `{"error":"no"}`, over: true},
		{status: 429, body: `{"error":"4 streams are open"}`, want: "4 streams are open"},
	} {
		session, _ := logIn(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		})
		err := session.Live(t.Context(), []string{"overview"}, "", func(LiveEvent) error { return nil })
		var over *SessionOver
		switch {
		case errors.As(err, &over) != c.over, errors.Is(err, ErrStreamBroken) != c.broken:
			t.Errorf("%d %q: got %v", c.status, c.body, err)
		case c.want != "" && (err == nil || err.Error() != c.want):
			t.Errorf("%d %q: got %v, want %s", c.status, c.body, err, c.want)
		}
	}
}

func TestStreamEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	session, _ := logIn(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "event: delta\nid: 8\ndata: {}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	err := session.Live(ctx, []string{"overview"}, "", func(LiveEvent) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
