package score

import (
	"fmt"

	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Pool are the facts about a pool.
type Pool struct {
	Profile     *kinds.AnalyticsProfile
	State       health.State
	Reasons     []string
	HTTP        bool
	Enabled, Up int // number of servers, now
	// Servers are the enabled ones. If there are more than healthscore_max_server_limit, Sum stands for all of them.
	Servers []*Server
	Sum     *Server

	Anomalies []Anomalous
}

// Server are the facts about a server.
type Server struct {
	ID      string // "10.0.0.1:80"
	Profile *kinds.AnalyticsProfile
	State   health.State
	Reason  string
	HTTP    bool
	Up      float64 // share of the window
	Counts  Counts
}

// OfPool grades a pool: the mean of its servers, and at most the share of them that is up.
func OfPool(pool *Pool) Score {
	if score, is := ungraded(pool.State, pool.Reasons, pool.Profile.EnableServerAnalytics,
		"enable_server_analytics"); is {
		return score
	}
	var p parts
	value, reasons := pool.grade(1)
	for _, reason := range reasons {
		p.take(reason)
	}
	p.points[Performance] = value
	p.formula = fmt.Sprintf("mean of its servers by requests, at most the %d of %d that are up", pool.Up, pool.Enabled)
	if pool.Profile.EnableAdvancedAnalytics {
		p.penalty(Anomaly, penalties(pool.Anomalies), pool.Profile.MaxAnomalyPenalty)
	}
	return p.score()
}

// OfServer grades a server: its Apdex × its share of time up.
func OfServer(s *Server) Score {
	if score, is := ungraded(s.State, nonEmpty(s.Reason), s.Profile.EnableServerAnalytics,
		"enable_server_analytics"); is {
		return score
	}
	var p parts
	a := s.apdex()
	for _, reason := range s.reasons(a, 100) {
		p.take(reason)
	}
	p.points[Performance] = 100 * a.value() * s.Up
	p.formula = fmt.Sprintf("%.2f up × %.1f Apdex", s.Up, 100*a.value())
	return p.score()
}

func (s *Server) apdex() apdex {
	if s.Counts.traffic() < s.Profile.ServerTrafficLeast {
		return apdex{}
	}
	return apdexOf(s.Counts, s.HTTP, s.Profile, true)
}

// reasons says what a server that is worth some points loses.
func (s *Server) reasons(a apdex, worth float64) []Reason {
	of, attrs := "requests", serverAttrs
	if !s.HTTP {
		of, attrs = "connections", struct{ errors, slow string }{"l4_server.pct_connection_errors", "l4_server.apdexc"}
	}
	reasons := a.reasons(worth*s.Up, of, ServerLimits(s.Profile), attrs)
	if lost := worth * (1 - s.Up); lost > 0 {
		reasons = append(reasons, Reason{Performance, lost, fmt.Sprintf("down %s of the time", percent(1-s.Up)),
			"l4_server.avg_uptime"})
	}
	return reasons
}

// grade returns the value of a pool, 0 to 100, and what costs it points. share is how much of the points count.
func (pool *Pool) grade(share float64) (value float64, reasons []Reason) {
	servers := pool.Servers
	if pool.Sum != nil {
		servers = []*Server{pool.Sum}
	}
	total := 0.0
	for _, server := range servers {
		total += server.Counts.traffic()
	}
	mean := 0.0
	for _, server := range servers {
		weight := 1 / float64(len(servers))
		if total > 0 {
			weight = server.Counts.traffic() / total
		}
		a := server.apdex()
		mean += weight * 100 * a.value() * server.Up
		for _, reason := range server.reasons(a, 100*weight*share) {
			reason.Text = "server " + server.ID + ": " + reason.Text
			reasons = append(reasons, reason)
		}
	}
	if len(servers) == 0 {
		mean = 100
	}
	most := 100.0
	if pool.Enabled > 0 {
		most = 100 * float64(pool.Up) / float64(pool.Enabled)
	}
	if most < mean {
		return most, []Reason{{Performance, share * (100 - most),
			fmt.Sprintf("%d of %d servers down", pool.Enabled-pool.Up, pool.Enabled), "l4_server.avg_health_status"}}
	}
	return mean, reasons
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
