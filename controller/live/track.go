package live

// point is what the ring keeps of one step of a virtual service, or of a sum of them: 80 bytes.
type point struct {
	engines, missing uint16
	counts           [countsNumber]float32
	times            [timesNumber]float32 // times[p50] is NaN if no request ended
}

func (p point) isGap() bool { return p.engines == 0 }

func (p point) isIdle() bool { return p.counts == [countsNumber]float32{} }

// load is what the ring keeps of one step of an engine.
type load struct {
	reported   bool
	counts     [countsNumber]float32
	cpuPercent float32 // CPU time in percent of what its workers could use
	rssBytes   float32
}

func (l load) isGap() bool { return !l.reported }

// isIdle is false: the memory of an engine is of interest also while nobody uses the engine.
func (l load) isIdle() bool { return false }

// shot is a point or a load.
type shot interface {
	isGap() bool
	isIdle() bool
}

// A track has one shot for each of the last steps. While nothing happens, it needs no memory.
type track[S shot] struct {
	shots []S // by the number of the step, modulo their number; nil: all are idle or a gap
	first int // number of the first step that it took
	quiet int // number of the last steps in a row that were idle, at most as many as it can hold
	idle  S   // the last idle one
}

// put takes the shot of a step. Each step has one.
func (t *track[S]) put(step, length int, s S) {
	if t.first == 0 {
		t.first = step
	}
	switch {
	case s.isGap():
		t.quiet = 0
	case s.isIdle():
		t.quiet, t.idle = min(t.quiet+1, length), s
	default:
		if t.shots == nil {
			t.wake(step, length)
		}
		t.quiet = 0
	}
	if t.shots != nil {
		t.shots[step%length] = s
	}
	if t.quiet == length {
		t.shots = nil
	}
}

// wake makes room for shots, and notes the idle ones before this step.
func (t *track[S]) wake(step, length int) {
	t.shots = make([]S, length)
	for ago := 1; ago <= min(t.quiet, length-1); ago++ {
		t.shots[(step-ago)%length] = t.idle
	}
}

// at returns the shot of one of the last steps; newest is the number of the last step that all tracks took.
func (t *track[S]) at(step, newest, length int) (s S) {
	switch {
	case t.first == 0 || step < t.first:
		return s
	case t.shots != nil:
		return t.shots[step%length]
	case newest-step < t.quiet:
		return t.idle
	}
	return s
}
