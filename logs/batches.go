package logs

import (
	"context"
	"errors"

	"github.com/weir-lb/weir/logs/wire"
)

// Refused says that the store will never take a batch.
type Refused struct{ Reason string }

func (e *Refused) Error() string { return "the record store refuses a batch: " + e.Reason }

// Store gives a batch of another source to the store, and returns when its rows are on disk. The rows of a batch that
// came before are not stored again. Errors: *Refused, ErrNoSpace, *Unavailable; after the latter two the same batch can
// be sent again.
func (k *Keeper) Store(ctx context.Context, origin wire.Origin, rows []wire.Row) (Ack, error) {
	if err := k.ready(ctx); err != nil {
		return Ack{}, err
	}
	limited, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	ack, err := k.client.Add(limited, origin, rows)
	old, never := (*oldEpoch)(nil), (*refusal)(nil)
	switch {
	case errors.As(err, &never):
		return ack, &Refused{never.reason}
	case errors.As(err, &old):
		return ack, &Refused{old.Error()}
	case err == nil, errors.Is(err, ErrNoSpace), ctx.Err() != nil:
	default:
		return ack, k.explain(ctx, err)
	}
	for _, row := range ack.Refused {
		k.Log.Error("the record store refuses a row", "source", origin.Source, "reason", row.Reason)
	}
	k.mu.Lock()
	k.refused += uint64(ack.Refusals)
	k.mu.Unlock()
	return ack, err
}
