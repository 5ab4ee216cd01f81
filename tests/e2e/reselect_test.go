package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/tests/accept"
)

func TestRequestThatABusyServerTurnsAwayGoesToAnother(t *testing.T) {
	var turnedAway atomic.Int64
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turnedAway.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, strings.Repeat("busy\n", 10_000))
	}))
	t.Cleanup(busy.Close)
	s := setUp(t, strings.TrimPrefix(busy.URL, "http://"), echo(t))
	s.changeApplied("web", "pool", "web", func(o client.Object) {
		o["lb_algorithm"] = "LB_ALGORITHM_ROUND_ROBIN"
		o["server_reselect"] = map[string]any{"enabled": true,
			"svr_resp_code": map[string]any{"resp_code_block": []any{"HTTP_RSP_5XX"}}}
	})
	for range 20 {
		if status, err := getOnce(plainURL("/")); err != nil || status != http.StatusOK {
			t.Fatalf("%d, %v", status, err)
		}
	}
	before := turnedAway.Load()
	for range 20 {
		contains(t, s.curl("-X", "PUT", "--data-binary", strings.Repeat("x", 20_000), plainURL("/put")),
			"PUT /put", fmt.Sprintf("framing: [] %d", 20_000))
	}
	if turnedAway.Load() == before {
		t.Error("the busy server was not asked")
	}
	refused := 0
	for range 20 {
		if strings.HasPrefix(s.curl("--data", "x", plainURL("/post")), "busy") {
			refused++
		}
	}
	if refused == 0 {
		t.Error("POST went to another server")
	}
	s.eventually("they are counted", func() error {
		counters, _ := s.runtime("virtualservice", "web")["counters"].(map[string]any)
		if total, _ := counters["reselects"].(float64); total == 0 {
			return fmt.Errorf("none in %v", counters)
		}
		return nil
	})
}

// endless is a server that says neither how long its answer is nor that it closes.
func endless(t *testing.T) string {
	t.Helper()
	return accept.Each(t, func(conn *net.TCPConn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			fmt.Fprintf(conn, "HTTP/1.0 200 OK\r\n\r\n%s", strings.Repeat("0123456789", 20_000))
		}
	}).String()
}

func TestClientStaysBehindAResponseWithoutALength(t *testing.T) {
	s := setUp(t, endless(t))
	url := plainURL("/")
	count := []string{"-o", "/dev/null", "-o", "/dev/null", "-w", "%{size_download} %{num_connects}\n"}
	for _, flags := range [][]string{{url, url}, {tlsURL("/"), tlsURL("/")}} {
		got := s.curl(append(flags, count...)...)
		if got != "200000 1\n200000 0\n" {
			t.Errorf("%v: got %q", flags, got)
		}
	}
	got := s.curl(append([]string{"--http1.0", url, url}, count...)...)
	if got != "200000 1\n200000 1\n" {
		t.Errorf("HTTP/1.0: got %q", got)
	}
}
