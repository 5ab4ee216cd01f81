package turns

import (
	"context"
	"testing"
	"time"
)

func TestTheNextTurnIsSoLongAfterAMultiple(t *testing.T) {
	noon := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for now, want := range map[time.Duration]time.Duration{
		0: 7 * time.Second, 6999 * time.Millisecond: 7 * time.Second, 7 * time.Second: 22 * time.Second,
		8 * time.Second: 22 * time.Second, 22*time.Second + 1: 37 * time.Second,
	} {
		if got := next(noon.Add(now), 15*time.Second, Grading).Sub(noon); got != want {
			t.Errorf("after %v it is %v, want %v", now, got, want)
		}
	}
}

func TestNoTwoWorksAreDueWithinASecond(t *testing.T) {
	due := map[string][]time.Duration{"grading": {Grading}}
	for at := time.Duration(0); at <= 15*time.Second; at += 5 * time.Second {
		due["metrics"] = append(due["metrics"], at+Metrics)
		due["slowness"] = append(due["slowness"], at+Slowness)
		due["unusual"] = append(due["unusual"], at+Unusual)
		due["scaling"] = append(due["scaling"], at+Scaling)
	}
	for one, times := range due {
		for other, others := range due {
			for _, at := range times {
				for _, then := range others {
					if one != other && (at-then).Abs() < time.Second {
						t.Errorf("%s at %v, and %s at %v", one, at, other, then)
					}
				}
			}
		}
	}
}

func TestTurnsEndWithTheirContext(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	turns := 0
	Run(ctx, time.Now, time.Millisecond, 0, func(at time.Time) {
		if late := time.Since(at); late < 0 {
			t.Errorf("a turn is %v early", -late)
		}
		if turns++; turns == 3 {
			end()
		}
	})
	if turns != 3 {
		t.Errorf("there were %d turns", turns)
	}
}
