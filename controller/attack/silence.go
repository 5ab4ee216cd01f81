package attack

import (
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
)

// silentAfter is how old at least the newest sample of an engine is that is silent: engines send one each second.
const silentAfter = 3 * time.Second

// silence is that of an engine which has counted for a virtual service.
type silence struct {
	since   time.Time // when its last sample came
	process uint32    // that had counted until then
	counted map[string]int64
}

// silences are those that last, by uuid of the engine.
type silences map[string]silence

// late is what an engine counted while it was silent.
type late struct {
	since   time.Time
	counted map[string]int64
}

// hearing says which engines of a virtual service are heard.
type hearing struct {
	whole  bool // all that are to serve it are
	silent silences
	late   []late // of those that are heard again
}

// listen finds the engines that are silent for longer than a period, and those that were at the look before.
func listen(known *fleet.Known, vs *model.VirtualService, before silences, at time.Time) hearing {
	heard := hearing{whole: true}
	longest := max(periodOf(vs), silentAfter)
	for _, id := range known.Assigned(vs.UUID) {
		engine := known.Engine(id)
		heard.whole = heard.whole && engine != nil && at.Sub(engine.SampledAt) <= longest
	}
	// Also an engine that serves the virtual service no more may have counted in its silence.
	for id, engine := range known.CountingService(vs.UUID) {
		was, wasSilent := before[id]
		isSilent := at.Sub(engine.SampledAt) > longest
		if !isSilent && !wasSilent {
			continue
		}
		if isSilent && wasSilent {
			heard.silent = heard.silent.with(id, was)
			continue
		}
		counted, process := fleet.CountsOf(engine.Sample.Service(vs.UUID)), engine.Sample.Process()
		switch {
		case isSilent:
			heard.silent = heard.silent.with(id, silence{engine.SampledAt, process, counted})
		case process == was.process:
			heard.late = append(heard.late, late{was.since, growth(counted, was.counted)})
		default:
			heard.late = append(heard.late, late{was.since, counted})
		}
	}
	return heard
}

func (s silences) with(engine string, of silence) silences {
	if s == nil {
		s = silences{}
	}
	s[engine] = of
	return s
}

// growth is by how much counts have grown. One that fell began anew.
func growth(now, before map[string]int64) map[string]int64 {
	for name, count := range now {
		if count >= before[name] {
			now[name] = count - before[name]
		}
	}
	return now
}
