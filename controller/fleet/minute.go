package fleet

import (
	"slices"
	"time"
)

const minuteLength = time.Minute

// minute is what one process had counted at moments of the last minute before its newest sample, the oldest moment
// first. With a sample, there is at least one. It has whole histograms, so that quantiles of the minute, over all
// engines, follow from what was counted in it: the quantiles that live keeps of each step do not add up.
type minute[T any] []moment[T]

type moment[T any] struct {
	at      time.Time
	counted T
}

// follow returns the minute before the next sample, which becomes a moment if step has passed since the last one. last
// is the sample before; nil: there is none. of takes from a sample what is kept; it gets that of the moment before.
func (m minute[T]) follow(last, next *Sample, step time.Duration, of func(s *Sample, before T) T) minute[T] {
	if last != nil && last.process != next.process {
		m = minute[T]{{at: last.at()}} // then the next process had not counted anything
	}
	m = slices.DeleteFunc(m, func(m moment[T]) bool {
		age := next.at().Sub(m.at) // negative if the clock was set back
		return age < 0 || age > minuteLength
	})
	var before T
	if len(m) > 0 {
		if next.at().Sub(m[len(m)-1].at) < step {
			return m
		}
		before = m[len(m)-1].counted
	}
	return append(m, moment[T]{next.at(), of(next, before)})
}

// recent returns the moments from the last one on that is at least this old; all, if none is.
func (m minute[T]) recent(now time.Time, least time.Duration) minute[T] {
	for i := len(m) - 1; i > 0; i-- {
		if now.Sub(m[i].at) >= least {
			return m[i:]
		}
	}
	return m
}

// earliest returns what the oldest moment has of an object. If a later moment lacks the object, it has counted from
// zero since, and earliest returns the zero value.
func earliest[K comparable, V any](m minute[map[K]V], object K) (then V) {
	for _, later := range m[1:] {
		if _, counted := later.counted[object]; !counted {
			return then
		}
	}
	return m[0].counted[object]
}
