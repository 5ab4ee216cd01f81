package fleet

import (
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// Sample is what the data plane of an engine counted, by what it counted.
type Sample struct {
	*dataplanev1.Sample
	services map[string]*dataplanev1.VirtualServiceCounters
	servers  map[ServerKey]*dataplanev1.ServerCounters
}

// take keeps the last two samples of one process, and what others had counted in the past. It returns whether other
// servers than before are suspect to the engine.
func (e *Engine) take(from *dataplanev1.Sample, past past) bool {
	next := &Sample{
		Sample:   from,
		services: make(map[string]*dataplanev1.VirtualServiceCounters, len(from.GetVirtualServices())),
		servers:  make(map[ServerKey]*dataplanev1.ServerCounters, len(from.GetServers())),
	}
	for _, counters := range from.GetVirtualServices() {
		next.services[counters.GetUuid()] = counters
	}
	for _, counters := range from.GetServers() {
		next.servers[ServerKey{counters.GetPoolUuid(), counters.GetServerId()}] = counters
	}
	past.keep(e.Sample, next)
	e.Earlier = e.Sample
	if e.Earlier != nil && e.Earlier.GetPid() != from.GetPid() {
		e.Earlier = nil
	}
	e.Sample = next
	return e.suspect(next)
}

// suspect notes since when servers are suspect to a worker of the engine, or to more.
func (e *Engine) suspect(told *Sample) (changed bool) {
	before := e.suspects
	e.suspects = map[ServerKey]time.Time{}
	for key, counters := range told.servers {
		if counters.GetSuspectingWorkers() == 0 {
			continue
		}
		since, known := before[key]
		if !known {
			since = time.UnixMilli(int64(told.GetUnixMs()))
		}
		e.suspects[key] = since
		changed = changed || !known
	}
	return changed || len(e.suspects) != len(before)
}

// Service is nil for a virtual service that the sample says nothing of.
func (s *Sample) Service(uuid string) *dataplanev1.VirtualServiceCounters {
	if s == nil {
		return nil
	}
	return s.services[uuid]
}

// Server is nil for one that the sample says nothing of.
func (s *Sample) Server(key ServerKey) *dataplanev1.ServerCounters {
	if s == nil {
		return nil
	}
	return s.servers[key]
}

// seconds between the last two samples; 0: there are not two, or they are of the past.
func (e *Engine) seconds() float64 {
	if !e.Works() || e.Earlier == nil || e.Sample.GetUnixMs() <= e.Earlier.GetUnixMs() {
		return 0
	}
	return float64(e.Sample.GetUnixMs()-e.Earlier.GetUnixMs()) / 1000
}

// CPUPercent is of one core: two busy workers are 200.
func (e *Engine) CPUPercent() (float64, bool) {
	seconds := e.seconds()
	if seconds == 0 {
		return 0, false
	}
	busy := func(s *Sample) uint64 { return s.GetCpuUserUs() + s.GetCpuSystemUs() }
	return float64(busy(e.Sample)-busy(e.Earlier)) / seconds / 10_000, true
}
