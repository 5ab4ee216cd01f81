package admit

import "context"

// queue limits expensive work: how much is done at the same time, and how much waits. When it is full, further work
// gets ErrBusy.
type queue struct {
	places chan struct{} // one for each entry that works or waits
	turns  chan struct{} // one for each entry that works
}

func newQueue(atOnce, waiting int) *queue {
	return &queue{places: make(chan struct{}, atOnce+waiting), turns: make(chan struct{}, atOnce)}
}

// enter takes a place; leave gives it back. Error: ErrBusy.
func (q *queue) enter() (leave func(), err error) {
	select {
	case q.places <- struct{}{}:
		return func() { <-q.places }, nil
	default:
		return nil, ErrBusy
	}
}

// work waits for a turn and calls do. If ctx ends before, it does not call do. The caller must have entered.
func (q *queue) work(ctx context.Context, do func()) error {
	select {
	case q.turns <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-q.turns }()
	do()
	return nil
}
