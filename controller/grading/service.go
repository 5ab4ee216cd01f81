package grading

import (
	"slices"
	"strings"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/histogram"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// service is what was counted of a virtual service. Nothing is known of the time before the first look.
type service struct {
	turn    fleet.Turn // when it was last read
	last    *tally
	timings map[string]fleet.Timing
	window  window[servicePoint]
}

// tally is what a virtual service, or a server, had counted at a moment, since the leader began.
type tally struct {
	connections, requests, responses, errors, attacks int64
	failures, resets                                  int64 // resets by servers are among the failures
}

type servicePoint struct {
	counts  score.Counts
	attacks float64
	up      bool // an engine served
}

// ofService sums up counters. Failures that clients caused themselves say nothing about the service.
func ofService(counted map[string]int64) *tally {
	t := &tally{connections: counted["connections"], requests: counted["requests"], errors: fleet.ErrorsIn(counted)}
	for name, count := range counted {
		if strings.HasPrefix(name, "responses_") && name != "responses_1xx" {
			t.responses += count
		}
		cause, is := strings.CutPrefix(name, "errors_")
		if !is {
			continue
		}
		if slices.Contains(fleet.AttackCauses, cause) {
			t.attacks += count
		}
		if cause == "server_reset" {
			t.resets = count
		}
		if !strings.HasPrefix(cause, "client_") {
			t.failures += count
		}
	}
	return t
}

// since is what was counted since an earlier moment. Counts fall only if an object is counted anew. The profile may say
// that resets by servers are no failures.
func (t *tally) since(then *tally, profile *kinds.AnalyticsProfile) score.Counts {
	grown := func(now, then int64) float64 { return float64(max(0, now-then)) }
	failures := grown(t.failures, then.failures)
	if profile.ExcludeServerReset {
		failures = max(0, failures-grown(t.resets, then.resets))
	}
	return score.Counts{
		Connections: grown(t.connections, then.connections), Requests: grown(t.requests, then.requests),
		Responses: grown(t.responses, then.responses), Errors: grown(t.errors, then.errors),
		Failures: failures,
	}
}

// service looks at a virtual service and grades it. Its pool and engines were looked at before.
func (g *Grades) service(known *fleet.Known, vs *model.VirtualService, at time.Time) score.Score {
	s := g.services[vs.UUID]
	if s == nil {
		s = &service{}
		g.services[vs.UUID] = s
	}
	profile, status := score.Profile(vs.Analytics), known.ServiceHealth(vs)
	assigned := known.Assigned(vs.UUID)
	serving := known.Serving(vs.UUID, assigned)
	s.look(known, vs.UUID, profile, len(serving) > 0, status.State)
	facts := &score.Service{
		Profile: profile, State: status.State, Reasons: status.Reasons, HTTP: vs.HTTP != nil,
		Window: time.Duration(s.window.length) * every,
		Wanted: known.EnginesWanted(vs), Serving: len(serving), Anomalies: g.unusual(vs.UUID),
		TLS: g.chains.offered(vs, at),
	}
	facts.Clients, facts.Up, facts.AttacksPerS = s.sum()
	if vs.Pool != nil && g.pools[vs.Pool.UUID] != nil {
		facts.Pool = &g.pools[vs.Pool.UUID].facts
	}
	for _, id := range serving {
		if engine := g.engines[id]; engine != nil {
			facts.Engines = append(facts.Engines, engine.facts)
		}
	}
	return score.OfService(facts)
}

// look adds a point to the window, which begins when an engine serves.
func (s *service) look(known *fleet.Known, uuid string, profile *kinds.AnalyticsProfile, up bool,
	state health.State) {
	now, timings, turn := s.last, s.timings, known.ServiceTurn(uuid)
	quiet := now != nil && turn == s.turn
	if !quiet {
		now, timings = ofService(known.CountedOfService(uuid)), known.TimingsOf(uuid)
	}
	then, before := s.last, s.timings
	s.last, s.timings, s.turn = now, timings, turn
	if state == health.Disabled || s.window.length == 0 && !up {
		s.window = window[servicePoint]{}
		return
	}
	point := servicePoint{up: up}
	if then != nil && !quiet {
		point.counts, point.attacks = now.since(then, profile), float64(max(0, now.attacks-then.attacks))
		var times histogram.Histogram
		for id, timing := range timings {
			now, then := timing.Now.GetTotal(), earlier(timing, before[id]).GetTotal()
			if !histogram.Continues(now, then) {
				then = nil
			}
			times.Add(now, then)
		}
		judge(&point.counts, &times, score.ClientLimits(profile))
	}
	s.window.put(point)
}

// earlier is what the process of an engine had counted at the last look; nil: nothing.
func earlier(timing, last fleet.Timing) *dataplanev1.Times {
	switch {
	case last.Now == nil:
		return timing.Before
	case last.Process != timing.Process:
		return nil
	}
	return last.Now
}

// sum adds up the window. attacksPerS is that of the worst 15 s.
func (s *service) sum() (counts score.Counts, up, attacksPerS float64) {
	served := 0
	for _, point := range s.window.all() {
		counts.Join(point.counts)
		attacksPerS = max(attacksPerS, point.attacks/every.Seconds())
		if point.up {
			served++
		}
	}
	if s.window.length == 0 {
		return counts, 1, attacksPerS
	}
	return counts, float64(served) / float64(s.window.length), attacksPerS
}

// timed has what is known about how long requests took; Histogram and Coarse have.
type timed interface {
	Count() uint64
	AtMost(limit time.Duration) float64
}

// judge counts the times within the limits of an Apdex. Data planes count times in buckets and know no limits. A bucket
// is 9 % wide (of a server 41 %), and within it AtMost interpolates, so the shares are right to a percent: limits can
// change without a change of any engine.
func judge(counts *score.Counts, times timed, limits score.Limits) {
	counts.Timed = float64(times.Count())
	counts.Satisfied = times.AtMost(limits.Satisfied)
	counts.Tolerated = times.AtMost(limits.Tolerated) - counts.Satisfied
}
