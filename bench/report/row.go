// Package report turns samples into figures, verdicts and pictures. It measures nothing and starts nothing: the same
// samples always give the same report.
package report

import (
	"fmt"
	"maps"

	"github.com/weir-lb/weir/bench/workloads"
)

// Weir is the name of the proxy that all others are compared with.
const Weir = "weir"

// Level is how much the proxy has to do.
type Level string

const (
	// Saturated: the proxy shares its core with spinning processes and always has a backlog. Only this shows the cost
	// of a transaction at capacity: an idle proxy also pays for wake-ups, and a faster proxy pays more of them.
	Saturated Level = "saturated"
	// Light: the load is the bottleneck and the proxy sleeps in between.
	Light Level = "light"
)

// Sample is one proxy's figures in one round.
type Sample struct {
	CPUus          float64 `json:"cpu_us"` // of the whole process group, for each transaction
	Userus         float64 `json:"user_us"`
	Systemus       float64 `json:"system_us"`
	RPS            float64 `json:"rps"`
	P50us          float64 `json:"p50_us"`
	P99us          float64 `json:"p99_us"`
	P999us         float64 `json:"p999_us"`
	BytesPerSecond float64 `json:"bytes_per_s"`
	Errors         int64   `json:"errors"`
	RSSBytes       int64   `json:"rss_bytes"`
	Transactions   int64   `json:"transactions"`
	Handshakes     int64   `json:"full_handshakes"`
	Resumed        int64   `json:"resumed"`
	TLS            string  `json:"tls,omitempty"`          // what was agreed on
	AgentCPUus     float64 `json:"agent_cpu_us,omitempty"` // Weir's agent, for each transaction; in no ratio
	IdleBytes      float64 `json:"idle_bytes,omitempty"`   // memory of one idle connection
	Busy           float64 `json:"busy,omitempty"`         // share of the time in which it ran or was ready to
}

// Row is one workload on a number of cores, every round of it.
type Row struct {
	Workload workloads.Workload
	Cores    int
	Proxies  []string // in the order in which they are shown; Weir first
	// Rounds by proxy and level. Round i of all proxies was measured together.
	Rounds      map[string]map[Level][]Sample
	SystemCalls map[string]float64 // for each transaction; empty unless they were counted
	Confirmed   map[string]Confirmation
	Curve       []Point           // of a growth workload
	OwnCode     []OwnCode         // of a workload of that kind, one each round
	Failed      map[string]string // proxies that could not be measured, and why
	Lacks       map[string]string // proxies that cannot do what the row asks for, and why
}

// Confirmation is what another load generator measured of a proxy, once.
type Confirmation struct {
	CPUus        float64 `json:"cpu_us"`
	Transactions int64   `json:"transactions"`
}

// Point is Weir's cost at one step of a growth workload. Slice i of the first step and slice i of the last one were
// measured one right after the other.
type Point struct {
	Step   int
	Slices []Sample
}

// NewRow is a row without samples.
func NewRow(w workloads.Workload, cores int) *Row {
	return &Row{Workload: w, Cores: cores, Rounds: map[string]map[Level][]Sample{}, SystemCalls: map[string]float64{},
		Confirmed: map[string]Confirmation{},
		Failed:    map[string]string{}, Lacks: map[string]string{}}
}

// Add appends a sample of the next round.
func (r *Row) Add(proxy string, level Level, s Sample) {
	if r.Rounds[proxy] == nil {
		r.Rounds[proxy] = map[Level][]Sample{}
		r.Proxies = append(r.Proxies, proxy)
	}
	r.Rounds[proxy][level] = append(r.Rounds[proxy][level], s)
}

// Missing says of the proxies that have no figures why.
func (r *Row) Missing() map[string]string {
	missing := maps.Clone(r.Failed)
	maps.Copy(missing, r.Lacks)
	return missing
}

// level is the one that the bar is about.
func (r *Row) level() Level {
	if r.Workload.Kind == workloads.Idle {
		return Light // an idle proxy has no backlog
	}
	return Saturated
}

// cost is what the row compares: CPU time per transaction, or memory per idle connection.
func (r *Row) cost(s Sample) float64 {
	if r.Workload.Kind == workloads.Idle {
		return s.IdleBytes
	}
	return s.CPUus
}

// fault says why a sample counts for nothing; empty when it counts.
func (r *Row) fault(s Sample) string {
	switch {
	case s.Transactions == 0:
		return "no transaction was completed"
	case s.Errors > 0:
		return fmt.Sprintf("%d transactions failed", s.Errors)
	case s.Resumed > 0:
		return fmt.Sprintf("%d sessions were resumed", s.Resumed)
	case r.Workload.Service.TLS != "" && s.Handshakes == 0:
		return "no full handshake was seen"
	}
	return ""
}
