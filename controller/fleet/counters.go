package fleet

import (
	"maps"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/schema"
)

// sample is what the data plane of an engine counted, by what it counted.
type sample struct {
	*dataplanev1.Sample
	services map[string]*dataplanev1.VirtualServiceCounters
	servers  map[serverKey]*dataplanev1.ServerCounters
}

// take keeps the last two samples of one process, and what others had counted in the past. It returns whether other servers
// than before are suspect to the engine.
func (e *engine) take(from *dataplanev1.Sample, past past) bool {
	next := &sample{
		Sample:   from,
		services: make(map[string]*dataplanev1.VirtualServiceCounters, len(from.GetVirtualServices())),
		servers:  make(map[serverKey]*dataplanev1.ServerCounters, len(from.GetServers())),
	}
	for _, counters := range from.GetVirtualServices() {
		next.services[counters.GetUuid()] = counters
	}
	for _, counters := range from.GetServers() {
		next.servers[serverKey{counters.GetPoolUuid(), counters.GetServerId()}] = counters
	}
	past.keep(e.sample, next)
	e.earlier = e.sample
	if e.earlier != nil && e.earlier.GetPid() != from.GetPid() {
		e.earlier = nil
	}
	e.sample = next
	return e.suspect(next)
}

// suspect notes since when servers are suspect to a worker of the engine, or to more.
func (e *engine) suspect(told *sample) (changed bool) {
	before := e.suspects
	e.suspects = map[serverKey]time.Time{}
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

// counters are those of all virtual services of an engine together.
func (e *engine) counters() schema.Object {
	if e.sample == nil {
		return nil
	}
	sum := newTally(nil)
	for uuid, now := range e.sample.services {
		sum.add(serviceCounts(now, e.earlier.service(uuid)), e)
	}
	return sum.shown()
}

func (s *sample) service(uuid string) *dataplanev1.VirtualServiceCounters {
	if s == nil {
		return nil
	}
	return s.services[uuid]
}

func (s *sample) server(key serverKey) *dataplanev1.ServerCounters {
	if s == nil {
		return nil
	}
	return s.servers[key]
}

// tally adds up what engines count; rates come from the last two samples of each.
type tally struct {
	totals totals
	rates  map[string]float64
}

func newTally(past totals) *tally {
	return &tally{totals: maps.Clone(past), rates: map[string]float64{}}
}

// count is one number of an engine: now, and in the sample before.
type count struct {
	name      string
	now, then uint64
	gauge     bool
}

// add takes what an engine counts. What one that does not work counted goes into the totals alone: how fast it did, and
// who was connected then, is of the past.
func (t *tally) add(counts []count, from *engine) {
	if t.totals == nil {
		t.totals = totals{}
	}
	seconds := from.seconds()
	for _, c := range counts {
		if c.gauge && !from.works() {
			c.now = 0
		}
		t.totals[c.name] += int64(c.now)
		if !c.gauge && seconds > 0 && c.now >= c.then {
			t.rates[c.name] += float64(c.now-c.then) / seconds
		}
	}
}

// shown is nil when no engine has counted yet.
func (t *tally) shown() schema.Object {
	if t.totals == nil {
		return nil
	}
	totals, rates := schema.Object{}, schema.Object{}
	for name, total := range t.totals {
		totals[name] = total
	}
	for name, rate := range t.rates {
		rates[name] = rate
	}
	totals["per_second"] = rates
	return totals
}

// seconds between the last two samples; 0: there are not two, or they are of the past.
func (e *engine) seconds() float64 {
	if !e.works() || e.earlier == nil || e.sample.GetUnixMs() <= e.earlier.GetUnixMs() {
		return 0
	}
	return float64(e.sample.GetUnixMs()-e.earlier.GetUnixMs()) / 1000
}

// cpuPercent is of one core: two busy workers are 200.
func (e *engine) cpuPercent() (float64, bool) {
	seconds := e.seconds()
	if seconds == 0 {
		return 0, false
	}
	busy := func(s *sample) uint64 { return s.GetCpuUserUs() + s.GetCpuSystemUs() }
	return float64(busy(e.sample)-busy(e.earlier)) / seconds / 10_000, true
}

// serviceCounters are those of a virtual service on all engines that have it or had it.
func (f *Fleet) serviceCounters(uuid string) schema.Object {
	sum := newTally(f.past.services[uuid])
	for _, engine := range f.engines {
		if now := engine.sample.service(uuid); now != nil {
			sum.add(serviceCounts(now, engine.earlier.service(uuid)), engine)
		}
	}
	return sum.shown()
}

var responseNames = [...]string{"responses_1xx", "responses_2xx", "responses_3xx", "responses_4xx", "responses_5xx"}

func serviceCounts(now, then *dataplanev1.VirtualServiceCounters) []count {
	counts := []count{
		{name: "connections", now: now.GetConnectionsTotal(), then: then.GetConnectionsTotal()},
		{name: "open_connections", now: now.GetOpenConnections(), gauge: true},
		{name: "tls_handshakes", now: now.GetTlsHandshakesTotal(), then: then.GetTlsHandshakesTotal()},
		{name: "tls_resumptions", now: now.GetTlsResumptionsTotal(), then: then.GetTlsResumptionsTotal()},
		{name: "tls_failures", now: now.GetTlsFailuresTotal(), then: then.GetTlsFailuresTotal()},
		{name: "requests", now: now.GetRequestsTotal(), then: then.GetRequestsTotal()},
		{name: "local_responses", now: now.GetLocalResponsesTotal(), then: then.GetLocalResponsesTotal()},
		{name: "client_aborts", now: now.GetClientAbortsTotal(), then: then.GetClientAbortsTotal()},
		{name: "received_bytes", now: now.GetReceivedBytesTotal(), then: then.GetReceivedBytesTotal()},
		{name: "sent_bytes", now: now.GetSentBytesTotal(), then: then.GetSentBytesTotal()},
	}
	for i, total := range now.GetResponsesTotal() {
		if i >= len(responseNames) {
			break
		}
		c := count{name: responseNames[i], now: total}
		if i < len(then.GetResponsesTotal()) {
			c.then = then.GetResponsesTotal()[i]
		}
		counts = append(counts, c)
	}
	for _, failure := range now.GetErrors() {
		counts = append(counts, count{name: "errors_" + failure.GetCause(), now: failure.GetTotal(), then: errorsIn(then, failure.GetCause())})
	}
	return counts
}

func errorsIn(counters *dataplanev1.VirtualServiceCounters, cause string) uint64 {
	for _, failure := range counters.GetErrors() {
		if failure.GetCause() == cause {
			return failure.GetTotal()
		}
	}
	return 0
}

func (f *Fleet) serverCounters(key serverKey) schema.Object {
	sum := newTally(f.past.servers[key])
	for _, engine := range f.engines {
		if now := engine.sample.server(key); now != nil {
			sum.add(serverCounts(now, engine.earlier.server(key)), engine)
		}
	}
	return sum.shown()
}

func serverCounts(now, then *dataplanev1.ServerCounters) []count {
	return []count{
		{name: "connections", now: now.GetConnectionsTotal(), then: then.GetConnectionsTotal()},
		{name: "open_connections", now: now.GetOpenConnections(), gauge: true},
		{name: "requests", now: now.GetRequestsTotal(), then: then.GetRequestsTotal()},
		{name: "failures", now: now.GetFailuresTotal(), then: then.GetFailuresTotal()},
		{name: "reused", now: now.GetReusedTotal(), then: then.GetReusedTotal()},
	}
}
