package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

// scoreOf is the present health score of an object.
func (s *stage) scoreOf(kind, uuid string) (client.Object, error) {
	s.Helper()
	var page struct {
		Series []struct{ Data []client.Object }
	}
	if err := s.controller.Session.Get(s.ctx, "analytics/healthscore/"+kind+"/"+uuid, &page); err != nil {
		return nil, err
	}
	if len(page.Series) == 0 || len(page.Series[0].Data) == 0 {
		return nil, fmt.Errorf("there is no score yet: %v", page)
	}
	data := page.Series[0].Data
	last := data[len(data)-1]
	if last["weir_band"] == nil {
		return nil, fmt.Errorf("there is no present score yet: %v", last)
	}
	return last, nil
}

func TestHealthScoreSaysWhatIsWrong(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/bad") {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)
	s := setUp(t, server.Listener.Addr().String())
	vs, err := s.controller.Session.ByName(s.ctx, "virtualservice", "web")
	s.must(err)
	uuid := fmt.Sprint(vs["uuid"])
	s.eventually("the virtual service has a score", func() error {
		score, err := s.scoreOf("virtualservice", uuid)
		// The certificate signs itself, which costs nothing; that HSTS is missing costs a fifth.
		if err != nil || score["value"] != 80.0 || score["reason_attr"] != "hsts_enabled" {
			return fmt.Errorf("%v, %v", score, err)
		}
		return nil
	})
	for i := range 100 {
		path := "/good"
		if i%2 == 0 {
			path = "/bad"
		}
		answer, err := http.Get(plainURL(path))
		s.must(err)
		answer.Body.Close()
	}
	s.eventually("half of the requests failed", func() error {
		score, err := s.scoreOf("virtualservice", uuid)
		// client and pool lose half of their points each, and security a fifth
		if err != nil || score["value"] != 30.0 || score["performance_value"] != 50.0 ||
			score["reason"] != "50 % of requests failed" {
			return fmt.Errorf("%v, %v", score, err)
		}
		return nil
	})
	s.eventually("the history has it", func() error {
		text := s.page(s.token(), "admin", "/api/analytics/prometheus-metrics/virtualservice?realtime=true"+
			"&metric_id=healthscore.health_score_value")
		if !strings.Contains(text, "avi_healthscore_health_score_value{") || !strings.Contains(text, "} 30.0") {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
	run := s.commands()
	shown := run("health", "vs", "web")
	contains(t, shown, "web: 30 poor", "50 % of requests failed", "hsts_enabled", "performance 50",
		"MADE OF", "engine-1")
	contains(t, run("status"), "30 poor")
	contains(t, run("top", "--once"), "HEALTH", "30")
}
