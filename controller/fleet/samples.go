package fleet

import (
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// Sample is a sample of an engine's data plane, with indexes.
type Sample struct {
	*dataplanev1.Sample
	process  uint32 // number of the process that counted, among those of the engine since the leader began
	services map[string]*dataplanev1.VirtualServiceCounters
	servers  map[ServerKey]*dataplanev1.ServerCounters
}

// newSample makes the indexes. Call it without the lock: there are entries for all servers of the engine.
func newSample(from *dataplanev1.Sample) *Sample {
	made := &Sample{
		Sample:   from,
		services: make(map[string]*dataplanev1.VirtualServiceCounters, len(from.GetVirtualServices())),
		servers:  make(map[ServerKey]*dataplanev1.ServerCounters, len(from.GetServers())),
	}
	for _, counters := range from.GetVirtualServices() {
		made.services[counters.GetUuid()] = counters
	}
	for _, counters := range from.GetServers() {
		made.servers[ServerKey{counters.GetPoolUuid(), counters.GetServerId()}] = counters
	}
	return made
}

// at is the time of the sample, by the engine's clock.
func (s *Sample) at() time.Time { return time.UnixMilli(int64(s.GetUnixMs())) }

// busy is the CPU time that the process has used, in µs.
func (s *Sample) busy() uint64 { return s.GetCpuUserUs() + s.GetCpuSystemUs() }

// take keeps the last two samples of one process. The counts of an earlier process go to past. take returns the uuids
// of the pools with a server that became suspect, or ceased to be.
func (e *Engine) take(next *Sample, past past, before before) (pools map[string]bool) {
	if e.Sample == nil && e.counted {
		before.keep(next)
		e.begun = next.timesOf()
	}
	e.Earlier = e.Sample
	if last := e.Sample; last != nil {
		next.process = last.process
		// In a container, the next process may have the same pid. Its CPU time begins at zero.
		if next.GetPid() != last.GetPid() || next.busy() < last.busy() {
			next.process++
			e.Earlier = nil
		}
	}
	past.keep(e.Sample, next)
	e.serviceMinute = e.serviceMinute.follow(e.Sample, next, serviceStep, (*Sample).serviceTimes)
	e.serverMinute = e.serverMinute.follow(e.Sample, next, serverStep, (*Sample).serverTimes)
	e.Sample = next
	return e.suspect(next)
}

// suspect notes since when at least one worker of the engine suspects a server. It returns the uuids of the pools with
// a server that became suspect, or ceased to be.
func (e *Engine) suspect(told *Sample) (pools map[string]bool) {
	before := e.suspects
	e.suspects, pools = map[ServerKey]time.Time{}, map[string]bool{}
	for key, counters := range told.servers {
		if counters.GetSuspectingWorkers() == 0 {
			continue
		}
		since, known := before[key]
		if !known {
			since, pools[key.Pool] = told.at(), true
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
	return float64(e.Sample.busy()-e.Earlier.busy()) / seconds / 10_000, true
}
