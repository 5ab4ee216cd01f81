// Package cloud starts the engines that groups shall have, and retires those that nobody needs any more: what closes
// the gap that place finds.
//
// decide.go is pure: needs, instances and places in, tasks out. size.go finds what a group has too much or too little
// of, lack.go says why it stays so; fail.go is what follows when a task fails. instance.go is what is remembered in
// the store. keeper.go is the rim: it writes instances, runs tasks, tells events. A Cloud does the starting; process/
// and linux/ are two of them, lab/engines is a third. Nothing here decides who serves what.
//
// It belongs to the leader. What the next leader needs is in the store, as instances; the rest is memory (decide.go).
package cloud

import (
	"context"
	"net"
)

// Cloud starts and ends engines. Its methods may be called at the same time, for different engines.
type Cloud interface {
	// List is every place that an engine may have, taken or not, at most PlacesMax of them.
	List(ctx context.Context) ([]Place, error)
	// Create starts the engine of a place: a new one, or again one that has stopped there. It returns once the agent runs,
	// which then has to join by itself. An error is what an operator reads.
	Create(ctx context.Context, engine string, join Join) error
	// Retire ends the engine of a place, in good order if it can, and removes what it leaves. None there is no error.
	Retire(ctx context.Context, engine string) error
}

// PlacesMax of one cloud are looked at.
const PlacesMax = 1000

// Place is where one engine may be. The engine is called like its place.
type Place struct {
	Engine  string
	Zone    string // availability zone; empty: none is known
	State   PlaceState
	Problem string // why State is Unknown, or what one that has Stopped said last
}

// PlaceState says what is in a place.
type PlaceState int

const (
	Free    PlaceState = iota
	Stopped            // an engine was started there, and does not run
	Running
	Unknown // it cannot be told now: nothing is started there
)

// Join is how an engine gets to its controller.
type Join struct {
	Controller string // host:port; the host is empty where the controller listens on all of its addresses
	Token      string // one-time
}

// Address is the controller's as the engine reaches it; host is what reaches it where it listens on all of its
// addresses.
func (j Join) Address(host string) string {
	given, port, err := net.SplitHostPort(j.Controller)
	if err != nil || given != "" {
		return j.Controller
	}
	return net.JoinHostPort(host, port)
}
