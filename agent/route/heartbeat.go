package route

const (
	// silenceMax is how many beats may pass without a Sample, which come once a beat.
	silenceMax = 3
	// absenceMax is how many beats a data plane may be away. One that died is back within a fraction of one, and its
	// clients wait in its sockets that long; taking its routes away would send them off for nothing.
	absenceMax = 2
)

// Dataplane is what the data plane says of itself.
type Dataplane uint8

const (
	Away   Dataplane = iota // it does not run
	Idle                    // it runs, and has no Plan
	Serves                  // a Plan
)

// heartbeat tells whether the data plane serves. Beats are counted, not read off a clock, so that an agent that was
// frozen itself does not blame the data plane for it.
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

// alive is true while the heart beats. A data plane that is given a Plan may be silent for as long as it takes to
// build: its supervisor ends it when that is too long.
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
