package fleet

import (
	"slices"
	"testing"
)

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
