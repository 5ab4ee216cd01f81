package metrics

import (
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health/score"
	ours "github.com/weir-lb/weir/controller/histogram"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// An Apdex is the share of satisfied requests, those tolerated counting half (apdex.org); failed ones count nothing.
// Engines count times in buckets and know no limits: within the bucket of a limit, histogram.AtMost interpolates, which
// is right to a percent. A histogram does not say which requests failed, so failed ones are taken to be as fast as the
// others.
//
// Here it is a sum of points: each collection adds the Apdex of what came since the last one, times how many those are.
// So the Apdex of any step is the points per request in it.

// judged is what an object had counted at the last collection.
type judged struct {
	known                                    bool
	responses, errors, connections, failures int64
}

// since returns what came since an earlier collection. false: there was none.
func (j judged) since(then judged) (judged, bool) {
	grown := func(now, then int64) int64 { return max(0, now-then) }
	return judged{true, grown(j.responses, then.responses), grown(j.errors, then.errors),
		grown(j.connections, then.connections), grown(j.failures, then.failures)}, then.known
}

// serviceApdex adds the points of a virtual service: for responses, by the total time of requests, and for connections,
// by the round trip to clients as far as it was measured.
func (r *readings) serviceApdex(profile *kinds.AnalyticsProfile, counts map[string]int64, fresh *fleet.Times) {
	now := judged{known: true, connections: counts["connections"]}
	for name, count := range counts {
		switch split, rest := splitOf(name); {
		case split == nil:
		case split.name == "failures":
			now.failures += count
		case split.name == "responses" && rest != "1xx":
			now.responses += count
		}
	}
	now.errors = failed(profile, counts)
	since, known := now.since(r.group.judged)
	if r.group.judged = now; !known {
		return
	}
	r.points("weir_service_apdex", since.responses, since.errors, &fresh.Total, score.ClientLimits(profile))
	rtt := limitsOf(profile.ApdexRTTMs, profile.ApdexRTTFactor)
	r.points("weir_service_connection_apdex", since.connections, since.failures, &fresh.ClientRTT, rtt)
}

// serverApdex adds the points of a server: for requests, by the time that it needed itself.
func (r *readings) serverApdex(profile *kinds.AnalyticsProfile, counts map[string]int64, fresh *ours.Coarse) {
	now := judged{known: true, failures: counts["failures"], errors: failed(profile, counts)}
	for _, class := range []string{"2xx", "3xx", "4xx", "5xx"} {
		now.responses += counts[responsePrefix+class]
	}
	since, known := now.since(r.group.judged)
	if r.group.judged = now; !known {
		return
	}
	r.points("weir_server_apdex", since.responses+since.failures, since.errors+since.failures, fresh,
		score.ServerLimits(profile))
}

// failed are the responses that count as failed: those with 5xx, unless the profile excludes all of them or some.
func failed(profile *kinds.AnalyticsProfile, counts map[string]int64) int64 {
	if !score.CountErrors(profile) {
		return 0
	}
	return fleet.ErrorsIn(counts)
}

func limitsOf(ms uint32, factor float64) score.Limits {
	satisfied := time.Duration(ms) * time.Millisecond
	return score.Limits{Satisfied: satisfied, Tolerated: time.Duration(float64(satisfied) * factor)}
}

// points adds those of things of which some failed. Of things without times, the others are satisfied.
func (r *readings) points(name string, all, failed int64, times interface {
	Count() uint64
	AtMost(time.Duration) float64
}, limits score.Limits) {
	if all <= 0 {
		return
	}
	quick := 1.0
	if timed := float64(times.Count()); timed > 0 {
		satisfied := times.AtMost(limits.Satisfied)
		quick = (satisfied + times.AtMost(limits.Tolerated)) / 2 / timed
	}
	g := r.group
	if g.points == nil {
		g.points = map[string]float64{}
	}
	g.points[name+"_points_total"] += float64(max(0, all-failed)) * min(1, quick)
	g.points[name+"_judged_total"] += float64(all)
	r.total(name+"_points_total", g.points[name+"_points_total"])
	r.total(name+"_judged_total", g.points[name+"_judged_total"])
}
