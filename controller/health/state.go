// Package health defines the states of engines, servers, pools and virtual services, and the rules that derive one
// state from others. It is pure.
//
// fleet collects the facts that the rules need. runtime shows the states in Avi's shape, and events compares them with
// earlier ones.
package health

// State is whether something works.
type State int

const (
	Unknown      State = iota // there is no report about it
	Up                        // it works
	Down                      // it does not work
	Disabled                  // an operator has disabled it
	Initializing              // it was not checked yet, or its configuration is being read
	Unused                    // no engine serves anything that uses it
	NoResources               // there is no engine for it
)

// Status is a state and the reasons for it.
type Status struct {
	State   State
	Reasons []string
}

func status(state State, reasons ...string) Status { return Status{state, reasons} }
