package fleet

import (
	"slices"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// Sample is a sample of an engine's data plane, with an index.
type Sample struct {
	*dataplanev1.Sample
	process uint32 // number of the process that counted, among those of the engine since the leader began
	layout  *layout
}

// layout says where in a sample the rows of objects are. Samples of an engine with the same rows in the same order
// share it.
type layout struct {
	services map[string]int
	servers  map[ServerKey]int
	pools    map[string]bool // that have a server
	queues   map[string]int
}

// newSample finds the rows. Of a sample that has only changes, the other rows are those of the last one. last is the
// sample of the engine before; nil: there is none. Call it without the lock: there are rows for all servers of the
// engine.
func newSample(from *dataplanev1.Sample, last *Sample) *Sample {
	made := &Sample{Sample: from}
	if from.GetChanges() && last != nil && from.GetPid() == last.GetPid() {
		last.complete(from)
	}
	if last != nil && last.layout.fits(from, last.Sample) {
		made.layout = last.layout
		return made
	}
	made.layout = &layout{
		services: make(map[string]int, len(from.GetVirtualServices())),
		servers:  make(map[ServerKey]int, len(from.GetServers())),
		pools:    map[string]bool{},
		queues:   make(map[string]int, len(from.GetPools())),
	}
	for i, counters := range from.GetVirtualServices() {
		made.layout.services[counters.GetUuid()] = i
	}
	for i, counters := range from.GetServers() {
		made.layout.servers[ServerKey{counters.GetPoolUuid(), counters.GetServerId()}] = i
		made.layout.pools[counters.GetPoolUuid()] = true
	}
	for i, counters := range from.GetPools() {
		made.layout.queues[counters.GetPoolUuid()] = i
	}
	return made
}

// complete adds the rows of the last sample to those that have changed since. link makes sure that there was a whole
// one before, see Sample.changes in the contract. Rows that the last sample does not have are dropped: agents send
// none, and a stranger's would grow without bound.
func (s *Sample) complete(next *dataplanev1.Sample) {
	services, servers := next.VirtualServices, next.Servers
	next.VirtualServices, next.Servers = slices.Clone(s.VirtualServices), slices.Clone(s.Servers)
	for _, row := range services {
		if at, has := s.layout.services[row.GetUuid()]; has {
			next.VirtualServices[at] = row
		}
	}
	for _, row := range servers {
		if at, has := s.layout.servers[ServerKey{row.GetPoolUuid(), row.GetServerId()}]; has {
			next.Servers[at] = row
		}
	}
	next.Changes = false
}

// fits tells whether a sample has the same rows in the same order as the last one, which the layout is of.
func (l *layout) fits(next, last *dataplanev1.Sample) bool {
	return slices.EqualFunc(next.GetVirtualServices(), last.GetVirtualServices(),
		func(a, b *dataplanev1.VirtualServiceCounters) bool { return a.GetUuid() == b.GetUuid() }) &&
		slices.EqualFunc(next.GetServers(), last.GetServers(), func(a, b *dataplanev1.ServerCounters) bool {
			return a.GetServerId() == b.GetServerId() && a.GetPoolUuid() == b.GetPoolUuid()
		}) &&
		slices.EqualFunc(next.GetPools(), last.GetPools(), func(a, b *dataplanev1.PoolCounters) bool {
			return a.GetPoolUuid() == b.GetPoolUuid()
		})
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
	for _, counters := range told.GetServers() {
		if counters.GetSuspectingWorkers() == 0 {
			continue
		}
		key := ServerKey{counters.GetPoolUuid(), counters.GetServerId()}
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
	if at, has := s.layout.services[uuid]; has {
		return s.VirtualServices[at]
	}
	return nil
}

// Server returns nil if the sample has no counters of the server.
func (s *Sample) Server(key ServerKey) *dataplanev1.ServerCounters {
	if s == nil {
		return nil
	}
	if at, has := s.layout.servers[key]; has {
		return s.Servers[at]
	}
	return nil
}

// serviceAt is as Service, for the virtual service of a row of another sample, which mostly has the same layout.
func (s *Sample) serviceAt(at int, of *Sample) *dataplanev1.VirtualServiceCounters {
	if s != nil && s.layout == of.layout {
		return s.VirtualServices[at]
	}
	return s.Service(of.VirtualServices[at].GetUuid())
}

// serverAt is as serviceAt, for a server.
func (s *Sample) serverAt(at int, of *Sample) *dataplanev1.ServerCounters {
	if s != nil && s.layout == of.layout {
		return s.Servers[at]
	}
	return s.Server(ServerKey{of.Servers[at].GetPoolUuid(), of.Servers[at].GetServerId()})
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
