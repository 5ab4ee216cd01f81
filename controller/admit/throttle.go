package admit

import (
	"errors"
	"sync"
	"time"
)

const (
	freeFailures    = 5 // before a pause
	firstPause      = time.Second
	longestPause    = 5 * time.Minute
	forgetAfterIdle = 30 * time.Minute
	maxThrottled    = 10_000 // when full, the entry whose pause ended first is removed
)

// throttle slows down clients that guess passwords. The fifth failure of a user name from one address costs a pause;
// each further failure doubles the pause. Attempts with one name from one address run one after the other, so that they
// cannot get around the count. Each node counts for itself, in memory.
type throttle struct {
	now func() time.Time

	mutex    sync.Mutex
	failures map[attempt]*failures
}

type attempt struct{ user, address string }

type failures struct {
	turn  sync.Mutex
	count int
	until time.Time // guarded by turn, like count

	trying int // guarded by throttle.mutex
}

func newThrottle(now func() time.Time) *throttle {
	return &throttle{now: now, failures: map[attempt]*failures{}}
}

// attempt calls try, or returns *Throttled during a pause.
func (t *throttle) attempt(who attempt, try func() error) error {
	f := t.enter(who)
	defer t.leave(who, f)
	f.turn.Lock()
	defer f.turn.Unlock()
	now := t.now()
	if wait := f.until.Sub(now); wait > 0 {
		return &Throttled{wait}
	}
	if now.Sub(f.until) > forgetAfterIdle {
		f.count = 0
	}
	err := try()
	switch {
	case err == nil:
		f.count = 0
	case errors.Is(err, ErrInvalidCredentials):
		f.count++
		f.until = now.Add(pauseAfter(f.count))
	}
	return err
}

func (t *throttle) enter(who attempt) *failures {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	f := t.failures[who]
	if f == nil {
		t.makeRoom()
		f = &failures{}
		t.failures[who] = f
	}
	f.trying++
	return f
}

// leave removes an entry without failures when nobody uses it.
func (t *throttle) leave(who attempt, f *failures) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if f.trying--; f.trying == 0 && f.count == 0 {
		delete(t.failures, who)
	}
}

func (t *throttle) makeRoom() {
	if len(t.failures) < maxThrottled {
		return
	}
	var oldest *attempt
	for who, f := range t.failures {
		if f.trying == 0 && (oldest == nil || f.until.Before(t.failures[*oldest].until)) {
			oldest = &who
		}
	}
	if oldest != nil {
		delete(t.failures, *oldest)
	}
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
