package score

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

func profile() *kinds.AnalyticsProfile { return schema.Defaults[kinds.AnalyticsProfile]() }

// served are clients with a number of requests, of which shares fail, satisfy and are tolerated.
func served(requests, failed, satisfied, tolerated float64) Counts {
	return Counts{
		Connections: requests / 10, Requests: requests, Responses: requests, Errors: requests * failed,
		Timed: requests, Satisfied: requests * satisfied, Tolerated: requests * tolerated,
	}
}

// good is a virtual service that loses no points.
func good() *Service {
	fast := served(500, 0, 1, 0)
	server := func(id string) *Server {
		return &Server{ID: id, Profile: profile(), State: health.Up, HTTP: true, Up: 1, Counts: fast}
	}
	return &Service{
		Profile: profile(), State: health.Up, HTTP: true, Clients: served(1000, 0, 1, 0),
		Window: 5 * time.Minute, Up: 1,
		Pool: &Pool{Profile: profile(), State: health.Up, HTTP: true, Enabled: 2, Up: 2,
			Servers: []*Server{server("10.0.0.1:80"), server("10.0.0.2:80")}},
		Engines: []Engine{{Name: "engine-1", Profile: profile(), State: health.Up, Up: 1}}, Wanted: 1, Serving: 1,
		TLS: secure(),
	}
}

func secure() *TLS {
	return &TLS{ExpiresIn: 90 * day, WeakestVersion: TLS12, WeakestBits: 128}
}

// Each case is one row of the table in docs/health.md.
func TestEachRowOfTheFormula(t *testing.T) {
	for _, c := range []struct {
		what   string
		turn   func(*Service)
		want   string // value performance resources anomaly security
		reason string
		attr   string
	}{
		{"all is well", func(*Service) {}, "good 100 100 0 0 0", "", ""},
		{"client: errors", func(s *Service) { s.Clients = served(1000, 0.25, 1, 0) },
			"good 85 85 0 0 0", "25 % of requests failed", "l7_client.pct_response_errors"},
		{"client: slow beyond what is tolerated", func(s *Service) { s.Clients = served(1000, 0, 0.88, 0) },
			"good 93 93 0 0 0", "12 % of requests slower than 2 s", "l7_client.apdexr"},
		{"client: slow, but tolerated", func(s *Service) { s.Clients = served(1000, 0, 0.5, 0.5) },
			"good 85 85 0 0 0", "50 % of requests slower than 500 ms", "l7_client.apdexr"},
		{"client: errors and slowness", func(s *Service) { s.Clients = served(1000, 0.5, 0.5, 0) },
			"poor 55 55 0 0 0", "50 % of requests failed", "l7_client.pct_response_errors"},
		{"client: 5xx excluded", func(s *Service) {
			s.Clients, s.Profile.NotErrors = served(1000, 0.5, 1, 0), []string{"AP_HTTP_RSP_5XX"}
		}, "good 100 100 0 0 0", "", ""},
		{"client: little traffic", func(s *Service) { s.Clients = served(9, 1, 0, 0) }, "good 100 100 0 0 0", "", ""},
		{"client: enough traffic", func(s *Service) { s.Clients = served(10, 1, 0, 0) },
			"poor 40 40 0 0 0", "100 % of requests failed", "l7_client.pct_response_errors"},
		{"client: layer 4", func(s *Service) {
			s.HTTP, s.Pool, s.Clients = false, nil, Counts{Connections: 100, Failures: 30}
		}, "fair 70 70 0 0 0", "30 % of connections failed", "l4_client.pct_connection_errors"},
		{"pool: a slow server", func(s *Service) { s.Pool.Servers[1].Counts = served(500, 0, 0, 0) },
			"fair 80 80 0 0 0", "server 10.0.0.2:80: 100 % of requests slower than 1.6 s", "l7_server.apdexr"},
		{"pool: a server that fails, with few of the requests", func(s *Service) {
			s.Pool.Servers[1].Counts = Counts{Requests: 125, Failures: 125}
		}, "good 92 92 0 0 0", "server 10.0.0.2:80: 100 % of requests failed", "l7_server.pct_response_errors"},
		{"pool: a server that was down for a while", func(s *Service) { s.Pool.Servers[0].Up = 0.5 },
			"good 90 90 0 0 0", "server 10.0.0.1:80: down 50 % of the time", "l4_server.avg_uptime"},
		{"pool: capped by the servers up", func(s *Service) { s.Pool.Enabled, s.Pool.Up = 8, 5 },
			"good 85 85 0 0 0", "3 of 8 servers down", "l4_server.avg_health_status"},
		{"pool: too large for scores of servers", func(s *Service) {
			sum := Server{ID: "*", Profile: profile(), HTTP: true, Up: 1, Counts: served(1000, 0.5, 1, 0)}
			s.Pool.Servers, s.Pool.Sum = nil, &sum
		}, "fair 80 80 0 0 0", "server *: 50 % of requests failed", "l7_server.pct_response_errors"},
		{"up", func(s *Service) { s.Up = 1 - 40.0/300 }, "good 87 87 0 0 0", "no engine for 40 s", "vs_uptime"},
		{"boost", func(s *Service) {
			s.Clients, s.Profile.PerformanceBoost = served(1000, 0.25, 1, 0), 10
		}, "good 95 95 0 0 0", "25 % of requests failed", "l7_client.pct_response_errors"},
		{"boost ends at 100", func(s *Service) { s.Profile.PerformanceBoost = 50 }, "good 100 100 0 0 0", "", ""},
		{"resources: CPU", func(s *Service) { s.Engines[0].CPUPercent = 94 },
			"fair 81 100 19 0 0", "engine-1 CPU 94 %", "se_stats.avg_cpu_usage"},
		{"resources: CPU that is no trouble yet", func(s *Service) { s.Engines[0].CPUPercent = 80 },
			"good 100 100 0 0 0", "", ""},
		{"resources: memory", func(s *Service) { s.Engines[0].MemoryPercent = 91 },
			"good 87 100 13 0 0", "engine-1 memory 91 %", "se_stats.avg_mem_usage"},
		{"resources: places", func(s *Service) { s.Engines[0].ShortOfPlaces = 12 }, "fair 75 100 25 0 0",
			"engine-1 sent 12 clients away for want of a place", "se_stats.avg_connection_mem_usage"},
		{"resources: buffers", func(s *Service) { s.Engines[0].ShortOfMemory = 3 }, "fair 75 100 25 0 0",
			"engine-1 sent 3 clients away for want of memory", "se_stats.avg_packet_buffer_usage"},
		{"resources: seats", func(s *Service) { s.Wanted, s.Serving = 4, 3 },
			"good 94 100 6 0 0", "3 of 4 engines serve", "ha_index"},
		{"resources: capped", func(s *Service) {
			s.Engines[0].CPUPercent, s.Wanted, s.Serving, s.Profile.MaxResourcesPenalty = 98, 2, 1, 30
		}, "fair 70 100 30 0 0", "engine-1 CPU 98 %", "se_stats.avg_cpu_usage"},
		{"anomaly", func(s *Service) {
			s.Anomalies = []Anomalous{{"l4_client.avg_bandwidth", true, "bandwidth 4.1 σ above"}, {"x", false, "x"}}
		}, "good 97 100 0 3 0", "bandwidth 4.1 σ above", "l4_client.avg_bandwidth"},
		{"anomaly: capped", func(s *Service) {
			for range 9 {
				s.Anomalies = append(s.Anomalies, Anomalous{"l4_client.avg_bandwidth", true, "bandwidth"})
			}
		}, "good 90 100 0 10 0", "bandwidth", "l4_client.avg_bandwidth"},
		{"anomaly: switched off", func(s *Service) {
			s.Anomalies, s.Profile.EnableAdvancedAnalytics = []Anomalous{{"x", true, "x"}}, false
		}, "good 100 100 0 0 0", "", ""},
		{"security: attacks", func(s *Service) { s.AttacksPerS = 4000 },
			"poor 40 100 0 0 60", "4000 attacks a second", "dos_attack_level"},
		{"security: few attacks", func(s *Service) { s.AttacksPerS = 999 }, "good 100 100 0 0 0", "", ""},
		{"security: capped", func(s *Service) { s.TLS.ExpiresIn, s.Profile.MaxSecurityPenalty = 0, 50 },
			"poor 50 100 0 0 50", "certificate has expired", "earliest_cert_expiry"},
		{"security: no TLS", func(s *Service) { s.TLS = nil }, "good 100 100 0 0 0", "", ""},
		{"the floor", func(s *Service) { s.Clients, s.TLS.ExpiresIn = served(1000, 1, 1, 0), 0 },
			"poor 0 40 0 0 100", "certificate has expired", "earliest_cert_expiry"},
		{"down", func(s *Service) { s.State, s.Reasons = health.Down, []string{"pool web is not up"} },
			"down 0 0 0 0 0", "pool web is not up", "oper_state"},
		{"on no engine", func(s *Service) { s.State, s.Reasons = health.NoResources, []string{"no engine"} },
			"down 0 0 0 0 0", "no engine", "oper_state"},
		{"disabled", func(s *Service) { s.State, s.Reasons = health.Disabled, []string{"enabled is false"} },
			"none 0 0 0 0 0", "enabled is false", ""},
		{"analytics off", func(s *Service) { s.Profile.EnableVSAnalytics = false },
			"none 0 0 0 0 0", "enable_vs_analytics of its analytics profile is false", ""},
	} {
		s := good()
		c.turn(s)
		score := OfService(s)
		got := fmt.Sprintln(score.Band, score.Value, score.Performance, score.Resources, score.Anomaly, score.Security)
		if strings.TrimSpace(got) != c.want || score.Reason() != c.reason || score.Attr() != c.attr {
			t.Errorf("%s: got %s %q %q, want %s %q %q\n  %s", c.what, strings.TrimSpace(got), score.Reason(),
				score.Attr(), c.want, c.reason, c.attr, score.Formula)
		}
		if score.Band > Down && !strings.Contains(score.Formula, fmt.Sprintf("= %d;", score.Value)) {
			t.Errorf("%s: the formula is %s", c.what, score.Formula)
		}
	}
}

func TestEachFieldOfTheProfileForTLS(t *testing.T) {
	for _, c := range []struct {
		field   string
		turn    func(*TLS)
		penalty int
		reason  string
	}{
		{"certscore_gt30d", func(tls *TLS) { tls.ExpiresIn = 30*day + time.Second }, 0, ""},
		{"certscore_le30d", func(tls *TLS) { tls.ExpiresIn = 30 * day }, 20, "certificate expires in 30 days"},
		{"certscore_le07d", func(tls *TLS) { tls.ExpiresIn = 6 * day }, 60, "certificate expires in 6 days"},
		{"certscore_le07d", func(tls *TLS) { tls.ExpiresIn = time.Hour }, 60, "certificate expires within a day"},
		{"certscore_expired", func(tls *TLS) { tls.ExpiresIn = 0 }, 100, "certificate has expired"},
		{"ssl30_score", func(tls *TLS) { tls.WeakestVersion = SSL30 }, 30, "SSL 3.0 is offered"},
		{"tls10_score", func(tls *TLS) { tls.WeakestVersion = TLS10 }, 0, ""},
		{"tls11_score", func(tls *TLS) { tls.WeakestVersion = TLS11 }, 0, ""},
		{"tls12_score", func(tls *TLS) { tls.WeakestVersion = TLS12 }, 0, ""},
		{"tls13_score", func(tls *TLS) { tls.WeakestVersion = TLS13 }, 0, ""},
		{"cipherscore_ge128b", func(tls *TLS) { tls.WeakestBits = 128 }, 0, ""},
		{"cipherscore_lt128b", func(tls *TLS) { tls.WeakestBits = 112 }, 30, "a cipher of 112 bits is offered"},
		{"cipherscore_eq000b", func(tls *TLS) { tls.WeakestBits = 0 }, 100, "a cipher without encryption is offered"},
		{"encalgo_score_rc4", func(tls *TLS) { tls.RC4 = true }, 50, "RC4 is offered"},
		{"hsts_penalty", func(tls *TLS) { tls.NoHSTS = true }, 20, "browsers are not told to use TLS only (HSTS)"},
		{"nonpfs_penalty", func(tls *TLS) { tls.NoForwardSecret = true }, 20,
			"a cipher without forward secrecy is offered"},
		{"weak_signature_algo_penalty", func(tls *TLS) { tls.WeakSignature = true }, 20,
			"certificate has a weak signature"},
		{"chain_invalidity_penalty", func(tls *TLS) { tls.BrokenChain = true }, 20,
			"the chain of the certificate is broken"},
		{"two penalties", func(tls *TLS) { tls.NoHSTS, tls.NoForwardSecret = true, true }, 40,
			"browsers are not told to use TLS only (HSTS)"},
		{"the worst counts", func(tls *TLS) { tls.ExpiresIn, tls.WeakestBits = 30*day, 112 }, 30,
			"a cipher of 112 bits is offered"},
	} {
		s := good()
		c.turn(s.TLS)
		score := OfService(s)
		if score.Security != c.penalty || score.Reason() != c.reason {
			t.Errorf("%s: got %d %q, want %d %q", c.field, score.Security, score.Reason(), c.penalty, c.reason)
		}
	}
	s := good()
	s.TLS.NoHSTS, s.Profile.PenaltyNoHSTS = true, 2.5
	if score := OfService(s); score.Security != 50 || score.SSL.Score != 2.5 {
		t.Errorf("an own penalty: %+v", score)
	}
}

func TestReasonsExplainAllPointsOfThePerformance(t *testing.T) {
	s := good()
	s.Clients, s.Up = served(1000, 0.1, 0.6, 0.2), 0.8
	s.Pool.Servers[0].Counts = served(300, 0.2, 0.5, 0.5)
	s.Pool.Servers[1].Counts, s.Pool.Servers[1].Up = served(700, 0, 0.9, 0), 0.7
	score, sum := OfService(s), 0.0
	for _, reason := range score.Reasons {
		sum += reason.Points
	}
	if math.Abs(sum-float64(100-score.Performance)) > 0.5 {
		t.Errorf("%d points are lost, and the reasons make up %.1f: %+v", 100-score.Performance, sum, score.Reasons)
	}
}

func TestPoolServerAndEngineHaveScoresOfTheirOwn(t *testing.T) {
	pool := good().Pool
	pool.Servers[0].Counts = served(500, 0, 0, 0)
	if score := OfPool(pool); score.Value != 50 || score.Band != Poor {
		t.Errorf("pool: %+v", score)
	}
	pool.State, pool.Reasons = health.Unused, []string{"no virtual service uses it"}
	if score := OfPool(pool); score.Band != Grey || score.Why != "no virtual service uses it" {
		t.Errorf("unused pool: %+v", score)
	}
	server := good().Pool.Servers[0]
	server.Up, server.Counts = 0.5, served(500, 0, 0.5, 0)
	if score := OfServer(server); score.Value != 25 {
		t.Errorf("server: %+v", score)
	}
	server.Counts = served(9, 1, 0, 0)
	if score := OfServer(server); score.Value != 50 {
		t.Errorf("server with little traffic: %+v", score)
	}
	server.Profile.EnableServerAnalytics = false
	if score := OfServer(server); score.Band != Grey {
		t.Errorf("server without analytics: %+v", score)
	}
	engine := &Engine{Name: "engine-1", Profile: profile(), State: health.Up, Up: 0.9, CPUPercent: 89}
	if score := OfEngine(engine); score.Value != 77 || score.Reason() != "engine-1 CPU 89 %" {
		t.Errorf("engine: %+v", score)
	}
	engine.State, engine.Reason = health.Down, "heartbeat lost"
	if score := OfEngine(engine); score.Band != Down || score.Reason() != "heartbeat lost" {
		t.Errorf("engine that is down: %+v", score)
	}
}
