package port

import (
	"fmt"
	"sync"
	"time"

	"github.com/weir-lb/weir/controller/events"
)

// tellInterval is how often operators hear of a shortage that goes on.
const tellInterval = time.Minute

// shortage counts what a full room did, and tells of it: at once when it begins, then once in an interval.
type shortage struct {
	room   string
	places int
	events *events.Log

	mu      sync.Mutex
	lasts   bool // and somebody will look again after the interval
	evicted int  // since it was told of last
	turned  int
	most    string // the holder of the one closed last, with what it held
}

// closed counts a connection that was closed for another one.
func (s *shortage) closed(holder string, held int) {
	s.count(func() { s.evicted, s.most = s.evicted+1, fmt.Sprintf("%s, which held %d", holder, held) })
}

// refused counts a connection that found no place.
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
		"%s: all %d connections that may be are there; closed for others while they waited for their clients: %d, refused: %d",
		s.room, s.places, s.evicted, s.turned)
	if s.most != "" {
		message += "; the last one closed was of " + s.most
	}
	s.evicted, s.turned, s.most = 0, 0, ""
	if s.events != nil {
		s.events.Add(events.Entry{ID: "CONTROLLER_CONNECTIONS_SHORT", Kind: "CONTROLLER", Name: s.room, Tenant: "admin",
			Message: message})
	}
}
