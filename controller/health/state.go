// Package health says what is up, and why something is not: engines, servers, pools and virtual services. Each state
// is a type; the rules by which one state follows from others are here, and pure.
//
// fleet gathers what the rules ask for, from what engines told it. runtime shows the states as Avi does, and events
// compares them with those of before.
package health

// State is whether something works.
type State int

const (
	Unknown      State = iota // nobody can tell
	Up                        // it works
	Down                      // it does not work
	Disabled                  // an operator wants it so
	Initializing              // it was not checked yet, or its configuration is being read
	Unused                    // nothing that is served uses it
	NoResources               // there is no engine for it
)

// Status is a state, and why it is this one.
type Status struct {
	State   State
	Reasons []string
}

func status(state State, reasons ...string) Status { return Status{state, reasons} }
