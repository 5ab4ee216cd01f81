package admit

import "context"

// queue bounds work that is hard on processor and memory: how much is done at once, and how much waits for its turn.
// One more is told ErrBusy.
type queue struct {
	places chan struct{} // taken by who works or waits
	turns  chan struct{} // taken by who works
}

func newQueue(atOnce, waiting int) *queue {
	return &queue{places: make(chan struct{}, atOnce+waiting), turns: make(chan struct{}, atOnce)}
}

// enter takes a place, to be given back with leave; error: ErrBusy.
func (q *queue) enter() (leave func(), err error) {
	select {
	case q.places <- struct{}{}:
		return func() { <-q.places }, nil
	default:
		return nil, ErrBusy
	}
}

// work does something for who has entered, when it is its turn or not at all when ctx ends before.
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
