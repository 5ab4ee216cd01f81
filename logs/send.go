package logs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-lb/weir/logs/wire"
)

// source is the name of the controller among those that send batches.
const source = "controller"

const (
	// sendTimeout is how long the answer to a batch may take: the store can be busy with its disk.
	sendTimeout = 90 * time.Second
	retryAfter  = 200 * time.Millisecond
)

// send gives the rows in the queue to the store until ctx ends. A batch that may have been stored is sent again as it
// was, so that the store can tell.
func (k *Keeper) send(ctx context.Context) {
	origin := wire.Origin{Source: source, Epoch: uint64(time.Now().UnixMicro()), Sequence: 1}
	for {
		rows := k.queue.batch(ctx)
		if rows == nil {
			return
		}
		if !k.sendRows(ctx, &origin, rows) {
			return
		}
	}
}

// sendRows sends rows as one batch. If the store refuses that, it sends them one by one: only the bad ones are lost. It
// returns false if ctx ended before.
func (k *Keeper) sendRows(ctx context.Context, origin *wire.Origin, rows []wire.Row) bool {
	ack, err := k.sendOne(ctx, origin, rows)
	if ctx.Err() != nil && err != nil {
		return false
	}
	origin.Sequence++
	if err != nil && len(rows) > 1 {
		k.Log.Error("the record store refuses a batch; sending its rows one by one", "rows", len(rows), "reason", err)
		for i := range rows {
			if !k.sendRows(ctx, origin, rows[i:i+1]) {
				return false
			}
		}
		return true
	}
	k.queue.settle(len(rows))
	k.note(ack, err, len(rows))
	return true
}

// sendOne sends a batch until the store has taken or refused it.
func (k *Keeper) sendOne(ctx context.Context, origin *wire.Origin, rows []wire.Row) (Ack, error) {
	for {
		limited, cancel := context.WithTimeout(ctx, sendTimeout)
		ack, err := k.client.Add(limited, *origin, rows)
		cancel()
		old, never := (*oldEpoch)(nil), (*refusal)(nil)
		switch {
		case err == nil, errors.As(err, &never), ctx.Err() != nil:
			return ack, err
		case errors.As(err, &old):
			// The clock was set back since this controller ran the last time.
			*origin = wire.Origin{Source: source, Epoch: old.newest + 1, Sequence: 1}
		default:
			wait(ctx, retryAfter)
		}
	}
}

// note counts what was not stored, and tells what was lost while the store was away.
func (k *Keeper) note(ack Ack, err error, rows int) {
	refused := ack.Refusals
	if err != nil {
		refused = rows
		k.Log.Error("the record store refuses a batch", "rows", rows, "reason", err)
	}
	for _, row := range ack.Refused {
		k.Log.Error("the record store refuses a row", "reason", row.Reason)
	}
	k.mu.Lock()
	k.refused += uint64(refused)
	k.mu.Unlock()
	k.tellLost(1)
}

// tellLostByTimer tells of lost rows also while the store takes none. One lost row may be the one that told of those
// before, and must not cause the next: it waits for others.
func (k *Keeper) tellLostByTimer(ctx context.Context) {
	for ctx.Err() == nil {
		wait(ctx, k.tellLostEvery)
		k.tellLost(2)
	}
}

// tellLost tells how many rows were lost, if there are so many.
func (k *Keeper) tellLost(least uint64) {
	if lost, since := k.queue.takeLost(least); lost > 0 {
		k.Told("RECORDS_LOST", fmt.Sprintf(
			"%d records, the first of %s, are missing from the logs: more came than wait "+
				"for a record store that is away or too slow", lost, since.Format(time.RFC3339)))
	}
}
