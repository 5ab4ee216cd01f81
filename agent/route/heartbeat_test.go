package route

import "testing"

// Each letter is something that happens to a heart: R it serves, S it says it is starting, D it is dead, . a Sample,
// _ a beat.
func TestHeartBeatsWhileTheDataPlaneServes(t *testing.T) {
	for _, c := range []struct {
		story    string
		applying bool
		want     bool
	}{
		{"", false, false},
		{"S", false, false},
		{"S.", false, false}, // alive, but it serves nothing yet
		{"SR", false, true},
		{"SR__", false, true},
		{"SR___", false, false}, // stuck
		{"SR__.__", false, true},
		{"SR___.", false, true},
		{"SR_________", true, true}, // it builds a Plan
		{"SR__D", false, true},      // it comes back at once, most often
		{"SR__D_SR__", false, true},
		{"SRD_", false, true},
		{"SRD__", false, false},
		{"SRD__", true, false},
		{"SRD_S_", false, false}, // it starts for too long
		{"SRD__SR", false, true},
		{"SRD._.", false, true}, // what a dying process said last is no sign of life
		{"SRD._._", false, false},
	} {
		heart := newHeartbeat()
		for _, what := range c.story {
			switch what {
			case 'R':
				heart.status(Serves)
			case 'S':
				heart.status(Idle)
			case 'D':
				heart.status(Away)
			case '.':
				heart.sampled()
			case '_':
				heart.beat()
			}
		}
		if got := heart.alive(c.applying); got != c.want {
			t.Errorf("%q, applying %t: alive is %t", c.story, c.applying, got)
		}
	}
}
