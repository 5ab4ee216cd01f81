package health

import enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"

// Engine is the state of an engine, as its controller sees it.
type Engine int

const (
	Unheard  Engine = iota // it has not connected since this controller began
	Starting               // connected; its data plane is about to run for the first time that this controller sees
	Serving                // connected; its data plane runs
	Halted                 // connected; its data plane does not run any more, or did not come up
	Away                   // its session ended
)

// IsConnected tells whether the engine has a session.
func (e Engine) IsConnected() bool { return e == Starting || e == Serving || e == Halted }

// Connected is the state that follows when a session begins, by what the data plane does.
func (e Engine) Connected(dataplane enginev1.DataplaneState) Engine {
	switch dataplane {
	case enginev1.DataplaneState_DATAPLANE_STATE_RUNNING:
		return Serving
	case enginev1.DataplaneState_DATAPLANE_STATE_STARTING, enginev1.DataplaneState_DATAPLANE_STATE_UNSPECIFIED:
		if e == Unheard || e == Starting {
			return Starting
		}
	}
	return Halted
}

// Reported is the state that follows when the engine says what its data plane does now. Without a session nothing
// follows.
func (e Engine) Reported(dataplane enginev1.DataplaneState) Engine {
	if !e.IsConnected() {
		return e
	}
	return e.Connected(dataplane)
}

// Disconnected is the state that follows when the session of an engine ends.
func (e Engine) Disconnected() Engine {
	if e == Unheard {
		return Unheard
	}
	return Away
}

// Turn is what a change of an engine's state means to who counts on it.
type Turn int

const (
	NoTurn   Turn = iota
	CameUp        // it serves now
	WentDown      // it does not serve, and is not starting for the first time
)

// TurnTo compares the state with the next one.
func (e Engine) TurnTo(next Engine) Turn {
	isDown := func(state Engine) bool { return state == Halted || state == Away }
	switch {
	case next == Serving && e != Serving:
		return CameUp
	case isDown(next) && !isDown(e):
		return WentDown
	default:
		return NoTurn
	}
}
