package intake

import (
	"context"
	"sync"
	"time"
)

const (
	// rowsPerSecond is how many records all engines together may send. The store takes more, but queries need a part.
	rowsPerSecond = 10_000
	// inFlightBytesMax bounds the records that are on their way or being stored, before compression.
	inFlightBytesMax = 8 << 20
)

// credit says who may send. Those that wait are served in the order in which they came; each engine waits once, so that
// all get the same share. It is safe for concurrent use.
type credit struct {
	now func() time.Time

	mu       sync.Mutex
	inFlight int
	rows     float64 // that may come now; below 0 after a batch that was larger
	counted  time.Time
	waiting  []*offer
}

type offer struct {
	bytes, records int
	granted        chan struct{}
}

func newCredit(now func() time.Time) *credit {
	return &credit{now: now, rows: rowsPerSecond, counted: now()}
}

// acquire waits until a batch may come. The caller releases its bytes.
func (c *credit) acquire(ctx context.Context, bytes, records int) error {
	mine := &offer{bytes, records, make(chan struct{})}
	c.mu.Lock()
	c.waiting = append(c.waiting, mine)
	c.mu.Unlock()
	for {
		again := c.grant()
		select {
		case <-mine.granted:
			return nil
		default:
		}
		var timer <-chan time.Time
		if again > 0 {
			timer = time.After(again)
		}
		select {
		case <-mine.granted:
			return nil
		case <-timer:
		case <-ctx.Done():
			c.leave(mine)
			return ctx.Err()
		}
	}
}

// release says that a batch is stored, or will not come.
func (c *credit) release(bytes int) {
	c.mu.Lock()
	c.inFlight -= bytes
	c.mu.Unlock()
	c.grant()
}

// leave takes an offer back.
func (c *credit) leave(mine *offer) {
	c.mu.Lock()
	granted := true
	for i, one := range c.waiting {
		if one == mine {
			c.waiting, granted = append(c.waiting[:i:i], c.waiting[i+1:]...), false
			break
		}
	}
	c.mu.Unlock()
	if granted {
		c.release(mine.bytes)
	}
}

// grant serves those that wait, as far as it can. It returns when it can go on; 0: when a batch is stored.
func (c *credit) grant() (again time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	passed := max(0, now.Sub(c.counted).Seconds()) // the clock may be set back
	c.counted = now
	c.rows = min(rowsPerSecond, c.rows+rowsPerSecond*passed)
	for len(c.waiting) > 0 {
		first := c.waiting[0]
		if c.inFlight > 0 && c.inFlight+first.bytes > inFlightBytesMax {
			return 0
		}
		if c.rows <= 0 {
			return time.Duration((1 - c.rows) / rowsPerSecond * float64(time.Second))
		}
		c.inFlight += first.bytes
		c.rows -= float64(first.records)
		c.waiting = c.waiting[1:]
		close(first.granted)
	}
	return 0
}
