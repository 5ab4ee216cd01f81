package control

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weir-lb/weir/bench/verdict"
	"github.com/weir-lb/weir/lab/draw"
)

// row is a line of the table. It is measured at each number of virtual services; its bar is for 5,000.
type row struct {
	name, title string
	unit        string // of value and bar
	pointUnit   string // of the figures at each number of services
	bar         float64
	measure     func(context.Context, *stage) (Point, error)
	value       func(curve []Point) float64
}

// Name is what the command line calls it.
func (r row) Name() string  { return r.name }
func (r row) Title() string { return r.title }

var rows = []row{
	{"change", "one virtual service is changed every 20 ms: from when it is due until its engine acknowledges it, p99",
		"ms", "ms", 100, measureChange, last},
	{"cpu", "CPU time of the controller for one change, in times that with one virtual service",
		"×", "ms", 1.5, measureCPU, growth},
	{"create", "a virtual service is created through REST, p99", "ms", "ms", 15, measureCreate, last},
	{"patch", "a virtual service is patched through REST, p99", "ms", "ms", 15, measurePatch, last},
	{"name", "a virtual service is read by its name through REST, p99", "ms", "ms", 2, measureName, last},
	{"search", "virtual services are searched for a text through REST, p99", "ms", "ms", 50, measureSearch, last},
	{"start", "from the start of the controller's process on its data until an engine has its first Plan",
		"s", "s", 5, measureStart, last},
	{"memory", "resident memory of the controller after that, once all engines have their Plans",
		"MiB", "MiB", 600, measureMemory, last},
	{"swap",
		"a data plane has all virtual services and gets a Plan in which one is changed: until it serves by it, p99",
		"ms", "ms", 20, measureSwap, last},
}

// Point is what was measured at one number of virtual services, in the row's unit.
type Point struct {
	Services int     `json:"services"`
	Value    float64 `json:"value"` // what the bar is held to: the 99th percentile, where there are many
	P50      float64 `json:"p50,omitempty"`
	Count    int     `json:"count"`            // of measurements
	Failed   int     `json:"failed"`           // of them, or of the requests that clients made meanwhile
	Waited   float64 `json:"waited,omitempty"` // of the controller: threads that were ready and had no core, on average
	Note     string  `json:"note,omitempty"`
}

func (p Point) text(unit string) string {
	text := fmt.Sprintf("%s %s", draw.Figure(p.Value), unit)
	if p.P50 > 0 {
		text = fmt.Sprintf("p99 %s %s, p50 %s %[2]s of %[4]d", draw.Figure(p.Value), unit, draw.Figure(p.P50), p.Count)
	}
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	if p.Note != "" {
		text += "; " + p.Note
	}
	if p.Waited > 0 {
		text += fmt.Sprintf("; %.2f threads of the controller waited for a core", p.Waited)
	}
	return text
}

// pointOf makes a point, in milliseconds, from measured times. Failed calls are among them, with the time that was
// waited for them.
func pointOf(spans []time.Duration, failed int) Point {
	return Point{Value: milliseconds(quantile(spans, 0.99)), P50: milliseconds(quantile(spans, 0.5)),
		Count: len(spans), Failed: failed}
}

// quantile is the smallest time that this share of the times does not exceed; 0 if there are none.
func quantile(spans []time.Duration, share float64) time.Duration {
	if len(spans) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(spans))
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

func milliseconds(span time.Duration) float64 {
	return math.Round(1000*float64(span)/float64(time.Millisecond)) / 1000
}

// last is the figure at the largest number of services.
func last(curve []Point) float64 { return curve[len(curve)-1].Value }

// growth is the last figure in times the first.
func growth(curve []Point) float64 {
	if curve[0].Value <= 0 {
		return 0
	}
	return last(curve) / curve[0].Value
}

// Finding is what a row has measured.
type Finding struct {
	Curve []Point `json:"curve"`
}

// Result is a finding held to the bar.
type Result struct {
	verdict.Verdict
	Title     string    `json:"title"`
	Unit      string    `json:"unit"`
	PointUnit string    `json:"point_unit"`
	Services  int       `json:"services"` // at the end of the curve
	Measured  time.Time `json:"measured"`
	Quick     bool      `json:"quick"`
	Finding
}

// judge holds a finding to the bar. A finding is not ok if anything failed at any number of services, if nothing was
// measured, or if there were fewer services than the bar is for.
func (r row) judge(f Finding) Result {
	value := math.Round(1000*r.value(f.Curve)) / 1000
	services := f.Curve[len(f.Curve)-1].Services
	ok := value > 0 && value <= r.bar && services >= fullServices
	for _, point := range f.Curve {
		ok = ok && point.Failed == 0
	}
	return Result{Verdict: verdict.Verdict{Row: r.name, Value: value, Bar: r.bar, OK: ok}, Title: r.title, Unit: r.unit,
		PointUnit: r.pointUnit, Services: services, Finding: f}
}

// failed adds up what failed at all numbers of services.
func (f Finding) failed() (sum int) {
	for _, point := range f.Curve {
		sum += point.Failed
	}
	return sum
}

// judged tells whether there were as many services as the bar is for.
func (r Result) judged() bool { return r.Services >= fullServices }

// Word says in a table whether the bar is met.
func (r Result) Word() string {
	if !r.judged() {
		return fmt.Sprintf("not judged: the bar is for %d", fullServices)
	}
	return r.Verdict.Word()
}

// Line is the result for people.
func (r Result) Line() string {
	word := "MISSED"
	switch {
	case !r.judged():
		word = "NOT JUDGED"
	case r.OK:
		word = "ok"
	}
	return fmt.Sprintf("%s  %g %s at %d services, %d failed (bar %g, 0; at %d)",
		word, r.Value, r.Unit, r.Services, r.failed(), r.Bar, fullServices)
}
