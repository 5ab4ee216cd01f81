package logs

import (
	"context"
	"sync"
	"time"

	"github.com/weir-lb/weir/logs/wire"
)

// Limits of the rows that wait for the store. A row beyond them is lost, and counted.
const (
	waitingRowsMax  = 20_000
	waitingBytesMax = 32 << 20
)

// Limits of a batch, far below those of wire.
const (
	batchRowsMax  = 1_000
	batchBytesMax = 4 << 20
)

// queue holds rows until they are stored. It is safe for concurrent use, and nobody waits to add to it.
type queue struct {
	mu      sync.Mutex
	rows    []wire.Row // also those on their way
	bytes   int
	added   uint64        // rows ever
	settled uint64        // rows that left again: stored or refused
	changed chan struct{} // closed at the next change

	lost      uint64    // rows ever that found no room
	lostSince time.Time // since the last call of takeLost; zero: none
	lostNow   uint64    // since then
}

func newQueue() *queue { return &queue{changed: make(chan struct{})} }

func (q *queue) add(row wire.Row) {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := row.Size()
	if len(q.rows) == waitingRowsMax || q.bytes+size > waitingBytesMax {
		q.lost++
		q.lostNow++
		if q.lostSince.IsZero() {
			q.lostSince = row.Time
		}
		return
	}
	q.rows = append(q.rows, row)
	q.bytes += size
	q.added++
	q.wake()
}

func (q *queue) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// batch returns the oldest rows, and waits for the first. They stay in the queue until settle.
func (q *queue) batch(ctx context.Context) []wire.Row {
	for {
		q.mu.Lock()
		count, bytes := 0, 0
		for count < min(len(q.rows), batchRowsMax) && bytes < batchBytesMax {
			bytes += q.rows[count].Size()
			count++
		}
		rows, changed := q.rows[:count:count], q.changed
		q.mu.Unlock()
		if count > 0 {
			return rows
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// settle drops the oldest rows.
func (q *queue) settle(count int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, row := range q.rows[:count] {
		q.bytes -= row.Size()
	}
	q.rows = append([]wire.Row(nil), q.rows[count:]...)
	q.settled += uint64(count)
	q.wake()
}

// flush waits until the rows that are in the queue now have left it.
func (q *queue) flush(ctx context.Context) error {
	q.mu.Lock()
	wanted := q.added
	q.mu.Unlock()
	for {
		q.mu.Lock()
		settled, changed := q.settled, q.changed
		q.mu.Unlock()
		if settled >= wanted {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (q *queue) counts() (waiting int, lost uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.rows), q.lost
}

// takeLost returns how many rows were lost since they were taken last, and the time of the first. It takes none if
// there are fewer than least.
func (q *queue) takeLost(least uint64) (rows uint64, since time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lostNow < least {
		return 0, time.Time{}
	}
	rows, since = q.lostNow, q.lostSince
	q.lostNow, q.lostSince = 0, time.Time{}
	return rows, since
}
