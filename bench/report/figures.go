package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weir-lb/weir/bench/workloads"
)

const (
	// spreadMax is the limit of noise: the ratios of the rounds may differ by this share of their median.
	spreadMax = 0.25
	// RoundsMin are needed to know the spread.
	RoundsMin = 3
	// busyMin is the least share of its time in which a saturated proxy runs or is ready to. A proxy that waits for
	// work has other costs than one at capacity.
	busyMin = 0.9
)

// Figures are the medians of one proxy's rounds at one level.
type Figures struct {
	Sample
	Fault string `json:"fault,omitempty"` // why they count for nothing
}

// Ratio is a proxy's cost over Weir's, taken within each round.
type Ratio struct {
	Median, Least, Most float64
	Rounds              int
}

// Spread is how far the rounds lie apart, as a share of the median.
func (r Ratio) Spread() float64 {
	if r.Median == 0 {
		return 0
	}
	return (r.Most - r.Least) / r.Median
}

// Doubt says why the ratio cannot be trusted; empty when it can.
func (r Ratio) Doubt() string {
	switch {
	case r.Rounds == 0:
		return "" // there is nothing to doubt
	case r.Rounds < RoundsMin:
		return fmt.Sprintf("%d rounds are too few to know the noise", r.Rounds)
	case r.Spread() > spreadMax:
		return fmt.Sprintf("noise: the rounds spread over %.0f %% of the median, more than %.0f %%",
			100*r.Spread(), 100*spreadMax)
	}
	return ""
}

// Doubt says why the row's ratio cannot be trusted; empty when it can. A peer that should have been measured and was
// not may be the best one.
func (r *Row) Doubt() string {
	var words []string
	for _, proxy := range slices.Sorted(maps.Keys(r.Failed)) {
		words = append(words, "without "+proxy)
	}
	for _, proxy := range r.Proxies {
		f := r.Figures(proxy, r.level())
		switch {
		case r.Failed[proxy] != "":
		case f.Fault != "" && proxy != Weir:
			words = append(words, fmt.Sprintf("%s counts for nothing: %s", proxy, f.Fault))
		case r.level() == Saturated && f.Busy > 0 && f.Busy < busyMin:
			words = append(words, fmt.Sprintf("%s was not saturated: it had work for %.0f %% of the time", proxy,
				100*f.Busy))
		}
	}
	if _, ratio := r.Best(r.level()); ratio.Doubt() != "" {
		words = append(words, ratio.Doubt())
	}
	return strings.Join(words, "; ")
}

// Figures of a proxy at a level: medians, the sum of the errors, the first fault.
func (r *Row) Figures(proxy string, level Level) Figures {
	return r.figures(r.Rounds[proxy][level])
}

func (r *Row) figures(rounds []Sample) Figures {
	var f Figures
	if len(rounds) == 0 {
		f.Fault = "not measured"
		return f
	}
	of := func(pick func(Sample) float64) float64 {
		var values []float64
		for _, s := range rounds {
			values = append(values, pick(s))
		}
		return median(values)
	}
	f.CPUus = of(func(s Sample) float64 { return s.CPUus })
	// The split of the medians, so that it adds up to them.
	f.Userus = f.CPUus * of(func(s Sample) float64 { return s.Userus / max(s.Userus+s.Systemus, 1e-9) })
	f.Systemus = f.CPUus - f.Userus
	f.RPS = of(func(s Sample) float64 { return s.RPS })
	f.P50us = of(func(s Sample) float64 { return s.P50us })
	f.P99us = of(func(s Sample) float64 { return s.P99us })
	f.P999us = of(func(s Sample) float64 { return s.P999us })
	f.BytesPerSecond = of(func(s Sample) float64 { return s.BytesPerSecond })
	f.AgentCPUus = of(func(s Sample) float64 { return s.AgentCPUus })
	f.IdleBytes = of(func(s Sample) float64 { return s.IdleBytes })
	f.Busy = of(func(s Sample) float64 { return s.Busy })
	f.TLS = rounds[0].TLS
	for _, s := range rounds {
		f.Errors += s.Errors
		f.Transactions += s.Transactions
		f.Handshakes += s.Handshakes
		f.Resumed += s.Resumed
		f.RSSBytes = max(f.RSSBytes, s.RSSBytes)
		if fault := r.fault(s); f.Fault == "" {
			f.Fault = fault
		}
	}
	return f
}

// RatioTo a peer: how often its cost holds Weir's. Above 1, Weir is cheaper.
func (r *Row) RatioTo(peer string, level Level) Ratio {
	var ratios []float64
	ours, theirs := r.Rounds[Weir][level], r.Rounds[peer][level]
	for i := range min(len(ours), len(theirs)) {
		if r.fault(ours[i]) == "" && r.fault(theirs[i]) == "" && r.cost(ours[i]) > 0 {
			ratios = append(ratios, r.cost(theirs[i])/r.cost(ours[i]))
		}
	}
	return ratioOf(ratios)
}

func ratioOf(rounds []float64) Ratio {
	if len(rounds) == 0 {
		return Ratio{}
	}
	return Ratio{Median: median(rounds), Least: slices.Min(rounds), Most: slices.Max(rounds), Rounds: len(rounds)}
}

// Best is the peer that comes closest to Weir, and the ratio to it; "" without one.
func (r *Row) Best(level Level) (string, Ratio) {
	best, ratio := "", Ratio{}
	for _, proxy := range r.Proxies {
		if proxy == Weir {
			continue
		}
		if to := r.RatioTo(proxy, level); to.Rounds > 0 && (best == "" || to.Median < ratio.Median) {
			best, ratio = proxy, to
		}
	}
	return best, ratio
}

// AgainstBar compares with the bar: "ok", "short", what is missing for a comparison, or "" if there is no bar or no
// value.
func (r *Row) AgainstBar() string {
	bar := r.Workload.Bar
	switch r.Workload.Kind {
	case workloads.Growth:
		return r.growthAgainstBar()
	case workloads.OwnCode:
		return r.ownCodeAgainstBar()
	}
	if best, _ := r.Best(r.level()); best == "" {
		return ""
	}
	_, ratio := r.Best(r.level())
	light, lightRatio := r.Best(Light)
	calls, counted := r.SystemCalls[Weir]
	ours := r.Figures(Weir, r.level())
	enough := ratio.Median >= bar.Must && (light == "" || lightRatio.Median >= bar.Light) &&
		within(calls, bar.SystemCallsMax) && within(ours.CPUus, bar.CPUusMax) &&
		within(ours.IdleBytes, bar.IdleBytesMax)
	judged := against(bar.Must > 0 || bar.Light > 0, enough && ours.Fault == "")
	if judged == "ok" && bar.SystemCallsMax > 0 && !counted {
		return "system calls not counted"
	}
	return judged
}

// within compares with a limit; 0: there is none.
func within(value, limit float64) bool { return limit == 0 || value <= limit }

func against(bar, reached bool) string {
	switch {
	case !bar:
		return ""
	case reached:
		return "ok"
	}
	return "short"
}

// object is the row for programs.
type object struct {
	Workload     string                  `json:"workload"`
	Cores        int                     `json:"cores"`
	Weir         Figures                 `json:"weir"`
	Peers        map[string]Figures      `json:"peers"`
	Ratio        float64                 `json:"ratio_to_best_peer"`
	BestPeer     string                  `json:"best_peer"`
	Spread       float64                 `json:"spread"`
	Doubt        string                  `json:"doubt,omitempty"`
	LightRatio   float64                 `json:"light_ratio"`
	LightBest    string                  `json:"light_best_peer"`
	Light        map[string]Figures      `json:"light"`
	Must         float64                 `json:"must,omitempty"`
	Stretch      float64                 `json:"stretch,omitempty"`
	AgainstBar   string                  `json:"against_bar,omitempty"`
	SystemCalls  map[string]float64      `json:"system_calls,omitempty"`
	Confirmed    map[string]Confirmation `json:"h2load,omitempty"`
	Grown        float64                 `json:"grown,omitempty"`
	GrownLow     float64                 `json:"grown_low,omitempty"`
	GrownHigh    float64                 `json:"grown_high,omitempty"`
	Pairs        int                     `json:"pairs,omitempty"`
	Curve        []curvePoint            `json:"curve,omitempty"`
	OwnCode      *OwnCode                `json:"own_code,omitempty"`
	OwnUsMax     float64                 `json:"own_us_max,omitempty"`
	NotMeasured  map[string]string       `json:"not_measured,omitempty"`
	RoundsOfWeir int                     `json:"rounds"`
}

type curvePoint struct {
	Step int `json:"step"`
	Figures
}

// MarshalJSON writes the row as the one object that scripts read.
func (r *Row) MarshalJSON() ([]byte, error) {
	best, ratio := r.Best(r.level())
	lightBest, light := r.Best(Light)
	o := object{
		Workload: r.Workload.ID, Cores: r.Cores, Weir: r.Figures(Weir, r.level()), Peers: map[string]Figures{},
		Ratio: round(ratio.Median), BestPeer: best, Spread: round(ratio.Spread()), Doubt: r.Doubt(),
		LightRatio: round(light.Median), LightBest: lightBest, Light: map[string]Figures{},
		Must: r.Workload.Bar.Must, Stretch: r.Workload.Bar.Stretch, AgainstBar: r.AgainstBar(),
		SystemCalls: r.SystemCalls, Confirmed: r.Confirmed, NotMeasured: r.Missing(),
		RoundsOfWeir: len(r.Rounds[Weir][r.level()]),
	}
	for _, proxy := range r.Proxies {
		o.Light[proxy] = r.Figures(proxy, Light)
		if proxy != Weir {
			o.Peers[proxy] = r.Figures(proxy, r.level())
		}
	}
	if r.Workload.Kind == workloads.OwnCode {
		o.OwnCode, o.OwnUsMax, o.RoundsOfWeir = r.ownCode(), r.Workload.Bar.OwnUsMax, len(r.OwnCode)
		o.Spread, o.Doubt = round(r.OwnTime().Spread()), r.OwnTime().Doubt()
	}
	if r.Workload.Kind == workloads.Growth {
		grown := r.Grown()
		o.Grown, o.GrownLow, o.GrownHigh, o.Pairs = round(grown.Median), round(grown.Low),
			round(grown.High), grown.Pairs
		o.Doubt = grown.Doubt(r.Workload.Bar.GrowthMax)
		for _, point := range r.Curve {
			o.Weir = r.figures(point.Slices)
			o.Curve = append(o.Curve, curvePoint{point.Step, o.Weir})
		}
	}
	return json.Marshal(o)
}

func round(value float64) float64 { return math.Round(value*1000) / 1000 }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
