package notify

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestReceiverMayHaveTakenWhatItDidNotRefuse(t *testing.T) {
	status := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if status == 0 {
			panic(http.ErrAbortHandler) // it ends the connection
		}
		w.WriteHeader(status)
	}))
	for want, all := range map[bool][]int{true: {0, 502, 504}, false: {202, 301, 404, 503}} {
		for _, status = range all {
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
