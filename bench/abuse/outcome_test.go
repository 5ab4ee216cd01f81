package abuse

import (
	"testing"

	"github.com/weir-lb/weir/lab"
)

func both(kept, afresh Seen) map[string]Seen { return map[string]Seen{Kept: kept, Afresh: afresh} }

func TestWhoGotNoAnswerHasWaitedAsLongAsAClientIsPatient(t *testing.T) {
	const waited = 5_000_000
	for name, c := range map[string]struct {
		report   lab.LoadReport
		p50, p99 float64
		failed   int64
	}{
		"all answered":        {lab.LoadReport{Requests: 1000}, 500, 900, 0},
		"one of 101 failed":   {lab.LoadReport{Requests: 100, ErrorTotal: 1}, 500, 900, 1},
		"two of 102 failed":   {lab.LoadReport{Requests: 100, ErrorTotal: 2}, 500, waited, 2},
		"more than half":      {lab.LoadReport{Requests: 100, ErrorTotal: 60, Missed: 41}, waited, waited, 101},
		"nobody was answered": {lab.LoadReport{ErrorTotal: 7}, waited, waited, 7},
	} {
		c.report.P50us, c.report.P99us = 500, 900
		if s := seenBy(c.report); s.P50us != c.p50 || s.P99us != c.p99 || s.Failed != c.failed ||
			s.Asked != c.report.Requests+c.failed {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestFailuresAreCountedByCause(t *testing.T) {
	s := seenBy(lab.LoadReport{Requests: 10, ErrorTotal: 5, Missed: 2,
		Errors: map[string]int64{"timeout": 4, "reset": 1, "connect": 0}})
	if s.failures() != "7 (timeout 4, never begun 2, reset 1)" {
		t.Errorf("%s", s.failures())
	}
	if text := (Seen{Asked: 3}).failures(); text != "0" {
		t.Errorf("%s", text)
	}
}

func TestTheWayThatSufferedMoreCounts(t *testing.T) {
	o := judge(both(Seen{Asked: 9, P99us: 2000}, Seen{Asked: 9, P99us: 4000}), nil,
		both(Seen{Asked: 9, P99us: 8000}, Seen{Asked: 9, P99us: 12000}))
	if o.Ratio != 4 || o.Over != Kept || o.P99us != 8000 || o.RestP99us != 2000 {
		t.Errorf("%+v", o)
	}
}

func TestWhatIsLessThanNoiseAtRestCountsAsNoise(t *testing.T) {
	rest := both(Seen{Asked: 9, P99us: 100}, Seen{Asked: 9, P99us: 200})
	if o := judge(rest, nil, both(Seen{Asked: 9, P99us: 2500}, Seen{Asked: 9, P99us: 2000})); o.Ratio != 2.5 {
		t.Errorf("%+v", o)
	}
}

func TestAMachineThatIsBusyAtRestPutsAnOutcomeInDoubt(t *testing.T) {
	during := both(Seen{Asked: 9, P99us: 9000}, Seen{})
	for _, c := range []struct {
		rest   Seen
		doubts int
	}{
		{Seen{Asked: 9, P50us: 400, P99us: 6000}, 1},
		{Seen{Asked: 9, P50us: 400, P99us: 4900}, 0},
		{Seen{Asked: 9, P50us: 20_000, P99us: 40_000}, 0},
	} {
		if o := judge(both(c.rest, c.rest), nil, during); len(o.Doubts) != c.doubts {
			t.Errorf("%+v: %q", c.rest, o.Doubts)
		}
	}
}

func TestARowIsOkOnlyWhenNothingFailedAndNobodyIsSlow(t *testing.T) {
	rest := both(Seen{Asked: 9, P99us: 1000}, Seen{Asked: 9, P99us: 1000})
	fine, slow, failing := Seen{Asked: 9, P99us: 3000}, Seen{Asked: 9, P99us: 3100},
		Seen{Asked: 900, Failed: 1, P99us: 1000}
	for name, c := range map[string]struct {
		rest, coming, during map[string]Seen
		want                 bool
	}{
		"at the bar":               {rest, nil, both(fine, fine), true},
		"slow":                     {rest, nil, both(fine, slow), false},
		"one failed":               {rest, nil, both(failing, fine), false},
		"slow while they come":     {rest, both(slow, slow), both(fine, fine), true},
		"failed while they came":   {rest, both(fine, failing), both(fine, fine), false},
		"failed at rest":           {both(failing, fine), nil, both(fine, fine), false},
		"nobody was asked at rest": {map[string]Seen{}, nil, both(fine, fine), false},
		"nobody asked":             {rest, nil, both(fine, Seen{}), false},
	} {
		if result := rows[0].judge(Finding{Outcome: judge(c.rest, c.coming, c.during)}); result.OK != c.want {
			t.Errorf("%s: %+v", name, result)
		}
	}
}

func TestARowThatNobodyHasAttackedMissesItsBar(t *testing.T) {
	calm := both(Seen{Asked: 9, P99us: 900}, Seen{Asked: 9, P99us: 900})
	for came, want := range map[int64]bool{0: false, 1: true} {
		outcome := judge(calm, nil, calm).under(Toll{Came: came, Refused: 3, Why: "connection refused"})
		if result := rows[0].judge(Finding{Outcome: outcome}); result.OK != want {
			t.Errorf("%d attackers came: ok %v: %v", came, result.OK, result.Broken)
		}
	}
}
