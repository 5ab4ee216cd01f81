package live

import (
	"math"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/histogram"
)

// What is counted, as an index. All are rates per second, except openConnections.
const (
	requests   = iota
	responses1 // 1xx; the other classes follow
	_
	_
	_
	responses5
	errored
	failures
	connections
	receivedBytes
	sentBytes
	tlsHandshakes
	openConnections
	countsNumber
)

// Times of requests, as an index, in ms. The mean of the total is the sum of the means of its parts.
const (
	p50 = iota
	p95
	p99
	waitMean
	responseMean
	transferMean
	timesNumber
)

// counts are of one step. In the ring, they are half as wide.
type counts [countsNumber]float64

func (c *counts) join(other *counts) {
	for i, count := range other {
		c[i] += count
	}
}

// sum adds up what engines counted in one step.
type sum struct {
	engines, missing int // engines that reported, and engines that should have
	counts           counts
	times            fleet.Times
	timed            bool    // a request ended
	excluded         float64 // of the responses, those that are no errors in spite of their class, per second
}

// countsIn returns what one engine counted for a virtual service within stretches, and adds the times to the sum. http
// says that the virtual service has requests: then an error is a response with a status of 5xx, otherwise it is any
// failure.
func (s *sum) countsIn(stretches []stretch, uuid string, seconds float64, http bool) (sum counts) {
	for _, part := range stretches {
		now, then := part.to.Service(uuid), part.from.Service(uuid)
		if now == nil {
			continue
		}
		if now.GetRequestsTotal() < then.GetRequestsTotal() || now.GetConnectionsTotal() < then.GetConnectionsTotal() {
			then = nil // the engine lost the virtual service and got it back: it counts again from zero
		}
		between := countsBetween(now, then)
		sum.join(&between)
		for class, total := range now.GetExcludedResponsesTotal() {
			s.excluded += grown(total, nth(then.GetExcludedResponsesTotal(), class)) / seconds
		}
		if hasGrown(now.GetTimes(), then.GetTimes()) {
			s.times.Add(now.GetTimes(), then.GetTimes())
			s.timed = true
		}
	}
	if sum[errored] = sum[failures]; http {
		sum[errored] = sum[responses5]
	}
	for i := range sum {
		sum[i] /= seconds
	}
	last := stretches[len(stretches)-1].to
	sum[openConnections] = float64(last.Service(uuid).GetOpenConnections())
	return sum
}

func countsBetween(now, then *dataplanev1.VirtualServiceCounters) (between counts) {
	between[requests] = grown(now.GetRequestsTotal(), then.GetRequestsTotal())
	for class, total := range now.GetResponsesTotal() {
		if at := responses1 + class; at <= responses5 {
			between[at] = grown(total, nth(then.GetResponsesTotal(), class))
		}
	}
	between[failures] = grown(failuresIn(now), failuresIn(then))
	between[connections] = grown(now.GetConnectionsTotal(), then.GetConnectionsTotal())
	between[receivedBytes] = grown(now.GetReceivedBytesTotal(), then.GetReceivedBytesTotal())
	between[sentBytes] = grown(now.GetSentBytesTotal(), then.GetSentBytesTotal())
	between[tlsHandshakes] = grown(now.GetTlsHandshakesTotal(), then.GetTlsHandshakesTotal())
	return between
}

func grown(now, then uint64) float64 {
	if now < then {
		return 0
	}
	return float64(now - then)
}

// nth is 0 if there are fewer.
func nth(totals []uint64, at int) uint64 {
	if at < len(totals) {
		return totals[at]
	}
	return 0
}

func failuresIn(counters *dataplanev1.VirtualServiceCounters) (total uint64) {
	for _, failure := range counters.GetErrors() {
		total += failure.GetTotal()
	}
	return total
}

// hasGrown tells whether a request ended between two states of cumulative times. No request takes 0 ticks in total.
func hasGrown(now, then *dataplanev1.Times) bool {
	return now.GetTotal().GetSumTicks() != then.GetTotal().GetSumTicks()
}

// join adds another sum, of other engines or of other virtual services.
func (s *sum) join(other *sum) {
	s.engines, s.missing = max(s.engines, other.engines), max(s.missing, other.missing)
	s.counts.join(&other.counts)
	s.excluded += other.excluded
	if other.timed {
		s.times.Join(&other.times)
		s.timed = true
	}
}

// point narrows the sum to what the ring keeps.
func (s *sum) point() point {
	p := point{engines: narrow(s.engines), missing: narrow(s.missing)}
	for i, count := range s.counts {
		p.counts[i] = float32(count)
	}
	if !s.timed || s.times.Total.Count() == 0 {
		p.times[p50] = float32(math.NaN())
		return p
	}
	total := &s.times.Total
	p.times = [timesNumber]float32{
		p50: ms(total.Quantile(0.5)), p95: ms(total.Quantile(0.95)), p99: ms(total.Quantile(0.99)),
		waitMean: meanOf(&s.times.Wait), responseMean: meanOf(&s.times.Response),
		transferMean: meanOf(&s.times.Transfer),
	}
	return p
}

func narrow(engines int) uint16 { return uint16(min(engines, math.MaxUint16)) }

func meanOf(times *histogram.Histogram) float32 { return ms(times.Mean()) }

func ms(took time.Duration) float32 { return float32(float64(took) / float64(time.Millisecond)) }
