package monitor

import (
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

// Outcome is what one check found.
type Outcome struct {
	Up          bool
	Maintenance bool   // the server itself asks to be left alone, which counts at once
	Reason      string // why not up, one line
	Took        time.Duration
}

// Verdict is what has been found out about a server.
type Verdict struct {
	plan.Member
	Up          bool
	Reason      string // of the last failed check: "HTTP 500 from GET /, want 2xx"
	SinceUnixMs uint64
	Monitors    []MonitorVerdict
}

// MonitorVerdict is one monitor's part in it.
type MonitorVerdict struct {
	UUID   string
	Up     bool
	Reason string
	Took   time.Duration // the last check
}

type verdict uint8

const (
	unknown verdict = iota
	up
	down
)

// tally turns the outcomes of one monitor on one server into a verdict: so many successes in a row bring it up, so many
// failures bring it down, and with quickstart the very first success counts.
type tally struct {
	verdict   verdict
	successes int // in a row
	failures  int // in a row
	reason    string
	took      time.Duration
}

func (t *tally) note(monitor *plan.Monitor, outcome Outcome) {
	t.took = outcome.Took
	if outcome.Up {
		t.successes, t.failures = t.successes+1, 0
		if t.verdict != up && t.successes >= successesNeeded(t.verdict, monitor) {
			t.verdict, t.reason = up, ""
		}
		return
	}
	t.successes, t.failures = 0, t.failures+1
	t.reason = outcome.Reason
	if outcome.Maintenance || t.failures >= monitor.Failures {
		t.verdict = down
	}
}

func successesNeeded(now verdict, monitor *plan.Monitor) int {
	if now == unknown && monitor.Quickstart {
		return 1
	}
	return monitor.Successes
}

// together is the verdict of several monitors on one server, all of which must pass. While one has not decided and none
// says down, the server stays what it was.
func together(before verdict, tallies []tally) verdict {
	all := up
	for _, t := range tallies {
		if t.verdict == down {
			return down
		}
		if t.verdict == unknown {
			all = before
		}
	}
	return all
}
