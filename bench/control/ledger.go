package control

import (
	"slices"
	"sync"
	"time"
)

// change is a virtual service that gets another name, which its engine is to acknowledge.
type change struct {
	service *service
	name    string
	due     time.Time
	acked   time.Time     // valid once done is closed
	done    chan struct{} // closed when its engine has acknowledged this name, or a later one
}

// ledger knows which changes are not acknowledged yet.
type ledger struct {
	mu      sync.Mutex
	pending map[string][]*change // by uuid of the virtual service, in the order in which they were made
}

func newLedger() *ledger { return &ledger{pending: map[string][]*change{}} }

// expect notes a change that is about to be made.
func (l *ledger) expect(s *service, name string, due time.Time) *change {
	c := &change{service: s, name: name, due: due, done: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending[s.uuid] = append(l.pending[s.uuid], c)
	return c
}

// forget gives up on all changes that are not acknowledged.
func (l *ledger) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.pending)
}

// acknowledged says that an engine serves a virtual service under this name. Earlier changes of the same virtual
// service are acknowledged with it, because the controller may combine several in one Plan.
func (l *ledger) acknowledged(uuid, name string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.pending[uuid]
	upTo := slices.IndexFunc(waiting, func(c *change) bool { return c.name == name })
	for _, c := range waiting[:upTo+1] {
		c.acked = at
		close(c.done)
	}
	if l.pending[uuid] = waiting[upTo+1:]; len(l.pending[uuid]) == 0 {
		delete(l.pending, uuid)
	}
}
