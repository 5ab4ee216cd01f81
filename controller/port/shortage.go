package port

import (
	"fmt"
	"sync"
	"time"

	"github.com/weir-lb/weir/controller/events"
)

// tellInterval is the time between two events about the same shortage.
const tellInterval = time.Minute

// shortage counts the connections that a full room closed or refused, and adds events about them: one when the shortage
// begins, then one in each interval.
type shortage struct {
	room   string
	places int
	events *events.Log

	mu      sync.Mutex
	lasts   bool // the shortage goes on, and a timer calls again
	evicted int  // since the last event
	turned  int
	most    string // the holder whose connection was closed last, and the places that it held
}

// closed counts a connection that was closed to make room for another.
func (s *shortage) closed(holder string, held int) {
	s.count(func() { s.evicted, s.most = s.evicted+1, fmt.Sprintf("%s, which held %d", holder, held) })
}

// refused counts a connection for which there was no place.
func (s *shortage) refused() { s.count(func() { s.turned++ }) }

func (s *shortage) count(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
	if !s.lasts {
		s.lasts = true
		s.tell()
		time.AfterFunc(tellInterval, s.again)
	}
}

func (s *shortage) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lasts = s.evicted+s.turned > 0; s.lasts {
		s.tell()
		time.AfterFunc(tellInterval, s.again)
	}
}

func (s *shortage) tell() {
	message := fmt.Sprintf(
		"%s: all %d connections are in use; closed to make room, while they waited for their clients: %d, refused: %d",
		s.room, s.places, s.evicted, s.turned)
	if s.most != "" {
		message += "; the last one closed belonged to " + s.most
	}
	s.evicted, s.turned, s.most = 0, 0, ""
	if s.events != nil {
		s.events.Add(events.Entry{ID: "CONTROLLER_CONNECTIONS_SHORT", Kind: "CONTROLLER", Name: s.room, Tenant: "admin",
			Message: message})
	}
}
