package monitor

import (
	"testing"

	"github.com/weir-lb/weir/agent/plan"
)

// outcomes: "+" success, "-" failure, "m" maintenance. verdicts: "?" unknown, "+" up, "-" down.
func TestVerdictFollowsChecksInARow(t *testing.T) {
	quick := &plan.Monitor{Successes: 2, Failures: 3, Quickstart: true}
	slow := &plan.Monitor{Successes: 2, Failures: 2}
	for name, c := range map[string]struct {
		monitor            *plan.Monitor
		outcomes, verdicts string
	}{
		"with quickstart one success brings a new server up":  {quick, "+", "+"},
		"without quickstart it takes as many as ever":         {slow, "++", "?+"},
		"quickstart is for the first time only":               {quick, "+---+-++", "+++-" + "---+"},
		"a single failure does not bring a server down":       {slow, "++-+-+", "?+++++"},
		"a new server that fails is down after enough checks": {quick, "---", "??-"},
		"a success between failures begins the count anew":    {quick, "+--+---", "++++++-"},
		"maintenance counts at once":                          {quick, "+m+", "+--"},
		"thresholds of one":                                   {&plan.Monitor{Successes: 1, Failures: 1}, "+-+", "+-+"},
	} {
		t.Run(name, func(t *testing.T) {
			var tally tally
			got := ""
			for _, outcome := range c.outcomes {
				tally.note(c.monitor, Outcome{Up: outcome == '+', Maintenance: outcome == 'm'})
				got += string("?+-"[tally.verdict])
			}
			if got != c.verdicts {
				t.Errorf("after %s: got %s, want %s", c.outcomes, got, c.verdicts)
			}
		})
	}
}

func TestAllMonitorsOfAServerMustPass(t *testing.T) {
	for _, c := range []struct {
		before   verdict
		monitors []verdict
		want     verdict
	}{
		{unknown, []verdict{up, up}, up},
		{up, []verdict{up, down}, down},
		{up, []verdict{unknown, down}, down},
		{unknown, []verdict{up, unknown}, unknown},
		{up, []verdict{up, unknown}, up},
		{down, []verdict{up, unknown}, down},
		{down, []verdict{up}, up},
	} {
		var tallies []tally
		for _, verdict := range c.monitors {
			tallies = append(tallies, tally{verdict: verdict})
		}
		if got := together(c.before, tallies, len(tallies)); got != c.want {
			t.Errorf("before %v, monitors %v: got %v, want %v", c.before, c.monitors, got, c.want)
		}
	}
}

func TestReasonOfAFailureIsForgottenWithTheNextSuccess(t *testing.T) {
	var tally tally
	monitor := &plan.Monitor{Successes: 2, Failures: 2, Quickstart: true}
	for _, step := range []struct {
		outcome Outcome
		reason  string
	}{{Outcome{Up: true}, ""}, {Outcome{Reason: "refused"}, "refused"}, {Outcome{Up: true}, ""}} {
		if tally.note(monitor, step.outcome); tally.reason != step.reason {
			t.Errorf("after %+v: %q", step.outcome, tally.reason)
		}
	}
}
