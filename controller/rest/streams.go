package rest

import (
	"fmt"
	"sync"
)

const (
	streamsOfSession = 4
	streamsOfUser    = 40
	streamsMost      = 200
)

// tooManyStreams refuses a stream.
type tooManyStreams struct{ reason string }

func (e *tooManyStreams) Error() string { return e.reason }

// streams counts the streams that are open. A stream holds a goroutine and a connection for as long as its client
// wants.
type streams struct {
	ending chan struct{} // closed when this node stops

	mu     sync.Mutex
	open   map[string]int // by holder
	byUser map[string]int
	all    int
}

func newStreams() *streams {
	return &streams{ending: make(chan struct{}), open: map[string]int{}, byUser: map[string]int{}}
}

// enter opens a stream of a user for a holder: a session, or the user without one. leave closes it. Error:
// *tooManyStreams.
func (s *streams) enter(holder, user string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.open[holder] >= streamsOfSession:
		return nil, &tooManyStreams{fmt.Sprintf("%d streams of this login are open, and no more may be: close one",
			streamsOfSession)}
	case s.byUser[user] >= streamsOfUser:
		return nil, &tooManyStreams{fmt.Sprintf("%d streams of this user are open, and no more may be: close one",
			streamsOfUser)}
	case s.all >= streamsMost:
		return nil, &tooManyStreams{fmt.Sprintf("%d streams are open, and no more may be: try again later",
			streamsMost)}
	}
	s.open[holder]++
	s.byUser[user]++
	s.all++
	return func() { s.leave(holder, user) }, nil
}

func (s *streams) leave(holder, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.open[holder]--; s.open[holder] == 0 {
		delete(s.open, holder)
	}
	if s.byUser[user]--; s.byUser[user] == 0 {
		delete(s.byUser, user)
	}
}

// endAll ends all streams, and those that begin later. Call it once.
func (s *streams) endAll() { close(s.ending) }
