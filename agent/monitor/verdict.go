package monitor

import (
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

// Outcome is what one check found.
type Outcome struct {
	Up          bool
	Maintenance bool   // the server itself asks for no more clients; this counts at once
	Reason      string // why not up, one line
	Took        time.Duration
	Tasks       Tasks // of a script that passes
}

// Verdict is the result of all monitors of a server.
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
	Reason string        // why not up; or, of one that is up, why the tasks of the server are not known
	Took   time.Duration // the last check
}

type verdict uint8

const (
	unknown verdict = iota
	up
	down
)

// tally turns the outcomes of one monitor of one server into a verdict. A number of successes in a row makes it up, a
// number of failures makes it down. With quickstart the first success is enough.
type tally struct {
	verdict     verdict
	successes   int // in a row
	failures    int // in a row
	maintenance bool
	reason      string
	took        time.Duration
	tasks       Tasks
}

func (t *tally) note(monitor *plan.Monitor, outcome Outcome) {
	t.took, t.tasks = outcome.Took, outcome.Tasks
	if outcome.Up {
		t.successes, t.failures = t.successes+1, 0
		if t.verdict != up && t.successes >= successesNeeded(t.verdict, monitor) {
			t.verdict = up
		}
		if t.verdict == up {
			t.maintenance, t.reason = false, ""
		}
		return
	}
	t.successes, t.failures = 0, t.failures+1
	t.reason, t.maintenance = outcome.Reason, outcome.Maintenance
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

// together is the verdict of several monitors of one server, of which a number must pass. A server that asks for
// maintenance at any of them is down. While the undecided ones matter, the server keeps its state.
func together(before verdict, tallies []tally, needed int) verdict {
	passed, failed := 0, 0
	for _, t := range tallies {
		switch {
		case t.verdict == down && t.maintenance:
			return down
		case t.verdict == down:
			failed++
		case t.verdict == up:
			passed++
		}
	}
	switch {
	case passed >= needed:
		return up
	case len(tallies)-failed < needed:
		return down
	default:
		return before
	}
}
