package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

func TestDocumentedFastServersGetTheRequests(t *testing.T) {
	s, run := groupStage(t)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(100 * time.Millisecond)
		fmt.Fprint(w, "slow: ")
	}))
	t.Cleanup(slow.Close)
	s.create("pool", client.Object{"name": "shop",
		"servers": serverList([]string{telling(t, "fast"), slow.Listener.Addr().String()})})
	s.pasteFrom("pools.md", "Fast servers first")
	run("vs", "set", "shop", "pool_ref=shop")
	s.eventually("the fast server gets nearly all", func() error {
		if counts := s.answered(10); counts["fast"] < 36 {
			return fmt.Errorf("they go to %v", counts)
		}
		return nil
	})
	if told := run("explain", plainURL("/x")); !strings.Contains(told, "fastest response") {
		t.Errorf("explained as %s", told)
	}
}
