package fleet

import (
	"maps"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// Tally adds up the counters of engines, by name. The rate of each comes from the last two samples.
type Tally struct {
	Totals    map[string]int64 // nil: no engine has counted yet
	PerSecond map[string]float64
}

func newTally(past totals) Tally {
	return Tally{Totals: maps.Clone(past), PerSecond: map[string]float64{}}
}

// count is one counter of an engine: in the last sample, and in the sample before.
type count struct {
	name      string
	now, then uint64
	gauge     bool
}

// add adds the counts of one engine. An engine that does not work adds to the totals of counters only: it has no rate
// and no open connections now.
func (t *Tally) add(counts []count, from *Engine) {
	if t.Totals == nil {
		t.Totals = map[string]int64{}
	}
	seconds := from.seconds()
	for _, c := range counts {
		if c.gauge && !from.Works() {
			c.now = 0
		}
		t.Totals[c.name] += int64(c.now)
		if !c.gauge && seconds > 0 && c.now >= c.then {
			t.PerSecond[c.name] += float64(c.now-c.then) / seconds
		}
	}
}

// Counters adds up the counters of all virtual services of an engine.
func (e *Engine) Counters() Tally {
	sum := newTally(nil)
	if e.Sample == nil {
		return sum
	}
	for _, now := range e.Sample.GetVirtualServices() {
		sum.add(serviceCounts(now, e.Earlier.Service(now.GetUuid())), e)
	}
	return sum
}

// ServiceCounters adds up the counters of a virtual service over all engines that have it or had it.
func (k *Known) ServiceCounters(uuid string) Tally {
	sum := newTally(k.past.services[uuid])
	for _, engine := range k.CountingService(uuid) {
		sum.add(serviceCounts(engine.Sample.Service(uuid), engine.Earlier.Service(uuid)), engine)
	}
	return sum
}

var responseNames = [...]string{"responses_1xx", "responses_2xx", "responses_3xx", "responses_4xx", "responses_5xx"}

func serviceCounts(now, then *dataplanev1.VirtualServiceCounters) []count {
	counts := []count{
		{name: "connections", now: now.GetConnectionsTotal(), then: then.GetConnectionsTotal()},
		{name: "open_connections", now: now.GetOpenConnections(), gauge: true},
		{name: "http2_connections", now: now.GetHttp2ConnectionsTotal(), then: then.GetHttp2ConnectionsTotal()},
		{name: "open_http2_connections", now: now.GetOpenHttp2Connections(), gauge: true},
		{name: "http2_requests", now: now.GetHttp2RequestsTotal(), then: then.GetHttp2RequestsTotal()},
		{name: "open_http2_requests", now: now.GetOpenHttp2Requests(), gauge: true},
		{name: "grpc_calls", now: now.GetGrpcCallsTotal(), then: then.GetGrpcCallsTotal()},
		{name: "tls13_handshakes", now: now.GetTls13HandshakesTotal(), then: then.GetTls13HandshakesTotal()},
		{name: "tls_handshakes", now: now.GetTlsHandshakesTotal(), then: then.GetTlsHandshakesTotal()},
		{name: "tls_resumptions", now: now.GetTlsResumptionsTotal(), then: then.GetTlsResumptionsTotal()},
		{name: "tls_failures", now: now.GetTlsFailuresTotal(), then: then.GetTlsFailuresTotal()},
		{name: "requests", now: now.GetRequestsTotal(), then: then.GetRequestsTotal()},
		{name: "local_responses", now: now.GetLocalResponsesTotal(), then: then.GetLocalResponsesTotal()},
		{name: "reselects", now: now.GetReselectsTotal(), then: then.GetReselectsTotal()},
		{name: "client_aborts", now: now.GetClientAbortsTotal(), then: then.GetClientAbortsTotal()},
		{name: "received_bytes", now: now.GetReceivedBytesTotal(), then: then.GetReceivedBytesTotal()},
		{name: "sent_bytes", now: now.GetSentBytesTotal(), then: then.GetSentBytesTotal()},
		{name: "received_datagrams", now: now.GetReceivedDatagramsTotal(), then: then.GetReceivedDatagramsTotal()},
		{name: "sent_datagrams", now: now.GetSentDatagramsTotal(), then: then.GetSentDatagramsTotal()},
		{name: "websockets", now: now.GetWebsocketsTotal(), then: then.GetWebsocketsTotal()},
		{name: "open_websockets", now: now.GetOpenWebsockets(), gauge: true},
	}
	counts = append(counts, responses(now.GetResponsesTotal(), then.GetResponsesTotal())...)
	counts = append(counts, some("local_", responses(now.GetLocalResponsesByClassTotal(),
		then.GetLocalResponsesByClassTotal()))...)
	counts = append(counts, some(ExcludedPrefix, responses(now.GetExcludedResponsesTotal(),
		then.GetExcludedResponsesTotal()))...)
	counts = append(counts, some("cache_", []count{
		{name: "lookups", now: now.GetCache().GetLookupsTotal(), then: then.GetCache().GetLookupsTotal()},
		{name: "hits", now: now.GetCache().GetHitsTotal(), then: then.GetCache().GetHitsTotal()},
	})...)
	counts = append(counts, byMethod(now.GetRequestsByMethodTotal(), then.GetRequestsByMethodTotal())...)
	counts = append(counts, handshakes(now, then)...)
	counts = append(counts, causes(LimitedPrefix, now.GetLimited(), then.GetLimited())...)
	return append(counts, causes("errors_", now.GetErrors(), then.GetErrors())...)
}

// ExcludedPrefix begins the name of a count of responses that are no errors in spite of their class, before the name of
// the count that they are part of: excluded_responses_5xx.
const ExcludedPrefix = "excluded_"

// LimitedPrefix begins the name of a count of what was refused because it was beyond a limit of rates, before whose
// rate it is: limited_client_requests. All of them are among the failures, too.
const LimitedPrefix = "limited_"

// some are counts, with a prefix, without those of what has never happened.
func some(prefix string, of []count) (counts []count) {
	for _, c := range of {
		if c.now > 0 {
			c.name = prefix + c.name
			counts = append(counts, c)
		}
	}
	return counts
}

// responses are counts of responses by the class of their status.
func responses(now, then []uint64) (counts []count) {
	for i, total := range now {
		if i >= len(responseNames) {
			break
		}
		c := count{name: responseNames[i], now: total}
		if i < len(then) {
			c.then = then[i]
		}
		counts = append(counts, c)
	}
	return counts
}

func errorsIn(counters []*dataplanev1.ErrorCounter, cause string) uint64 {
	for _, failure := range counters {
		if failure.GetCause() == cause {
			return failure.GetTotal()
		}
	}
	return 0
}

// Resets are the failures of a server that were resets by it.
const Resets = "resets"

// ConnectTicks is how long the connects to a server took together. It is a counter, and no count.
const ConnectTicks = "connect_ticks"

// ServerCounters adds up the counters of a server over all engines that have it or had it.
func (k *Known) ServerCounters(server ServerKey) Tally {
	sum := newTally(k.past.servers[server])
	for _, engine := range k.countingPool(server.Pool) {
		if now := engine.Sample.Server(server); now != nil {
			sum.add(serverCounts(now, engine.Earlier.Server(server)), engine)
		}
	}
	return sum
}

// OpenTo is the number of connections that engines have with a server now.
func (k *Known) OpenTo(server ServerKey) (open int) {
	for _, engine := range k.countingPool(server.Pool) {
		if engine.Works() {
			open += int(engine.Sample.Server(server).GetOpenConnections())
		}
	}
	return open
}

func serverCounts(now, then *dataplanev1.ServerCounters) []count {
	counts := append([]count{
		{name: "connections", now: now.GetConnectionsTotal(), then: then.GetConnectionsTotal()},
		{name: "open_connections", now: now.GetOpenConnections(), gauge: true},
		{name: "http2_connections", now: now.GetHttp2ConnectionsTotal(), then: then.GetHttp2ConnectionsTotal()},
		{name: "requests", now: now.GetRequestsTotal(), then: then.GetRequestsTotal()},
		{name: "failures", now: now.GetFailuresTotal(), then: then.GetFailuresTotal()},
		{name: "reused", now: now.GetReusedTotal(), then: then.GetReusedTotal()},
		{name: "received_bytes", now: now.GetReceivedBytesTotal(), then: then.GetReceivedBytesTotal()},
		{name: "sent_bytes", now: now.GetSentBytesTotal(), then: then.GetSentBytesTotal()},
		{name: ConnectTicks, now: now.GetConnectTicksTotal(), then: then.GetConnectTicksTotal()},
	}, responses(now.GetResponsesTotal(), then.GetResponsesTotal())...)
	counts = append(counts, some("", []count{{name: Resets, now: now.GetResetsTotal(),
		then: then.GetResetsTotal()}})...)
	return append(counts, some(ExcludedPrefix, responses(now.GetExcludedResponsesTotal(),
		then.GetExcludedResponsesTotal()))...)
}

// ErrorsIn are the responses with 5xx among counts, without those that are no errors.
func ErrorsIn(counts map[string]int64) int64 {
	const errors = "responses_5xx"
	return counts[errors] - counts[ExcludedPrefix+errors]
}
