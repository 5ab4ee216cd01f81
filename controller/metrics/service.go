package metrics

import (
	"iter"
	"math"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/histogram"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health/score"
	ours "github.com/weir-lb/weir/controller/histogram"
	"github.com/weir-lb/weir/controller/model"
)

const (
	openPrefix     = "open_"      // of a gauge of fleet
	responsePrefix = "responses_" // of a count of responses, before the class
	excludedPrefix = fleet.ExcludedPrefix + responsePrefix
)

// splits are counts of fleet that are one series with a label here: the name begins with the prefix, and the rest of it
// is the value of the label.
var splits = []struct{ prefix, name, label string }{
	{"errors_", "failures", "cause"},
	{responsePrefix, "responses", "class"},
	{"local_responses_", "local_responses_by_class", "class"},
	{excludedPrefix, "excluded_responses", "class"},
	{"requests_", "requests_by_method", "method"},
	{fleet.HandshakeFailure, "tls_failures_by_reason", "reason"},
	{fleet.LimitedPrefix, "limited", "limit"},
}

// splitOf returns nil if a count is a series of its own.
func splitOf(count string) (split *struct{ prefix, name, label string }, rest string) {
	for i := range splits {
		if rest, is := strings.CutPrefix(count, splits[i].prefix); is {
			return &splits[i], rest
		}
	}
	return nil, ""
}

func (c *collector) readService(known *fleet.Known, vs *model.VirtualService, seen map[string]bool, at time.Time) {
	var is score.Score
	graded := false
	if c.config.Scores != nil {
		is, graded = c.config.Scores.ServiceScore(vs.UUID)
	}
	turn, g := known.ServiceTurn(vs.UUID), c.groups[vs.UUID]
	if g == nil && c.isBlank(vs.UUID, turn) && makesNoSeries(is, graded) {
		return
	}
	of := labelled{service: vs.Name, tenant: c.config.TenantName(vs.Tenant()), tenantUUID: vs.Tenant(), uuid: vs.UUID}
	c.observe(seen, vs.UUID, "service", of, at, func(r *readings) {
		if g != nil && g.turn == turn {
			r.repeat()
		} else {
			r.service(known, vs)
		}
		r.group.turn = turn
		r.score("weir_service_", is, graded)
		if len(r.group.entries) > 0 { // one that never had a client has no series
			r.gauge("weir_service_engines", float64(len(known.Serving(vs.UUID, known.Assigned(vs.UUID)))))
		}
	})
	c.note(vs.UUID, c.groups[vs.UUID] == nil, turn)
}

// service reads what was counted of a virtual service.
func (r *readings) service(known *fleet.Known, vs *model.VirtualService) {
	counts := known.CountedOfService(vs.UUID)
	r.counting = true
	for name, value := range counts {
		r.serviceCount(name, value)
	}
	r.counting = false
	fresh := r.timings(known.TimingsOf(vs.UUID))
	r.serviceApdex(score.Profile(vs.Analytics), counts, fresh)
}

func (r *readings) serviceCount(name string, value int64) {
	if of, is := fleet.HandshakesOf(name); is {
		r.counterOf("weir_service_tls_handshakes", value, "version", of.Version, "cipher_suite", of.CipherSuite,
			"group", of.Group, "key", of.Key, "resumed", of.Resumed)
	} else if name == "tls_handshakes" {
		return // by what they agreed on
	} else if split, rest := splitOf(name); split != nil {
		r.counterOf("weir_service_"+split.name, value, split.label, rest)
	} else if strings.HasPrefix(name, openPrefix) {
		r.open("weir_service_"+name, float64(value))
	} else {
		r.counter("weir_service_"+name, value)
	}
}

// open takes a number of things that are open. It makes no series before the first is.
func (r *readings) open(name string, value float64) {
	if value == 0 && r.group.entries[name] == nil {
		return
	}
	r.gauge(name, value)
	r.peak(name+"_peak", value)
}

// measures are the parts of the time of requests, as their series are called.
var measures = []struct {
	name string
	of   func(*fleet.Times) *ours.Histogram
	// whole: there is a histogram, and not only a sum. One costs as much as ten numbers.
	whole bool
}{
	{"total", func(t *fleet.Times) *ours.Histogram { return &t.Total }, true},
	{"wait", func(t *fleet.Times) *ours.Histogram { return &t.Wait }, false},
	{"response", func(t *fleet.Times) *ours.Histogram { return &t.Response }, true},
	{"server_rtt", func(t *fleet.Times) *ours.Histogram { return &t.ServerRTT }, false},
	{"app_response", func(t *fleet.Times) *ours.Histogram { return &t.AppResponse }, false},
	{"data_transfer", func(t *fleet.Times) *ours.Histogram { return &t.Transfer }, false},
}

// timings adds what each engine has timed since the last collection, and returns that.
func (r *readings) timings(timings map[string]fleet.Timing) *fleet.Times {
	g, fresh := r.group, &fleet.Times{}
	if g.times == nil {
		if len(timings) == 0 {
			return fresh
		}
		g.times = &fleet.Times{}
	}
	for id, timing := range timings {
		then, rttThen := timing.Before, timing.ClientRTTBefore
		if last, known := g.timings[id]; known {
			if then, rttThen = last.Now, last.ClientRTT; last.Process != timing.Process {
				then, rttThen = nil, nil
			}
		}
		if !isSame(timing.Now, then) {
			fresh.Add(timing.Now, then)
		}
		if timing.ClientRTT != rttThen {
			fresh.AddClientRTT(timing.ClientRTT, rttThen)
		}
	}
	g.timings = timings
	g.times.Join(fresh)
	if count := g.times.ClientRTT.Count(); count > 0 {
		r.total("weir_service_client_rtt_seconds_sum", g.times.ClientRTT.Seconds())
		r.total("weir_service_timed_clients_total", float64(count))
	}
	if fresh.Total.Count() == 0 {
		return fresh
	}
	for _, measure := range measures {
		r.total("weir_service_"+measure.name+"_seconds_sum", measure.of(g.times).Seconds())
		if measure.whole {
			r.histogram("weir_service_"+measure.name+"_seconds", native(measure.of(g.times), schemaOfServices))
		}
	}
	r.total("weir_service_timed_requests_total", float64(g.times.Total.Count()))
	return fresh
}

func isSame(now, then *dataplanev1.Times) bool {
	return now == then || then != nil && now.GetTotal().GetSumTicks() == then.GetTotal().GetSumTicks()
}

// Prometheus' bucket i of a schema ends at 2^(i/2^schema) s, ours at 2^(i/2^schema-20) s.
const (
	schemaOfServices = 3
	schemaOfServers  = 1
)

func emptyHistogram(schema int32) *histogram.Histogram {
	return &histogram.Histogram{Schema: schema, ZeroThreshold: math.Exp2(-20)}
}

// native returns a histogram of ours as one of Prometheus. The buckets are the same, so nothing is lost. The times
// above all bounds are in the bucket behind the last bound.
func native(of interface {
	Seconds() float64
	Buckets() iter.Seq2[int, uint64]
}, schema int32) *histogram.Histogram {
	made := emptyHistogram(schema)
	made.Sum = of.Seconds()
	next, before := int32(0), int64(0) // the bucket behind the last span, and the count of the last bucket
	for bucket, count := range of.Buckets() {
		made.Count += count
		if bucket == 0 {
			made.ZeroCount = count
			continue
		}
		index := int32(bucket) - 20<<schema
		switch spans := made.PositiveSpans; {
		case len(spans) == 0:
			made.PositiveSpans = []histogram.Span{{Offset: index, Length: 1}}
		case index == next:
			spans[len(spans)-1].Length++
		default:
			made.PositiveSpans = append(spans, histogram.Span{Offset: index - next, Length: 1})
		}
		next = index + 1
		made.PositiveBuckets = append(made.PositiveBuckets, int64(count)-before)
		before = int64(count)
	}
	return made
}
