package route

const (
	// silenceMax is how many beats may pass without a Sample. A Sample comes with each beat.
	silenceMax = 3
	// absenceMax is how many beats a data plane may be away. A data plane that died is usually back within a fraction
	// of a beat, and its clients wait in the sockets. To withdraw its routes in that time would only move clients away.
	absenceMax = 2
)

// Dataplane is the state that the data plane reports.
type Dataplane uint8

const (
	Away   Dataplane = iota // it does not run
	Idle                    // it runs, and has no Plan
	Serves                  // a Plan
)

// heartbeat tells whether the data plane serves. It counts beats and reads no clock, so that an agent that was frozen
// itself does not blame the data plane.
type heartbeat struct {
	serving bool // it says so
	silence int  // beats since it last showed that it does
	never   bool // it never has
}

func newHeartbeat() heartbeat { return heartbeat{never: true} }

func (h *heartbeat) status(dataplane Dataplane) {
	serving := dataplane == Serves
	if serving != h.serving {
		h.silence = 0
	}
	h.serving = serving
	h.never = h.never && !serving
}

func (h *heartbeat) sampled() {
	if h.serving {
		h.silence = 0
	}
}

func (h *heartbeat) beat() { h.silence++ }

// alive is true while signs of life come. A data plane that applies a Plan may be silent; its supervisor ends it if
// that takes too long.
func (h *heartbeat) alive(applying bool) bool {
	switch {
	case h.never:
		return false
	case h.serving:
		return applying || h.silence < silenceMax
	default:
		return h.silence < absenceMax
	}
}
