package fleet

import (
	"slices"
	"testing"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

func TestItIsLookedWhatIsUpAfterAnythingThatMayChangeItAndNotForASample(t *testing.T) {
	s := newStage(t)
	for what, happens := range map[string]func(){
		"connected": func() { s.Connected("se-one", &enginev1.Hello{Status: running}) },
		"applied":   func() { s.Applied("se-one", s.engines["se-one"].wanted, nil) },
		"refused":   func() { s.Refused("se-one", s.engines["se-one"].wanted, nil) },
		"status":    func() { s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Status{Status: running}}) },
		"verdict":   func() { s.judge("se-one", "10.0.0.1:80", true, "") },
		"routing":   func() { s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Routing{}}) },
		"plans":     func() { s.observe(12) },
		"expected":  func() { s.Expect(nil) },
		"gone":      func() { s.Disconnected("se-one", "gone") },
	} {
		s.serve("se-one")
		s.news.Store(false)
		if happens(); !s.news.Load() {
			t.Errorf("%s: nobody looks", what)
		}
	}
	s.serve("se-one")
	s.news.Store(false)
	if s.sampled("se-one", 1); s.news.Load() {
		t.Error("a sample says nothing of it")
	}
}

func TestEventsSayWhenAVirtualServiceComesUpAndGoesDown(t *testing.T) {
	s := newStage(t)
	up := map[string]bool{}
	told := func(want ...string) {
		t.Helper()
		before := len(s.events.Entries())
		s.tellServices(up)
		var got []string
		for _, entry := range s.events.Entries()[:len(s.events.Entries())-before] {
			got = append(got, entry.ID+" "+entry.Name+" "+entry.Message)
		}
		if !slices.Equal(got, want) {
			t.Errorf("want %q, got %q", want, got)
		}
	}
	s.serve("se-one")
	told() // it has not been up yet
	s.judge("se-one", "10.0.0.1:80", true, "")
	told("VS_UP web is up")
	told()
	s.Disconnected("se-one", "heartbeat lost")
	told("VS_DOWN web is down: engine one is not connected: heartbeat lost; engine two is not connected: has not connected yet")
	s.serve("se-one")
	s.judge("se-one", "10.0.0.1:80", false, "refused")
	told()
	s.judge("se-one", "10.0.0.2:80", true, "")
	told("VS_UP web is up")
	s.observe(11)
	s.services["vs-1"].Enabled = false
	told("VS_DOWN web is down: enabled is false")
}
