package score

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Counts are what was counted in the window. Satisfied and Tolerated are of the Timed requests: those that took at most
// the threshold, and at most the threshold times the factor. They come from histograms, see histogram.AtMost.
type Counts struct {
	Connections, Requests, Responses float64
	Errors                           float64 // responses with a status of 5xx
	Failures                         float64 // connections that failed
	Timed, Satisfied, Tolerated      float64
}

// Join adds other counts.
func (c *Counts) Join(other Counts) {
	c.Connections += other.Connections
	c.Requests += other.Requests
	c.Responses += other.Responses
	c.Errors += other.Errors
	c.Failures += other.Failures
	c.Timed += other.Timed
	c.Satisfied += other.Satisfied
	c.Tolerated += other.Tolerated
}

// traffic is how much there was to judge by. One connection can carry many requests.
func (c *Counts) traffic() float64 { return max(c.Connections, c.Requests) }

// Limits are the times of an Apdex.
type Limits struct{ Satisfied, Tolerated time.Duration }

// Profile is the analytics profile of an object, or the defaults.
func Profile(of *kinds.AnalyticsProfile) *kinds.AnalyticsProfile {
	if of == nil {
		return defaults()
	}
	return of
}

var defaults = sync.OnceValue(schema.Defaults[kinds.AnalyticsProfile])

// CountErrors tells whether responses with 5xx count as failed.
func CountErrors(p *kinds.AnalyticsProfile) bool {
	return !slices.Contains(p.NotErrors, "AP_HTTP_RSP_5XX")
}

// ClientLimits are those for the total time of requests.
func ClientLimits(p *kinds.AnalyticsProfile) Limits {
	return limits(p.ApdexResponseMs, p.ApdexResponseFactor)
}

// ServerLimits are those for the time that servers need.
func ServerLimits(p *kinds.AnalyticsProfile) Limits {
	return limits(p.ApdexServerResponseMs, p.ApdexServerResponseFactor)
}

func limits(ms uint32, factor float64) Limits {
	satisfied := time.Duration(ms) * time.Millisecond
	return Limits{satisfied, time.Duration(float64(satisfied) * factor)}
}

// apdex is the share of satisfied requests, those tolerated counting half (apdex.org). Requests that failed count
// nothing. A histogram does not say which requests failed, so failed ones are taken to be as fast as the others.
type apdex struct {
	errors float64 // share that failed
	slow   float64 // what slowness costs of those that did not fail
	beyond float64 // share of those that took longer than is tolerated
	late   float64 // share of those that took longer than satisfies
}

func (a apdex) value() float64 { return (1 - a.errors) * (1 - a.slow) }

// apdexOf judges requests, or connections where there are no requests.
func apdexOf(c Counts, http bool, p *kinds.AnalyticsProfile, failuresCount bool) apdex {
	var a apdex
	failed, all := c.Failures, c.Connections
	if http {
		failed, all = 0, c.Responses
		if !CountErrors(p) {
			c.Errors = 0
		}
		if failed = c.Errors; failuresCount {
			failed, all = failed+c.Failures, all+c.Failures
		}
	}
	if all > 0 {
		a.errors = min(1, failed/all)
	}
	if http && c.Timed > 0 {
		a.slow = min(1, max(0, 1-(c.Satisfied+c.Tolerated/2)/c.Timed))
		a.late = min(1, max(0, 1-c.Satisfied/c.Timed))
		a.beyond = min(1, max(0, a.late-c.Tolerated/c.Timed))
	}
	return a
}

// reasons says what an Apdex below 1 costs, if all of it is worth some points. Their points add up to that.
func (a apdex) reasons(worth float64, of string, limits Limits, attr struct{ errors, slow string }) (reasons []Reason) {
	if lost := worth * a.errors; lost > 0 {
		reasons = append(reasons, Reason{Performance, lost, fmt.Sprintf("%s of %s failed", percent(a.errors), of),
			attr.errors})
	}
	if lost := worth * (1 - a.errors) * a.slow; lost > 0 {
		reasons = append(reasons, Reason{Performance, lost, a.slowness(of, limits), attr.slow})
	}
	return reasons
}

func (a apdex) slowness(of string, limits Limits) string {
	if a.beyond >= a.late/2 {
		return fmt.Sprintf("%s of %s slower than %s", percent(a.beyond), of, brief(limits.Tolerated))
	}
	return fmt.Sprintf("%s of %s slower than %s", percent(a.late), of, brief(limits.Satisfied))
}

// percent has two digits that count: "12 %", "0.4 %".
func percent(share float64) string {
	switch p := share * 100; {
	case p > 0 && p < 0.1:
		return "less than 0.1 %"
	case p < 9.95:
		return fmt.Sprintf("%.1f %%", p)
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

// brief is a time as people write it: "2 s", "500 ms".
func brief(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%g s", d.Seconds())
}
