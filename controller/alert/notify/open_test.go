package notify

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

func TestReceiverMayHaveTakenWhatItDidNotRefuse(t *testing.T) {
	var answers atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if answers.Load() == 0 {
			panic(http.ErrAbortHandler) // it ends the connection
		}
		w.WriteHeader(int(answers.Load()))
	}))
	for want, all := range map[bool][]int{true: {0, 502, 504}, false: {202, 301, 404, 503}} {
		for _, status := range all {
			answers.Store(int32(status))
			if got := sender(true).Post(t.Context(), Webhook{URL: server.URL}, "1", notice()); got.Open != want {
				t.Errorf("%d: %+v", status, got)
			}
		}
	}
	server.Close()
	if got := sender(true).Post(t.Context(), Webhook{URL: server.URL}, "1", notice()); got.OK || got.Open {
		t.Errorf("nobody listens: %+v", got)
	}
}
