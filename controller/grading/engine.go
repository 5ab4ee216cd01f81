package grading

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/model"
)

// engine is what was seen of an engine.
type engine struct {
	facts  score.Engine // of the last look
	last   *fleet.Sample
	window window[enginePoint]
}

type enginePoint struct {
	up            bool
	busy          float64 // CPU time in percent of what the workers can use; -1: unknown
	places, bytes float64 // clients sent away for want of a place, and for want of memory
}

// The causes under which a data plane counts clients that it sends away.
var (
	wantOfPlaces = []string{"engine_evicted", "engine_refused", "engine_sessions"}
	wantOfMemory = []string{"engine_memory"}
)

// cpuPoints are those of a minute.
const cpuPoints = 4

// engine looks at an engine and grades it. Engines have no analytics profile, so the defaults count.
func (g *Grades) engine(known *fleet.Known, of *model.Engine) score.Score {
	e := g.engines[of.UUID]
	if e == nil {
		e = &engine{}
		g.engines[of.UUID] = e
	}
	is := known.Engine(of.UUID)
	e.facts = score.Engine{
		Name: of.Name, Profile: score.Profile(nil), State: health.Up,
		Anomalies: g.unusual(of.UUID),
	}
	switch {
	case of.EnableState != "SE_STATE_ENABLED":
		e.facts.State, e.facts.Reason = health.Disabled, "enable_state is "+of.EnableState
	case is == nil:
		e.facts.State, e.facts.Reason = health.Down, "has not connected yet"
	case !is.Works():
		e.facts.State, e.facts.Reason = health.Down, is.WhyDown()
	}
	e.look(is)
	e.sum()
	if is != nil && is.Sample != nil {
		if memory := is.Resources.GetMemoryBytes(); memory > 0 {
			e.facts.MemoryPercent = 100 * float64(is.Sample.GetRssBytes()) / float64(memory)
		}
	}
	return score.OfEngine(&e.facts)
}

// look adds a point to the window, which begins when the engine works.
func (e *engine) look(is *fleet.Engine) {
	if e.facts.State == health.Disabled || e.window.length == 0 && !is.Works() {
		e.window, e.last = window[enginePoint]{}, nil
		return
	}
	point := enginePoint{up: is.Works(), busy: -1}
	if is.Works() && is.Sample != nil {
		point.between(e.last, is.Sample)
		e.last = is.Sample
	}
	e.window.put(point)
}

// between takes what happened between two samples of one process.
func (p *enginePoint) between(then, now *fleet.Sample) {
	if then == nil || then.Process() != now.Process() || now.GetUnixMs() <= then.GetUnixMs() {
		return
	}
	seconds := float64(now.GetUnixMs()-then.GetUnixMs()) / 1000
	if workers := now.GetWorkers(); workers > 0 && now.BusyUs() >= then.BusyUs() {
		p.busy = float64(now.BusyUs()-then.BusyUs()) / 10_000 / seconds / float64(workers)
	}
	for _, counters := range now.GetVirtualServices() {
		before := then.Service(counters.GetUuid())
		p.places += grown(counters, before, wantOfPlaces)
		p.bytes += grown(counters, before, wantOfMemory)
	}
}

func grown(now, then *dataplanev1.VirtualServiceCounters, causes []string) float64 {
	is, was := fleet.Failures(now, causes...), fleet.Failures(then, causes...)
	if is < was { // the engine lost the virtual service and got it back: it counts again from zero
		was = 0
	}
	return float64(is - was)
}

// sum adds up the window.
func (e *engine) sum() {
	up, busy, known := 0, 0.0, 0
	for i, point := range e.window.all() {
		if point.up {
			up++
		}
		e.facts.ShortOfPlaces += point.places
		e.facts.ShortOfMemory += point.bytes
		if point.busy >= 0 && i >= e.window.length-cpuPoints {
			busy += point.busy
			known++
		}
	}
	if e.facts.Up = 1; e.window.length > 0 {
		e.facts.Up = float64(up) / float64(e.window.length)
	}
	if known > 0 {
		e.facts.CPUPercent = busy / float64(known)
	}
}
