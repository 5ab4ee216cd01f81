package score

import (
	"fmt"
	"time"

	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// How much what clients see, and what servers do, count in the performance.
const (
	clientWeight = 0.6
	poolWeight   = 0.4
)

// Service are the facts about a virtual service.
type Service struct {
	Profile *kinds.AnalyticsProfile
	State   health.State
	Reasons []string // for the state
	HTTP    bool
	Clients Counts

	Window time.Duration // five minutes, or as long as the virtual service is watched
	Up     float64       // share of the window in which an engine served
	Pool   *Pool         // nil: it has none

	Engines         []Engine // that serve it
	Wanted, Serving int      // number of engines
	Anomalies       []Anomalous
	TLS             *TLS // nil: it has none
	AttacksPerS     float64
}

var (
	clientAttrs = struct{ errors, slow string }{"l7_client.pct_response_errors", "l7_client.apdexr"}
	tunnelAttrs = struct{ errors, slow string }{"l4_client.pct_connection_errors", "l4_client.apdexc"}
	serverAttrs = struct{ errors, slow string }{"l7_server.pct_response_errors", "l7_server.apdexr"}
)

// OfService grades a virtual service.
func OfService(s *Service) Score {
	if score, is := ungraded(s.State, s.Reasons, s.Profile.EnableVSAnalytics, "enable_vs_analytics"); is {
		return score
	}
	var p parts
	s.perform(&p)
	p.penalty(Resources, s.resources(), s.Profile.MaxResourcesPenalty)
	anomalies := s.Anomalies
	if !s.Profile.EnableAdvancedAnalytics {
		anomalies = nil
	}
	p.penalty(Anomaly, penalties(anomalies), s.Profile.MaxAnomalyPenalty)
	unsafe, ssl, level := s.security()
	p.penalty(Security, unsafe, s.Profile.MaxSecurityPenalty)
	score := p.score()
	score.SSL, score.DoS = ssl, level
	return score
}

// perform computes the performance: up × (0.6 × client + 0.4 × pool) + boost.
func (s *Service) perform(p *parts) {
	client, note := s.client(), ""
	if s.Clients.traffic() < s.Profile.ClientTrafficLeast {
		client, note = apdex{}, " (little traffic)"
	}
	weight, pool := 1.0, 100.0
	var poolReasons []Reason
	if s.Pool != nil {
		weight = clientWeight
		pool, poolReasons = s.Pool.grade(s.Up * poolWeight)
	}
	of, attrs := "requests", clientAttrs
	if !s.HTTP {
		of, attrs = "connections", tunnelAttrs
	}
	for _, reason := range append(client.reasons(100*s.Up*weight, of, ClientLimits(s.Profile), attrs), poolReasons...) {
		p.take(reason)
	}
	inner := weight*100*client.value() + (1-weight)*pool
	if lost := (1 - s.Up) * 100; lost > 0 {
		p.take(Reason{Performance, lost,
			fmt.Sprintf("no engine for %s", brief((time.Duration((1 - s.Up) * float64(s.Window))).Round(time.Second))),
			"vs_uptime"})
	}
	p.points[Performance] = min(100, s.Up*inner+float64(s.Profile.PerformanceBoost))
	p.formula = fmt.Sprintf("%.2f up × (%.1f × %.1f client%s", s.Up, weight, 100*client.value(), note)
	if s.Pool != nil {
		p.formula += fmt.Sprintf(" + %.1f × %.1f pool", poolWeight, pool)
	}
	p.formula += ")"
	if s.Profile.PerformanceBoost > 0 {
		p.formula += fmt.Sprintf(" + %d boost", s.Profile.PerformanceBoost)
	}
}

func (s *Service) client() apdex { return apdexOf(s.Clients, s.HTTP, s.Profile, false) }
