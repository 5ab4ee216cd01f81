// Package backoff says how long to wait before the next try: not at all at first, then longer and longer up to a
// limit, with jitter so that many who failed together do not come back together. It waits for nobody itself.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Backoff counts the tries that failed in a row. Not for concurrent use.
type Backoff struct {
	Free  int           // tries that come at once
	First time.Duration // before the first try that does not
	Most  time.Duration
	tries int
}

// Next returns the wait before the next try, between half and all of what doubles with each.
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
