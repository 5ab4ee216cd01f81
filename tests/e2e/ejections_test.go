package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

func TestServerThatAnswersWithErrorsIsEjectedAndItsUserIsToldWhy(t *testing.T) {
	var asked atomic.Int64
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(bad.Close)
	address := strings.TrimPrefix(bad.URL, "http://")
	s := setUp(t, address, echo(t), echo(t))
	s.changeApplied("web", "pool", "web", func(o client.Object) { o["lb_algorithm"] = "LB_ALGORITHM_ROUND_ROBIN" })
	for range 300 {
		if _, err := getOnce(plainURL("/")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	// Each worker finds out by itself, after errors of at least a second.
	before := asked.Load()
	if before > 60 {
		t.Errorf("the server that is bad got %d of 300 requests", before)
	}
	for range 30 {
		if status, err := getOnce(plainURL("/")); err != nil || status != http.StatusOK {
			t.Fatalf("%d, %v, after the server was ejected", status, err)
		}
	}
	if after := asked.Load(); after != before {
		t.Errorf("it got %d more requests", after-before)
	}
	s.untilTold("SERVER_DOWN", "web: server "+address+" is down: inline_health_monitor: most of its responses are errors")
	servers, _ := s.explained(client.Object{"url": plainURL("/")})["servers"].([]any)
	contains(t, fmt.Sprint(servers), "ejected")
}
