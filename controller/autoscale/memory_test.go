package autoscale

import (
	"testing"
	"time"
)

func TestHighestLoadOfTheLastMinuteCounts(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	m := &memory{began: now}
	for i, step := range []struct {
		after      time.Duration
		open, peak int
		isWatched  bool
	}{
		{0, 5, 5, false}, {5 * time.Second, 90, 90, false}, {5 * time.Second, 3, 90, false},
		{50 * time.Second, 4, 90, true}, {6 * time.Second, 2, 4, true}, {2 * time.Minute, 1, 1, true},
	} {
		now = now.Add(step.after)
		if peak, _, isWatched := m.note(step.open, 1, now); peak != step.peak || isWatched != step.isWatched {
			t.Errorf("step %d: %d %t, want %d %t", i, peak, isWatched, step.peak, step.isWatched)
		}
	}
}

func TestFewestEnginesOfTheLastMinuteCount(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	m := &memory{began: now.Add(-time.Hour)}
	for i, step := range []struct {
		after           time.Duration
		engines, fewest int
		isWatched       bool
	}{
		{0, 1, 1, true}, {5 * time.Second, 2, 1, true}, {50 * time.Second, 2, 1, true}, {6 * time.Second, 2, 2, true},
		{5 * time.Second, 0, 0, false}, {time.Minute, 1, 0, false}, {5 * time.Second, 1, 1, true},
	} {
		now = now.Add(step.after)
		if _, fewest, isWatched := m.note(0, step.engines, now); fewest != step.fewest || isWatched != step.isWatched {
			t.Errorf("step %d: %d %t, want %d %t", i, fewest, isWatched, step.fewest, step.isWatched)
		}
	}
}
