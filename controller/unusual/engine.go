package unusual

import (
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/series"
)

// ofEngines are the metrics of engines that are counted live. Which virtual services an engine has changes more often
// than the time of day shows, so they are compared with the last hour.
var ofEngines = []metric{
	{id: "se_stats.avg_cpu_usage", name: "CPU usage", least: 10},
	{id: "se_stats.avg_connections", name: "open connections", least: 100},
	{id: "se_stats.avg_bandwidth", name: "bandwidth", least: 1e6},
}

// enginesMost bounds the engines with habits. More have none.
const enginesMost = 1000

// engine is an engine with its habits.
type engine struct {
	begun  time.Time
	seenAt time.Time
	habits
}

// adminTenant is whose engines are.
const adminTenant = "admin"

func (w *Watch) sampleEngines() {
	if w.EngineName == nil {
		return
	}
	w.numbers.EachNewest(series.Engine, idsOf(ofEngines), func(uuid string, values []float64) {
		w.mu.Lock()
		defer w.mu.Unlock()
		e := w.engines[uuid]
		for i, value := range values {
			if value != value || e == nil && len(w.engines) >= enginesMost {
				continue
			}
			if e == nil {
				e = &engine{begun: w.now(), habits: habitsOf(ofEngines)}
				w.engines[uuid] = e
			}
			e.seenAt = w.now()
			e.of[i].add(value)
		}
	})
}

// judgeEngines judges the minute that has ended. The habits of an engine that is away for long are forgotten: when it
// is back, it has other virtual services.
func (w *Watch) judgeEngines(at time.Time) {
	for uuid, e := range w.engines {
		name, exists := w.EngineName(uuid)
		about := subject{Entry: events.Entry{Kind: "SERVICEENGINE", UUID: uuid, Name: name, Tenant: adminTenant}}
		if !exists || at.Sub(e.seenAt) > settles {
			w.endAll(e.habits, about, "the engine is away")
			delete(w.engines, uuid)
			continue
		}
		w.look(e.habits, about, at.Sub(e.begun) < settles, at)
	}
}
