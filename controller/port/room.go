// Package port limits the connections to a port of the controller. Each connection holds one place of a room until it
// is closed. If a room is full, it closes a connection that only waits for its client, and gives the place to the new
// connection. So clients that hold connections without using them keep nobody out. The package does not read what
// clients send: rest and link say when they work for a connection.
//
// room.go decides which connection is closed; conn.go wraps the socket; shortage.go adds events for operators.
package port

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/controller/events"
)

// ErrFull says that the room has no free place, and that the controller works for every connection in it.
var ErrFull = errors.New("too many connections")

// Bounds are the number of places of a room, and the share of one holder. A full room first closes connections of
// holders that have more than their share. A holder may have more as long as the room has free places.
type Bounds struct{ Places, Share int }

// Within lowers the bounds so that a room uses at most the given part (1/part) of the file descriptors of this process.
func (b Bounds) Within(part int) Bounds {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil && limit.Cur/uint64(part) < uint64(b.Places) {
		b.Places = max(1, int(limit.Cur)/part)
		b.Share = min(b.Share, max(1, b.Places/8))
	}
	return b
}

// Room is a limited number of places. It is safe for concurrent use. Each node has its own rooms.
type Room struct {
	bounds   Bounds
	shortage *shortage

	mu      sync.Mutex
	places  map[*place]struct{}
	holders map[string]*holder // that hold at least one place
}

// NewRoom returns an empty room. Its name appears in events; events may be nil.
func NewRoom(name string, bounds Bounds, events *events.Log) *Room {
	return &Room{bounds: bounds, shortage: &shortage{room: name, places: bounds.Places, events: events},
		places: map[*place]struct{}{}, holders: map[string]*holder{}}
}

// holder is an address or an engine that holds places.
type holder struct {
	name string
	held int
}

// place is held by one connection. mu of the room guards its fields.
type place struct {
	room    *Room
	holder  *holder
	conn    *Conn
	works   int       // requests that the controller works for now
	known   bool      // a user has logged in over the connection
	waiting time.Time // if works is 0: since when the connection waits for its client
}

// take gives conn a place. If the room is full, take closes another connection for it. Error: ErrFull.
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

// first returns the place to take back next; nil: the controller works for all connections.
func (r *Room) first() *place {
	var first *place
	for candidate := range r.places {
		if candidate.works == 0 && (first == nil || candidate.goesBefore(first, r.bounds.Share)) {
			first = candidate
		}
	}
	return first
}

// goesBefore tells which of two places is taken back first: the one whose holder is further above the share; then the
// one without a login; then the one that has waited longer. Bytes that the client sends without completing its request
// do not end the wait.
func (p *place) goesBefore(other *place, share int) bool {
	if mine, theirs := max(p.holder.held, share), max(other.holder.held, share); mine != theirs {
		return mine > theirs
	}
	if p.known != other.known {
		return other.known
	}
	return p.waiting.Before(other.waiting)
}

// forget takes a place back. A second call does nothing.
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
