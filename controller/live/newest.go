package live

import (
	"math"

	words "github.com/weir-lb/weir/controller/series"
)

// latest is a coarse step of a virtual service, with what only the last one has.
type latest struct {
	point
	excluded float32 // see service
}

// A rule for alerts compares what the last coarse step counted, by the metric ids of Avi. metrics/alias.go has the same
// ids for the history.
var newestOfService = map[string]func(*latest) float64{
	"l7_client.avg_total_requests":     countOf(requests),
	"l7_client.avg_complete_responses": func(p *latest) float64 { return p.responses() },
	"l7_client.avg_resp_1xx":           countOf(responses1),
	"l7_client.avg_resp_2xx":           countOf(responses1 + 1),
	"l7_client.avg_resp_3xx":           countOf(responses1 + 2),
	"l7_client.avg_resp_4xx":           countOf(responses1 + 3),
	"l7_client.avg_resp_5xx":           countOf(responses5),
	"l7_client.avg_error_responses":    func(p *latest) float64 { return p.badResponses() },
	"l7_client.pct_response_errors": func(p *latest) float64 {
		if p.responses() == 0 {
			return math.NaN()
		}
		return 100 * p.badResponses() / p.responses()
	},
	"l7_client.avg_client_txn_latency": func(p *latest) float64 {
		return p.timeOf(waitMean) + p.timeOf(responseMean) + p.timeOf(transferMean)
	},
	"l7_client.avg_blocking_time":         func(p *latest) float64 { return p.timeOf(waitMean) },
	"l7_client.avg_ssl_connections":       countOf(tlsHandshakes),
	"weir.p50_total_time":                 func(p *latest) float64 { return p.timeOf(p50) },
	"weir.p95_total_time":                 func(p *latest) float64 { return p.timeOf(p95) },
	"weir.p99_total_time":                 func(p *latest) float64 { return p.timeOf(p99) },
	"l4_client.avg_new_established_conns": countOf(connections),
	"l4_client.max_open_conns":            countOf(openConnections),
	"l4_client.avg_errored_connections":   countOf(failures),
	"l4_client.avg_rx_bytes":              countOf(receivedBytes),
	"l4_client.avg_tx_bytes":              countOf(sentBytes),
	"l4_client.avg_bandwidth": func(p *latest) float64 {
		return 8 * float64(p.counts[receivedBytes]+p.counts[sentBytes])
	},
}

var newestOfEngine = map[string]func(*load) float64{
	"se_stats.avg_cpu_usage":   func(l *load) float64 { return float64(l.cpuPercent) },
	"se_stats.avg_connections": func(l *load) float64 { return float64(l.counts[openConnections]) },
	"se_stats.avg_rx_bytes":    func(l *load) float64 { return float64(l.counts[receivedBytes]) },
	"se_stats.avg_tx_bytes":    func(l *load) float64 { return float64(l.counts[sentBytes]) },
	"se_stats.avg_bandwidth": func(l *load) float64 {
		return 8 * float64(l.counts[receivedBytes]+l.counts[sentBytes])
	},
}

func countOf(count int) func(*latest) float64 {
	return func(p *latest) float64 { return float64(p.counts[count]) }
}

func (p *point) responses() (sum float64) {
	for class := responses1; class <= responses5; class++ {
		sum += float64(p.counts[class])
	}
	return sum
}

// badResponses are those with 4xx and 5xx, without those that the analytics profile excludes from the errors.
func (p *latest) badResponses() float64 {
	return float64(p.counts[responses5-1] + p.counts[responses5] - p.excluded)
}

// timeOf is NaN if no request ended.
func (p *point) timeOf(time int) float64 {
	if p.times[p50] != p.times[p50] {
		return math.NaN()
	}
	return float64(p.times[time])
}

// Step is the number of the last coarse step.
func (l *Live) Step() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ring.clocks[coarseSize].step
}

// Newest returns the values of a metric in the last coarse step, by uuid of the object. NaN: no request ended. An
// object that no engine reported is not in it. false: the metric is not counted live.
func (l *Live) Newest(kind words.Kind, metric string) (values map[string]float64, live bool) {
	values = map[string]float64{}
	live = l.EachNewest(kind, []string{metric}, func(uuid string, of []float64) { values[uuid] = of[0] })
	if !live {
		return nil, false
	}
	return values, true
}

// EachNewest calls take with each object and its values of some metrics, as Newest has them. The values are those of
// this call only. take must not ask Live. false: one of the metrics is not counted live, and take is not called.
func (l *Live) EachNewest(kind words.Kind, metrics []string, take func(uuid string, values []float64)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	clock := &l.ring.clocks[coarseSize]
	switch kind {
	case words.VirtualService:
		return eachNewest(newestOfService, metrics, clock, l.ring.services, func(s *service) latest {
			return latest{s.series.coarse.at(clock.step, clock.step, coarseSteps), s.excluded}
		}, take)
	case words.Engine:
		return eachNewest(newestOfEngine, metrics, clock, l.ring.engines, func(e *engine) load {
			return e.loads.coarse.at(clock.step, clock.step, coarseSteps)
		}, take)
	}
	return false
}

func eachNewest[S interface{ isGap() bool }, O any](counted map[string]func(*S) float64, metrics []string,
	clock *clock, objects map[string]*O, lastOf func(*O) S, take func(uuid string, values []float64)) bool {
	of := make([]func(*S) float64, len(metrics))
	for i, metric := range metrics {
		if of[i] = counted[metric]; of[i] == nil {
			return false
		}
	}
	values := make([]float64, len(metrics))
	for uuid, object := range objects {
		last := lastOf(object)
		if clock.step == 0 || last.isGap() {
			continue
		}
		for i := range of {
			values[i] = of[i](&last)
		}
		take(uuid, values)
	}
	return true
}
