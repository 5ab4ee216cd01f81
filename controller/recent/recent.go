// Package recent keeps the newest of something in memory: audit entries, events. The oldest goes first.
package recent

import (
	"slices"
	"sync"
)

// Ring holds at most so many. It is safe for concurrent use.
type Ring[T any] struct {
	most int

	mu      sync.Mutex
	entries []T
	next    int // where the oldest is, once entries is full
}

// NewRing is empty, and holds at most most.
func NewRing[T any](most int) *Ring[T] { return &Ring[T]{most: most} }

// Add puts one in; where the ring is full, in the place of the oldest.
func (r *Ring[T]) Add(entry T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.entries) < r.most {
		r.entries = append(r.entries, entry)
		return
	}
	r.entries[r.next] = entry
	r.next = (r.next + 1) % r.most
}

// NewestFirst are all that it holds.
func (r *Ring[T]) NewestFirst() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := append(slices.Clone(r.entries[r.next:]), r.entries[:r.next]...)
	slices.Reverse(all)
	return all
}
