package health

import enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"

// Engine is the state of an engine, as the controller sees it.
type Engine int

const (
	Unheard  Engine = iota // it has not connected since this controller started
	Starting               // connected; its data plane has not run yet since this controller started, but is about to
	Serving                // connected; its data plane runs
	Halted                 // connected; its data plane has stopped or failed to start
	Away                   // its session ended
)

// IsConnected tells whether the engine has a session.
func (e Engine) IsConnected() bool { return e == Starting || e == Serving || e == Halted }

// Connected returns the state after a session begins. It depends on the state of the data plane.
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

// Reported returns the state after the engine reports the state of its data plane. Without a session, the state stays.
func (e Engine) Reported(dataplane enginev1.DataplaneState) Engine {
	if !e.IsConnected() {
		return e
	}
	return e.Connected(dataplane)
}

// Disconnected returns the state after the session of an engine ends.
func (e Engine) Disconnected() Engine {
	if e == Unheard {
		return Unheard
	}
	return Away
}

// Turn tells whether a change of state starts or ends the service of an engine.
type Turn int

const (
	NoTurn   Turn = iota
	CameUp        // it serves now
	WentDown      // it does not serve now, and is not starting for the first time
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
