package fleet

import (
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// Sample is a sample of an engine's data plane, with indexes.
type Sample struct {
	*dataplanev1.Sample
	services map[string]*dataplanev1.VirtualServiceCounters
	servers  map[ServerKey]*dataplanev1.ServerCounters
}

// take keeps the last two samples of one process. The counts of an earlier process go to past. take returns the uuids of
// the pools with a server that became suspect, or ceased to be.
func (e *Engine) take(from *dataplanev1.Sample, past past) (pools map[string]bool) {
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

// suspect notes since when at least one worker of the engine suspects a server. It returns the uuids of the pools with a
// server that became suspect, or ceased to be.
func (e *Engine) suspect(told *Sample) (pools map[string]bool) {
	before := e.suspects
	e.suspects, pools = map[ServerKey]time.Time{}, map[string]bool{}
	for key, counters := range told.servers {
		if counters.GetSuspectingWorkers() == 0 {
			continue
		}
		since, known := before[key]
		if !known {
			since, pools[key.Pool] = time.UnixMilli(int64(told.GetUnixMs())), true
		}
		e.suspects[key] = since
	}
	for key := range before {
		if _, still := e.suspects[key]; !still {
			pools[key.Pool] = true
		}
	}
	return pools
}

// Service returns nil if the sample has no counters of the virtual service.
func (s *Sample) Service(uuid string) *dataplanev1.VirtualServiceCounters {
	if s == nil {
		return nil
	}
	return s.services[uuid]
}

// Server returns nil if the sample has no counters of the server.
func (s *Sample) Server(key ServerKey) *dataplanev1.ServerCounters {
	if s == nil {
		return nil
	}
	return s.servers[key]
}

// seconds is the time between the last two samples; 0: there are no two, or the engine does not work.
func (e *Engine) seconds() float64 {
	if !e.Works() || e.Earlier == nil || e.Sample.GetUnixMs() <= e.Earlier.GetUnixMs() {
		return 0
	}
	return float64(e.Sample.GetUnixMs()-e.Earlier.GetUnixMs()) / 1000
}

// CPUPercent is the CPU time in percent of one core: two busy workers are 200. false: it is unknown.
func (e *Engine) CPUPercent() (float64, bool) {
	seconds := e.seconds()
	if seconds == 0 {
		return 0, false
	}
	busy := func(s *Sample) uint64 { return s.GetCpuUserUs() + s.GetCpuSystemUs() }
	return float64(busy(e.Sample)-busy(e.Earlier)) / seconds / 10_000, true
}
