package top

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weir-lb/weir/client"
)

// The types of events, as docs/live.md describes them.

type counts struct {
	Requests        float64    `json:"requests_per_s"`
	Responses       [5]float64 `json:"responses_per_s"`
	Errors          float64    `json:"errors_per_s"`
	Failures        float64    `json:"failures_per_s"`
	Connections     float64    `json:"connections_per_s"`
	OpenConnections float64    `json:"open_connections"`
	ReceivedBytes   float64    `json:"received_bytes_per_s"`
	SentBytes       float64    `json:"sent_bytes_per_s"`
	TLSHandshakes   float64    `json:"tls_handshakes_per_s"`
}

// point is one step. One without engines is a gap.
type point struct {
	AtMs    int64 `json:"at_ms"`
	Engines int   `json:"engines"`
	Missing int   `json:"missing"`
	counts
	Mean     *float64 `json:"mean_ms"` // nil: no request ended; so are the others
	P50      *float64 `json:"p50_ms"`
	P95      *float64 `json:"p95_ms"`
	P99      *float64 `json:"p99_ms"`
	Wait     *float64 `json:"wait_mean_ms"`
	Response *float64 `json:"response_mean_ms"`
	Transfer *float64 `json:"transfer_mean_ms"`
}

func (p *point) isGap() bool { return p == nil || p.Engines == 0 }

type named struct {
	UUID string `json:"uuid"`
	Name string `json:"name"`
	Gone bool   `json:"gone"`
}

// health is the health score of a virtual service.
type health struct {
	Score  *int   `json:"health_score"` // nil: not graded
	Band   string `json:"health_band"`
	Reason string `json:"health_reason"`
}

func (h health) text() string {
	if h.Score == nil {
		return "–"
	}
	return fmt.Sprint(*h.Score)
}

type service struct {
	named
	health
	State     string     `json:"state"`
	Reasons   []string   `json:"reasons"`
	Attention string     `json:"attention"`
	Point     *point     `json:"point"`
	Recent    []*float64 `json:"recent_requests_per_s"`
}

type overview struct {
	Points               []point   `json:"points"`
	EnginesTotal         int       `json:"engines_total"`
	EnginesUp            int       `json:"engines_up"`
	VirtualServicesTotal int       `json:"virtual_services_total"`
	VirtualServices      []service `json:"virtual_services"`
}

// load is one step of an engine. One without CPU is a gap.
type load struct {
	AtMs       int64    `json:"at_ms"`
	CPUPercent *float64 `json:"cpu_percent"`
	RSSBytes   float64  `json:"rss_bytes"`
	counts
}

type engine struct {
	named
	State   string   `json:"state"`
	Reasons []string `json:"reasons"`
	Points  []load   `json:"points"`
}

type part struct {
	named
	Point point `json:"point"`
}

type detail struct {
	named
	health
	State   string   `json:"state"`
	Reasons []string `json:"reasons"`
	Engines []part   `json:"engines"`
	Points  []point  `json:"points"`
}

type server struct {
	ID              string   `json:"id"`
	State           string   `json:"state"`
	Reason          string   `json:"reason"`
	Requests        *float64 `json:"requests_per_s"` // nil: no engine has reported it; so are the others
	Failures        *float64 `json:"failures_per_s"`
	Connections     *float64 `json:"connections_per_s"`
	OpenConnections *float64 `json:"open_connections"`
}

type pool struct {
	named
	State        string   `json:"state"`
	ServersTotal int      `json:"servers_total"`
	Servers      []server `json:"servers"`
}

// told is what an event says.
type told struct {
	AtMs            int64     `json:"at_ms"`
	Overview        *overview `json:"overview"`
	Engines         []engine  `json:"engines"`
	VirtualServices []detail  `json:"virtual_services"`
	Pools           []pool    `json:"pools"`
}

// pointsMost is how many points of an object are kept.
const pointsMost = 300

// state is what the events so far say together.
type state struct {
	told
	deltas int // events after the snapshot
}

// apply takes the next event.
func (s *state) apply(event client.LiveEvent) error {
	var next told
	if err := json.Unmarshal(event.Data, &next); err != nil {
		return fmt.Errorf("an event of the controller cannot be read: %w", err)
	}
	if event.Name == "delta" {
		next.follow(&s.told)
		s.deltas++
	}
	s.told = next
	return nil
}

// follow puts the points of the event before in front.
func (t *told) follow(before *told) {
	if t.Overview != nil && before.Overview != nil {
		t.Overview.Points = joined(before.Overview.Points, t.Overview.Points)
	}
	for i := range t.Engines {
		was := slices.IndexFunc(before.Engines, func(e engine) bool { return e.UUID == t.Engines[i].UUID })
		if was >= 0 {
			t.Engines[i].Points = joined(before.Engines[was].Points, t.Engines[i].Points)
		}
	}
	for i := range t.VirtualServices {
		one := &t.VirtualServices[i]
		was := slices.IndexFunc(before.VirtualServices, func(d detail) bool { return d.UUID == one.UUID })
		if was >= 0 {
			one.Points = joined(before.VirtualServices[was].Points, one.Points)
		}
	}
}

func joined[P any](before, after []P) []P {
	all := slices.Concat(before, after)
	return all[max(0, len(all)-pointsMost):]
}
