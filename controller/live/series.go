package live

import "time"

const (
	coarseSteps = 60  // of 5 s
	fineSteps   = 300 // of a second
)

// clock has the ends of the last steps of one size. Steps count from 1.
type clock struct {
	step    int
	endsMs  []int64
	seconds []float32
	ended   time.Time
}

func newClock(length int) clock {
	return clock{endsMs: make([]int64, length), seconds: make([]float32, length)}
}

// end ends a step.
func (c *clock) end(now time.Time) {
	took := now.Sub(c.ended)
	if c.ended.IsZero() || took < 0 {
		took = 0
	}
	c.step, c.ended = c.step+1, now
	at := c.step % len(c.endsMs)
	c.endsMs[at], c.seconds[at] = now.UnixMilli(), float32(took.Round(time.Millisecond).Seconds())
}

// first is the number of the oldest step that tracks have.
func (c *clock) first() int { return max(1, c.step-len(c.endsMs)+1) }

func (c *clock) endMs(step int) int64 { return c.endsMs[step%len(c.endsMs)] }

// series is the tracks of one virtual service, engine, or sum.
type series[S shot] struct {
	coarse   track[S]
	fine     *track[S] // nil: nobody watches it
	newest   S         // of the last step, fine or coarse
	newestMs int64     // end of that step
}

// moment is a shot with its time.
type moment[S shot] struct {
	endMs   int64
	seconds float32
	shot    S
}

// since returns what happened after a time, oldest first. Where it was watched, it has all steps; before that, it has
// coarse ones.
func (s *series[S]) since(afterMs int64, fine, coarse *clock) []moment[S] {
	var all []moment[S]
	watchedMs := int64(1<<63 - 1)
	if s.fine != nil && s.fine.first != 0 && s.fine.first <= fine.step {
		watchedMs = fine.endMs(max(s.fine.first, fine.first()))
	}
	all = s.coarse.since(all, coarse, afterMs, watchedMs)
	if s.fine != nil {
		all = s.fine.since(all, fine, max(afterMs, watchedMs-1), 1<<63-1)
	}
	return all
}

// since appends the shots of the steps that ended after a time and before another.
func (t *track[S]) since(all []moment[S], clock *clock, afterMs, beforeMs int64) []moment[S] {
	for step := max(clock.first(), t.first); t.first != 0 && step <= clock.step; step++ {
		if end := clock.endMs(step); end > afterMs && end < beforeMs {
			shot := t.at(step, clock.step, len(clock.endsMs))
			all = append(all, moment[S]{end, clock.seconds[step%len(clock.endsMs)], shot})
		}
	}
	return all
}

// watch begins or ends to take each step.
func (s *series[S]) watch(on bool) {
	switch {
	case !on:
		s.fine = nil
	case s.fine == nil:
		s.fine = &track[S]{}
	}
}

// put takes the shot of the step that has ended last on a clock.
func (s *series[S]) put(clock *clock, isFine bool, shot S) {
	s.newest, s.newestMs = shot, clock.endMs(clock.step)
	if !isFine {
		s.coarse.put(clock.step, len(clock.endsMs), shot)
	} else if s.fine != nil {
		s.fine.put(clock.step, len(clock.endsMs), shot)
	}
}
