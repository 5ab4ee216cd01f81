package rest

import (
	"context"
	"sync"
)

const (
	questionsAtOnce = 3 // that run, of all users
	questionsQueued = 8 // that wait, of all users
	// A user has a part of both, so that the questions of one do not hold up those of others.
	questionsAtOnceOfUser = 2
	questionsOfUser       = 6 // that run and wait
)

// crowded refuses a question.
type crowded struct{ reason string }

func (e *crowded) Error() string { return e.reason }

// turns gives users their turns at a store that answers few questions at once. A place that becomes free goes to the
// user who has the fewest, and among these to the one who has waited longest.
type turns struct {
	mu      sync.Mutex
	running map[string]int // by user
	runs    int
	waiting []*waiter // in the order of their arrival
}

type waiter struct {
	user string
	turn chan struct{} // closed when it may run
}

func newTurns() *turns { return &turns{running: map[string]int{}} }

// enter waits for the turn of a user. leave ends it. Errors: *crowded, and that of ctx.
func (t *turns) enter(ctx context.Context, user string) (leave func(), err error) {
	t.mu.Lock()
	switch {
	case t.running[user]+t.waits(user) >= questionsOfUser:
		t.mu.Unlock()
		return nil, &crowded{"too many of your queries run and wait: wait for their answers"}
	case len(t.waiting) >= questionsQueued:
		t.mu.Unlock()
		return nil, &crowded{"too many queries run and wait: try again soon"}
	}
	one := &waiter{user, make(chan struct{})}
	t.waiting = append(t.waiting, one)
	t.next()
	t.mu.Unlock()
	select {
	case <-one.turn:
	case <-ctx.Done():
		if t.giveUp(one) {
			return nil, ctx.Err()
		}
	}
	return func() { t.leave(user) }, nil
}

func (t *turns) waits(user string) (count int) {
	for _, one := range t.waiting {
		if one.user == user {
			count++
		}
	}
	return count
}

// next lets those run that may.
func (t *turns) next() {
	for t.runs < questionsAtOnce {
		best := -1
		for i, one := range t.waiting {
			if t.running[one.user] < questionsAtOnceOfUser &&
				(best < 0 || t.running[one.user] < t.running[t.waiting[best].user]) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		one := t.waiting[best]
		t.waiting = append(t.waiting[:best], t.waiting[best+1:]...)
		t.running[one.user]++
		t.runs++
		close(one.turn)
	}
}

// giveUp takes a question out of the queue; false: it has its turn already.
func (t *turns) giveUp(one *waiter) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, other := range t.waiting {
		if other == one {
			t.waiting = append(t.waiting[:i], t.waiting[i+1:]...)
			return true
		}
	}
	return false
}

func (t *turns) leave(user string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs--
	if t.running[user]--; t.running[user] == 0 {
		delete(t.running, user)
	}
	t.next()
}
