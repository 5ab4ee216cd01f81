package backoff

import (
	"testing"
	"time"
)

func TestWaitsLongerUpToItsLimitAfterTheFreeTries(t *testing.T) {
	b := Backoff{Free: 2, First: 100 * time.Millisecond, Most: 500 * time.Millisecond}
	for try, most := range []time.Duration{0, 0, 100, 200, 400, 500, 500, 500} {
		most *= time.Millisecond
		if wait := b.Next(); wait < most/2 || wait > most {
			t.Errorf("try %d: waits %v, want between %v and %v", try, wait, most/2, most)
		}
	}
	b.Reset()
	if wait := b.Next(); wait != 0 {
		t.Errorf("after a reset: waits %v", wait)
	}
}

func TestStaysAtItsLimitHoweverLongItFails(t *testing.T) {
	b := Backoff{First: time.Millisecond, Most: time.Second}
	for range 100_000 {
		if wait := b.Next(); wait < 0 || wait > time.Second {
			t.Fatalf("waits %v", wait)
		}
	}
}
