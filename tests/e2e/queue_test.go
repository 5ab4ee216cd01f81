package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weir-lb/weir/client"
)

func TestGetsWaitForAFullServerAndAreRefusedWhenTheQueueIsFull(t *testing.T) {
	var asked atomic.Int64
	answers := make(chan struct{})
	answer := sync.OnceFunc(func() { close(answers) })
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		<-answers
	}))
	t.Cleanup(server.Close)
	t.Cleanup(answer)
	s := setUp(t, server.Listener.Addr().String())
	// Each of the two workers may have one connection, and one request that waits.
	s.changeApplied("web", "pool", "web", func(o client.Object) {
		o["max_concurrent_connections_per_server"] = 2
		o["request_queue_enabled"], o["request_queue_depth"] = true, 2
		o["fail_action"] = client.Object{"type": "FAIL_ACTION_HTTP_LOCAL_RSP",
			"local_rsp": client.Object{"status_code": "FAIL_HTTP_STATUS_CODE_503"}}
	})
	const requests, taken = 40, 4
	statuses := make(chan int, requests)
	expect := func(count, status int) {
		t.Helper()
		for range count {
			if got := <-statuses; got != status {
				t.Fatalf("a request got %d, and not %d", got, status)
			}
		}
	}
	for range requests {
		go func() {
			status, err := getOnce(plainURL("/"))
			if err != nil {
				t.Error(err)
			}
			statuses <- status
		}()
	}
	expect(requests-taken, http.StatusServiceUnavailable)
	s.untilQueued(client.Object{"waiting_requests": 2.0, "queued_requests": 2.0,
		"queue_full":     float64(requests - taken),
		"queue_timeouts": 0.0})
	if now := asked.Load(); now != 2 {
		t.Errorf("the server got %d requests at once", now)
	}
	answer()
	expect(taken, http.StatusOK)
	if all := asked.Load(); all != taken {
		t.Errorf("the server got %d requests", all)
	}
	s.untilQueued(client.Object{"waiting_requests": 0.0, "queued_requests": 2.0})
}

// untilQueued waits until the pool "web" has counted this.
func (s *stage) untilQueued(want client.Object) {
	s.Helper()
	s.eventually("the queue is counted", func() error {
		counters, _ := s.runtime("pool", "web")["counters"].(map[string]any)
		for name, count := range want {
			if counters[name] != count {
				return fmt.Errorf("%v, wanted %v", counters, want)
			}
		}
		return nil
	})
}
