package admit

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

func standing(at time.Time) func() time.Time { return func() time.Time { return at } }

func wrong() error { return ErrInvalidCredentials }

func right() error { return nil }

func TestPauseDoublesUpToFiveMinutes(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		1: 0, 4: 0, 5: time.Second, 6: 2 * time.Second, 8: 8 * time.Second, 13: 256 * time.Second, 14: 5 * time.Minute,
		1000: 5 * time.Minute,
	} {
		if got := pauseAfter(failures); got != want {
			t.Errorf("after %d failures %v, want %v", failures, got, want)
		}
	}
}

func TestParallelGuessesDoNotOvertakeTheCount(t *testing.T) {
	throttle := newThrottle(standing(time.Unix(1000, 0)))
	var mutex sync.Mutex
	tried := 0
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			throttle.attempt(attempt{"admin", "10.0.0.1"}, func() error {
				mutex.Lock()
				defer mutex.Unlock()
				tried++
				return ErrInvalidCredentials
			})
		})
	}
	group.Wait()
	if tried != freeFailures {
		t.Errorf("%d guesses were tried, want %d", tried, freeFailures)
	}
}

func TestSuccessAndTimeForgetFailures(t *testing.T) {
	now := time.Unix(1000, 0)
	throttle := newThrottle(func() time.Time { return now })
	who := attempt{"admin", "10.0.0.1"}
	for range freeFailures - 1 {
		throttle.attempt(who, wrong)
	}
	throttle.attempt(who, right)
	if len(throttle.failures) != 0 {
		t.Error("a success is remembered")
	}
	for range freeFailures {
		throttle.attempt(who, wrong)
	}
	var throttled *Throttled
	if err := throttle.attempt(who, right); !errors.As(err, &throttled) {
		t.Errorf("got %v", err)
	}
	now = now.Add(forgetAfterIdle + time.Minute)
	if err := throttle.attempt(who, wrong); !errors.Is(err, ErrInvalidCredentials) {
		t.Errorf("got %v", err)
	}
	if err := throttle.attempt(who, wrong); !errors.Is(err, ErrInvalidCredentials) {
		t.Errorf("failures of long ago still count: %v", err)
	}
}

func TestThrottleForgetsTheOldestWhenFull(t *testing.T) {
	now := time.Unix(1000, 0)
	throttle := newThrottle(func() time.Time { return now })
	for i := range maxThrottled + 10 {
		now = now.Add(time.Millisecond)
		throttle.attempt(attempt{fmt.Sprint(i), ""}, wrong)
	}
	if len(throttle.failures) != maxThrottled {
		t.Errorf("%d are remembered, want %d", len(throttle.failures), maxThrottled)
	}
	if _, kept := throttle.failures[attempt{"0", ""}]; kept {
		t.Error("the oldest is still remembered")
	}
}
