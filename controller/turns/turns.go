// Package turns says when the work is due that the leader does for all objects again and again. Each kind of it has a
// moment of its own. If all came at once, they would keep all cores for some time, and a change of an operator would
// wait for that.
package turns

import (
	"context"
	"time"
)

// When the works are due, after a multiple of their periods.
const (
	Metrics  = 0 // their samples have the times of the multiples
	Slowness = time.Second
	Unusual  = 3 * time.Second
	Scaling  = 4 * time.Second
	Grading  = 7 * time.Second // each 15 s; the others each 5 s
)

// Run calls do with each time that is so long after a multiple of a period, until ctx ends. A time that passes while do
// works is left out.
func Run(ctx context.Context, now func() time.Time, period, after time.Duration, do func(at time.Time)) {
	for {
		at := next(now(), period, after)
		alarm := time.NewTimer(at.Sub(now()))
		select {
		case <-ctx.Done():
			alarm.Stop()
			return
		case <-alarm.C:
			do(at)
		}
	}
}

// next is the first time that is after now.
func next(now time.Time, period, after time.Duration) time.Time {
	return now.Add(-after).Truncate(period).Add(period + after)
}
