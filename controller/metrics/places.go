package metrics

import (
	"context"
	"errors"

	"github.com/weir-lb/weir/controller/series"
)

const (
	queriesAtOnce = 3
	queriesQueued = 8
)

// places limits how many queries run and wait. More are refused: one user's queries must not hold up those of others
// for long.
type places struct{ all, running chan struct{} }

func newPlaces() places {
	return places{all: make(chan struct{}, queriesAtOnce+queriesQueued), running: make(chan struct{}, queriesAtOnce)}
}

// enter waits until the query may run. Call leave when it has ended. Errors: series.ErrBusy, series.ErrTimeout, and
// that of ctx.
func (p places) enter(ctx context.Context) (leave func(), err error) {
	select {
	case p.all <- struct{}{}:
	default:
		return nil, series.ErrBusy
	}
	select {
	case p.running <- struct{}{}:
		return func() { <-p.running; <-p.all }, nil
	case <-ctx.Done():
		<-p.all
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, series.ErrTimeout
		}
		return nil, ctx.Err()
	}
}
