// Package cloud starts the engines that groups need, and retires those that groups need no more. place finds how many
// engines a group needs.
//
// decide.go is pure: it turns needs, instances and places into tasks. size.go finds how many engines a group has too
// many or too few, lack.go tells operators why engines are missing, and fail.go handles tasks that fail. instance.go is
// the record in the store. keeper.go does the I/O: it writes instances, runs tasks and adds events. A Cloud starts and
// ends engines; process/, linux/ and lab/engines implement it. Nothing here decides which engine serves what.
//
// It belongs to the leader. The next leader finds the instances in the store; the rest is in memory (decide.go).
package cloud

import (
	"context"
	"net"
)

// Cloud starts and ends engines. Its methods may be called at the same time, for different engines.
type Cloud interface {
	// List returns every place for an engine, taken or not, at most PlacesMax of them.
	List(ctx context.Context) ([]Place, error)
	// Create starts the engine of a place: a new one, or one that has stopped there. Create returns once the agent
	// runs; the agent then joins by itself. Operators read the error.
	Create(ctx context.Context, engine string, join Join) error
	// Retire ends the engine of a place, gracefully if possible, and removes what it leaves behind. If there is no
	// engine, Retire returns no error.
	Retire(ctx context.Context, engine string) error
}

// PlacesMax is the number of places of one cloud that are used.
const PlacesMax = 1000

// Place is where one engine can run. The engine has the name of its place.
type Place struct {
	Engine  string
	Zone    string // availability zone; empty: unknown
	State   PlaceState
	Problem string // why State is Unknown, or the last output of an engine that has Stopped
}

// PlaceState says what is in a place.
type PlaceState int

const (
	Free    PlaceState = iota
	Stopped            // an engine was started there, and does not run
	Running
	Unknown // the cloud cannot tell now: no engine is started there
)

// Join is what an engine needs to connect to its controller.
type Join struct {
	Controller string // host:port; the host is empty where the controller listens on all of its addresses
	Token      string // join token
}

// Address returns the address at which the engine reaches the controller. If the controller listens on all of its
// addresses, that is host.
func (j Join) Address(host string) string {
	given, port, err := net.SplitHostPort(j.Controller)
	if err != nil || given != "" {
		return j.Controller
	}
	return net.JoinHostPort(host, port)
}
