package alert

import (
	"slices"
	"time"
)

// window is how often something happened lately, the earliest first. It has few parts, however much happens and in
// whatever order it is heard of.
type window []part

// part is what happened from a time on, for a partsMost-th of the window.
type part struct {
	from  time.Time
	times uint64
}

// partsMost is into how many parts a window is divided.
const partsMost = 64

// windowsMost bounds the windows of a book. What finds no room is not counted.
const windowsMost = 10_000

// lagMost is how late records come if all is well. A window keeps what happened for so much longer.
const lagMost = 5 * time.Second

// add notes what happened, perhaps later than what came after it.
func (w window) add(at time.Time, times uint64, length time.Duration) window {
	from := at.Truncate(length / partsMost)
	i, there := slices.BinarySearchFunc(w, from, func(p part, from time.Time) int { return p.from.Compare(from) })
	if there {
		w[i].times += times
		return w
	}
	return slices.Insert(w, i, part{from, times})
}

// most is how often it happened at most within a length of time that has at in it; zero: within any.
func (w window) most(length time.Duration, at time.Time) (most uint64) {
	first, sum, has := 0, uint64(0), at.Truncate(length/partsMost)
	for _, last := range w {
		sum += last.times
		for !w[first].from.After(last.from.Add(-length)) {
			sum -= w[first].times
			first++
		}
		if at.IsZero() || !last.from.Before(has) && last.from.Before(has.Add(length)) {
			most = max(most, sum)
		}
	}
	return most
}

// counts notes what happened, and tells whether that is often enough in the window of a rule.
func (b *book) counts(rule *Rule, key string, at time.Time, times uint64, now time.Time) bool {
	if at.After(now) {
		at = now // the clock of an engine is fast
	}
	left, length := b.windowOf(rule, key, now), lengthOf(rule)
	if !at.After(now.Add(-length - lagOf(rule))) {
		return false
	}
	if _, known := b.windows[key]; !known && len(b.windows) >= windowsMost {
		b.uncounted += times
		return false
	}
	left = left.add(at, times, length)
	b.windows[key] = left
	return left.most(length, at) >= uint64(rule.Threshold)
}

// isOften tells whether what a rule is about still happens often enough.
func (b *book) isOften(rule *Rule, key string, now time.Time) bool {
	return b.windowOf(rule, key, now).most(lengthOf(rule), time.Time{}) >= uint64(rule.Threshold)
}

// windowOf is what is still in the window, with the time that records take until they are here.
func (b *book) windowOf(rule *Rule, key string, now time.Time) window {
	left, from := b.windows[key], now.Add(-lengthOf(rule)-lagOf(rule))
	for len(left) > 0 && !left[0].from.After(from) {
		left = left[1:]
	}
	return left
}

// forgetWindows forgets what a rule has counted.
func (b *book) forgetWindows(rule string) {
	for key := range b.windows {
		if ruleInKey(key) == rule {
			delete(b.windows, key)
		}
	}
}

func lengthOf(rule *Rule) time.Duration { return time.Duration(rule.RollingWindowS) * time.Second }

func lagOf(rule *Rule) time.Duration {
	if rule.where == nil {
		return 0
	}
	return lagMost
}
