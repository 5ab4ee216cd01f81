// Package backoff says how long to wait before the next attempt: first not at all, then longer and longer up to a
// limit. Jitter keeps clients that failed together from retrying together. The package itself never waits.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Backoff counts failed attempts in a row. It is not safe for concurrent use.
type Backoff struct {
	Free  int           // tries that come at once
	First time.Duration // before the first try that does not
	Most  time.Duration
	tries int
}

// Next returns the wait before the next attempt: a random time between half and all of a span that doubles each time.
func (b *Backoff) Next() time.Duration {
	b.tries++
	if b.tries <= b.Free {
		return 0
	}
	wait := b.First
	for range b.tries - b.Free - 1 {
		if wait = 2 * wait; wait >= b.Most {
			wait, b.tries = b.Most, b.tries-1
			break
		}
	}
	return wait/2 + rand.N(wait/2+1)
}

// Reset says that a try has lasted.
func (b *Backoff) Reset() {
	b.tries = 0
}
