package store

import (
	"context"
	"errors"
)

const (
	queriesMax = 3 // that run at once; rest gives no user more than two of them
	queueMax   = 8 // that wait
)

var errQueueFull = errors.New("too many queries of logs run and wait: try again soon")

// gate lets a few queries run at once, and a few more wait.
type gate struct {
	places  chan struct{} // of all queries
	running chan struct{}
}

func newGate() *gate {
	return &gate{make(chan struct{}, queriesMax+queueMax), make(chan struct{}, queriesMax)}
}

// enter waits for a place. The caller calls leave at the end.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	select {
	case g.places <- struct{}{}:
	default:
		return nil, errQueueFull
	}
	select {
	case g.running <- struct{}{}:
		return func() { <-g.running; <-g.places }, nil
	case <-ctx.Done():
		<-g.places
		return nil, ctx.Err()
	}
}
