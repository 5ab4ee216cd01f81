package fleet

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/schema"
)

// tally adds up what engines count; rates come from the last two samples of each.
type tally struct {
	engines int
	totals  map[string]int64
	rates   map[string]float64
}

// count is one number of an engine: now, and in the sample before.
type count struct {
	name      string
	now, then uint64
	gauge     bool
}

func (t *tally) add(counts []count, seconds float64) {
	if t.totals == nil {
		t.totals, t.rates = map[string]int64{}, map[string]float64{}
	}
	t.engines++
	for _, c := range counts {
		t.totals[c.name] += int64(c.now)
		if !c.gauge && seconds > 0 && c.now >= c.then {
			t.rates[c.name] += float64(c.now-c.then) / seconds
		}
	}
}

// shown is nil when no engine has counted yet.
func (t *tally) shown() schema.Object {
	if t.engines == 0 {
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

// seconds between the last two samples; 0: there are not two.
func (e *engine) seconds() float64 {
	if e.earlier == nil || e.sample.GetUnixMs() <= e.earlier.GetUnixMs() {
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
	busy := func(s *dataplanev1.Sample) uint64 { return s.GetCpuUserUs() + s.GetCpuSystemUs() }
	return float64(busy(e.sample)-busy(e.earlier)) / seconds / 10_000, true
}

func (f *Fleet) serviceCounters(uuid string, engines []string) schema.Object {
	var sum tally
	for _, id := range engines {
		engine := f.engines[id]
		if engine == nil {
			continue
		}
		if now := serviceIn(engine.sample, uuid); now != nil {
			sum.add(serviceCounts(now, serviceIn(engine.earlier, uuid)), engine.seconds())
		}
	}
	return sum.shown()
}

func serviceIn(sample *dataplanev1.Sample, uuid string) *dataplanev1.VirtualServiceCounters {
	for _, counters := range sample.GetVirtualServices() {
		if counters.GetUuid() == uuid {
			return counters
		}
	}
	return nil
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

func (f *Fleet) serverCounters(poolUUID, serverID string, engines []string) schema.Object {
	var sum tally
	for _, id := range engines {
		engine := f.engines[id]
		if now := serverIn(engine.sample, poolUUID, serverID); now != nil {
			sum.add(serverCounts(now, serverIn(engine.earlier, poolUUID, serverID)), engine.seconds())
		}
	}
	return sum.shown()
}

func serverIn(sample *dataplanev1.Sample, poolUUID, serverID string) *dataplanev1.ServerCounters {
	for _, counters := range sample.GetServers() {
		if counters.GetPoolUuid() == poolUUID && counters.GetServerId() == serverID {
			return counters
		}
	}
	return nil
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
