package live

import "time"

// Engines send a sample each second, each at its own moment of it. A step ends when all of them have sent their next
// one, so that each step has one sample of each engine, and a rate has no beat. A step does not wait longer than
// stepMost for an engine, and the steps after it do not wait for that engine until it is back.
const (
	stepLeast = 500 * time.Millisecond
	stepMost  = 1500 * time.Millisecond
)

// pace is when the present step began.
type pace struct{ begun time.Time }

func (p *pace) begin(now time.Time) { p.begun = now }

// wait returns how long the step still lasts at most; 0: it ends now. complete says that all engines have sent their
// next sample. If the clock was set back, the step ends.
func (p *pace) wait(now time.Time, complete bool) time.Duration {
	took := now.Sub(p.begun)
	switch {
	case took < 0:
		return 0
	case took < stepLeast:
		return stepLeast - took
	case complete:
		return 0
	default:
		return max(0, stepMost-took)
	}
}
