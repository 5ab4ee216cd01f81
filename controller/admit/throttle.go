package admit

import (
	"sync"
	"time"
)

const (
	freeFailures    = 5 // before a pause
	firstPause      = time.Second
	longestPause    = 5 * time.Minute
	maxThrottled    = 10_000 // when full, the one whose pause ends first is forgotten
	forgetAfterIdle = 30 * time.Minute
)

// throttle slows down who guesses passwords: each failure after the fifth doubles the pause before the next attempt
// of that user name from that address.
type throttle struct {
	mutex    sync.Mutex
	failures map[attempt]*failed
}

type attempt struct{ user, address string }

type failed struct {
	count int
	until time.Time
}

func newThrottle() *throttle { return &throttle{failures: map[attempt]*failed{}} }

// pause says how long the next attempt has to wait; 0: it may come now.
func (t *throttle) pause(who attempt, now time.Time) time.Duration {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	f := t.failures[who]
	if f == nil {
		return 0
	}
	return max(0, f.until.Sub(now))
}

func (t *throttle) failed(who attempt, now time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	f := t.failures[who]
	if f == nil || now.Sub(f.until) > forgetAfterIdle {
		t.makeRoom()
		f = &failed{}
		t.failures[who] = f
	}
	f.count++
	f.until = now.Add(pauseAfter(f.count))
}

func (t *throttle) succeeded(who attempt) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.failures, who)
}

func pauseAfter(failures int) time.Duration {
	if failures < freeFailures {
		return 0
	}
	pause := firstPause
	for range failures - freeFailures {
		if pause *= 2; pause >= longestPause {
			return longestPause
		}
	}
	return pause
}

func (t *throttle) makeRoom() {
	if len(t.failures) < maxThrottled {
		return
	}
	var soonest attempt
	var until time.Time
	for who, f := range t.failures {
		if until.IsZero() || f.until.Before(until) {
			soonest, until = who, f.until
		}
	}
	delete(t.failures, soonest)
}
