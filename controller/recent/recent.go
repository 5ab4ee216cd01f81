// Package recent keeps the newest entries of a list in memory: audit entries, events. It drops the oldest first.
package recent

import (
	"slices"
	"sync"
)

// Ring holds a limited number of entries. It is safe for concurrent use.
type Ring[T any] struct {
	most int

	mu      sync.Mutex
	entries []T
	next    int // position of the oldest entry, once entries is full
}

// NewRing returns an empty ring that holds at most most entries.
func NewRing[T any](most int) *Ring[T] { return &Ring[T]{most: most} }

// Add adds an entry. If the ring is full, the entry replaces the oldest one.
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

// NewestFirst returns all entries.
func (r *Ring[T]) NewestFirst() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := append(slices.Clone(r.entries[r.next:]), r.entries[:r.next]...)
	slices.Reverse(all)
	return all
}
