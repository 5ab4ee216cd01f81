package alert

import (
	"slices"
	"time"
)

// window is how often something happened lately, the earliest first. It has few moments, however much happens: those
// that are close together become one.
type window []happened

type happened struct {
	at    time.Time
	times uint64
}

// momentsMost is into how many parts a window is divided.
const momentsMost = 64

// windowsMost bounds the windows of a book. What finds no room is not counted.
const windowsMost = 10_000

// add notes what happened, perhaps later than what came after it.
func (w window) add(one happened, length time.Duration) window {
	next := len(w)
	for next > 0 && w[next-1].at.After(one.at) {
		next--
	}
	if near := next - 1; near >= 0 && one.at.Sub(w[near].at) < length/momentsMost {
		w[near].times += one.times
		return w
	}
	return slices.Insert(w, next, one)
}

func (w window) times() (sum uint64) {
	for _, one := range w {
		sum += one.times
	}
	return sum
}

// counts notes what happened, and tells whether that is often enough in the window of a rule.
func (b *book) counts(rule *Rule, key string, one happened, now time.Time) bool {
	left := b.windowOf(rule, key, now)
	if one.at.After(now.Add(-lengthOf(rule))) && (len(left) > 0 || len(b.windows) < windowsMost) {
		left = left.add(one, lengthOf(rule))
		b.windows[key] = left
	}
	return left.times() >= uint64(rule.Threshold)
}

// windowOf is what is still in the window.
func (b *book) windowOf(rule *Rule, key string, now time.Time) window {
	left, from := b.windows[key], now.Add(-lengthOf(rule))
	for len(left) > 0 && !left[0].at.After(from) {
		left = left[1:]
	}
	return left
}

func lengthOf(rule *Rule) time.Duration { return time.Duration(rule.RollingWindowS) * time.Second }
