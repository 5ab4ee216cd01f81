package live

import "github.com/weir-lb/weir/controller/fleet"

// engine is what one engine has sent.
type engine struct {
	name    string
	works   bool
	last    *fleet.Sample
	windows [sizes]window
	fresh   [sizes]bool // it sent a sample since the last step of this size
	awaited bool        // it sent a sample in the step before, so this step waits for its next one
	due     []*service  // that it should have reported on; of an engine that sent nothing in this step
	loads   series[load]
}

func newEngine() *engine { return &engine{awaited: true} }

func (e *engine) hear(next *fleet.Sample) {
	if next == e.last {
		return
	}
	for size := range e.windows {
		e.windows[size].hear(e.last, next)
		e.fresh[size] = true
	}
	e.last = next
}

// interval is what one engine sent in the step that is being added up.
type interval struct {
	engine    string
	last      *fleet.Sample
	stretches []stretch
	seconds   float64
	counts    counts // over its virtual services
}

// load is what an engine did in the interval. CPU time is that of its data plane.
func (i *interval) load() load {
	l := load{reported: true, rssBytes: float32(i.last.GetRssBytes())}
	for at, count := range i.counts {
		l.counts[at] = float32(count)
	}
	var busyUs uint64
	for _, part := range i.stretches {
		busyUs += part.to.BusyUs()
		if part.from != nil {
			busyUs -= part.from.BusyUs()
		}
	}
	if workers := i.last.GetWorkers(); workers > 0 {
		l.cpuPercent = float32(float64(busyUs) / i.seconds / 10_000 / float64(workers))
	}
	return l
}
