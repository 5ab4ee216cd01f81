// Package port shares out what a port of the controller has: each connection holds one place of a room, until it
// closes. Where a room is full, one that only waits for its client is closed for the one that comes, so that whoever
// holds connections and does nothing with them keeps nobody out. It knows nothing of what is said over a connection:
// rest and link say when they work for one.
//
// room.go decides who has to go; conn.go is the socket around it; shortage.go tells operators.
package port

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/controller/events"
)

// ErrFull says that every place is held by a connection that is worked for.
var ErrFull = errors.New("too many connections")

// Bounds are how many connections a room has places for, and how many of one holder are its share: who has more goes
// first where places are short. Where they are not, a holder may have them all.
type Bounds struct{ Places, Share int }

// Within are the bounds where a room may take no more than one part in so many of this process's descriptors.
func (b Bounds) Within(part int) Bounds {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil && limit.Cur/uint64(part) < uint64(b.Places) {
		b.Places = max(1, int(limit.Cur)/part)
		b.Share = min(b.Share, max(1, b.Places/8))
	}
	return b
}

// Room is a bounded number of places. It is safe for concurrent use. It is of one node: each node bounds its own
// connections.
type Room struct {
	bounds   Bounds
	shortage *shortage

	mu      sync.Mutex
	places  map[*place]struct{}
	holders map[string]*holder // those that hold a place
}

// NewRoom is empty. Operators know it by its name; events may be nil.
func NewRoom(name string, bounds Bounds, events *events.Log) *Room {
	return &Room{bounds: bounds, shortage: &shortage{room: name, places: bounds.Places, events: events},
		places: map[*place]struct{}{}, holders: map[string]*holder{}}
}

// holder is who has places: an address, or an engine.
type holder struct {
	name string
	held int
}

// place is held by one connection. Its fields are guarded by mu of the room.
type place struct {
	room    *Room
	holder  *holder
	conn    *Conn
	works   int       // requests of it that the controller works at
	known   bool      // somebody has logged in over it
	waiting time.Time // since when it waits for its client, where there is no work
}

// take has conn hold a place, if need be that of another connection, which is closed. Error: ErrFull.
func (r *Room) take(name string, conn *Conn) (*place, error) {
	r.mu.Lock()
	var evicted *place
	if len(r.places) >= r.bounds.Places {
		if evicted = r.first(); evicted == nil {
			r.mu.Unlock()
			r.shortage.refused()
			return nil, ErrFull
		}
		r.shortage.closed(evicted.holder.name, evicted.holder.held)
		r.forget(evicted)
	}
	if r.holders[name] == nil {
		r.holders[name] = &holder{name: name}
	}
	taken := &place{room: r, holder: r.holders[name], conn: conn, waiting: time.Now()}
	taken.holder.held++
	r.places[taken] = struct{}{}
	r.mu.Unlock()
	if evicted != nil {
		evicted.conn.Close()
	}
	return taken, nil
}

// first is the one that goes first; nil: all are worked for.
func (r *Room) first() *place {
	var first *place
	for candidate := range r.places {
		if candidate.works == 0 && (first == nil || candidate.goesBefore(first, r.bounds.Share)) {
			first = candidate
		}
	}
	return first
}

// goesBefore: of who is furthest above its share; of whom nobody has logged in; what waits longest. What a client sends
// without ending its request does not make it wait less.
func (p *place) goesBefore(other *place, share int) bool {
	if mine, theirs := max(p.holder.held, share), max(other.holder.held, share); mine != theirs {
		return mine > theirs
	}
	if p.known != other.known {
		return other.known
	}
	return p.waiting.Before(other.waiting)
}

// forget takes a place back, once.
func (r *Room) forget(p *place) {
	if _, held := r.places[p]; !held {
		return
	}
	delete(r.places, p)
	if p.holder.held--; p.holder.held == 0 {
		delete(r.holders, p.holder.name)
	}
}

func (p *place) giveBack() {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	p.room.forget(p)
}

func (p *place) work() {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	p.works++
}

func (p *place) rest() {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	if p.works--; p.works == 0 {
		p.waiting = time.Now()
	}
}

func (p *place) trust() {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	p.known = true
}
