package live

import "github.com/weir-lb/weir/controller/fleet"

// A window is what one engine counts in one step, or in one coarse step.
type window struct {
	beganMs uint64        // by the engine's clock; 0: the window has not begun
	begun   *fleet.Sample // what the process had counted by then; nil: nothing
	ended   []stretch     // of processes that ended within the window
}

// A stretch is between two samples of one process; from is nil if the process had counted nothing by then.
type stretch struct{ from, to *fleet.Sample }

// Windows that last longer contain a time in which the engine sent nothing. They are dropped: such a time is a gap.
const (
	stepGapMs   = 3_000
	coarseGapMs = 8_000
)

// hear takes the next sample of the engine into the window; last is the one before, nil if there is none.
func (w *window) hear(last, next *fleet.Sample) {
	switch {
	case w.beganMs == 0 || next.GetUnixMs() <= w.beganMs: // also if its clock was set back
		*w = window{beganMs: next.GetUnixMs(), begun: next}
	case next.Process() != last.Process():
		w.ended = append(w.ended, stretch{w.begun, last})
		w.begun = nil
	}
}

// close ends the window at a sample, and begins the next one. seconds is its length by the engine's clock; 0: it has
// just begun, or it is dropped.
func (w *window) close(at *fleet.Sample, gapMs uint64) (stretches []stretch, seconds float64) {
	lengthMs := at.GetUnixMs() - w.beganMs
	if lengthMs > 0 && lengthMs <= gapMs {
		stretches, seconds = append(w.ended, stretch{w.begun, at}), float64(lengthMs)/1000
	}
	*w = window{beganMs: at.GetUnixMs(), begun: at}
	return stretches, seconds
}
