package elastic

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weir-lb/weir/bench/verdict"
	"github.com/weir-lb/weir/lab/clients"
	"github.com/weir-lb/weir/lab/draw"
)

// row is one line of the table.
type row struct {
	name, title string
	unit        string // of value and bar
	bar         float64
	atLeast     bool // the value must not be below the bar; else not above it
	measure     func(context.Context, *run) (Finding, error)
}

// Name is what the command line calls it.
func (r row) Name() string  { return r.name }
func (r row) Title() string { return r.title }

var rows = []row{
	{"scale", "one API call takes a virtual service from 1 engine to 64, all advertising and serving", "s", 20,
		false, measureScale},
	{"new-service", "from the POST of a virtual service to the first answer through each of its 8 engines", "s", 3,
		false, measureNewService},
	{"kill", "an engine is killed (kill -9 of all its processes): until no request fails any more", "s", 1.2, false,
		faultRow(killed)},
	{"freeze", "an engine is frozen (SIGSTOP of all its processes): until no request fails any more", "s", 1.2, false,
		faultRow(frozen)},
	{"cut", "an engine is cut off from the router: until no request fails any more", "s", 1.2, false, faultRow(cutOff)},
	{"drain", "engines let go in order (scale-in, disabled, agent ended): failed requests", "requests", 0,
		false, measureDrain},
	{"headless",
		"the controller is away, an engine is killed and started again meanwhile: failed requests on the others",
		"requests", 0, false, measureHeadless},
	{"linear",
		"transactions a second of N engines with a CPU quota each, over N times those of one; the least of N = 1 to 8",
		"of N", 0.9, true, measureLinear},
	{"steps", "scale-out and scale-in at random: failed requests", "requests", 0, false, measureSteps},
}

// Finding is what a row has measured.
type Finding struct {
	Value    float64           `json:"-"`               // as the verdict has it
	Facts    []string          `json:"facts"`           // what else is worth saying
	Broken   []string          `json:"broken"`          // what must hold beside the bar, and does not
	Failures []clients.Failure `json:"failures"`        // the first of them, one by one
	Stories  []draw.Story      `json:"stories"`         // what clients saw over time
	Curve    []Point           `json:"curve,omitempty"` // of a row that goes through numbers of engines
}

// failuresMax of a row are shown one by one.
const failuresMax = 100

func (f *Finding) fact(format string, values ...any) {
	f.Facts = append(f.Facts, fmt.Sprintf(format, values...))
}

// must notes what is broken unless it holds.
func (f *Finding) must(holds bool, format string, values ...any) {
	if !holds {
		f.Broken = append(f.Broken, fmt.Sprintf(format, values...))
	}
}

func (f *Finding) tell(title string, s clients.Seen, marks ...draw.Mark) {
	f.Stories = append(f.Stories, draw.Story{Title: title, Seconds: s.Seconds, Marks: marks})
}

func (f *Finding) show(failures []clients.Failure) {
	f.Failures = append(f.Failures, failures...)
	f.Failures = f.Failures[:min(len(f.Failures), failuresMax)]
}

// Result is a finding held to its bar.
type Result struct {
	verdict.Verdict
	Title    string    `json:"title"`
	Unit     string    `json:"unit"`
	Measured time.Time `json:"measured"`
	How      string    `json:"how"` // router, seed, and whether it was a quick look
	Finding
}

func (r row) judge(f Finding) Result {
	value := math.Round(1000*f.Value) / 1000
	met := value <= r.bar
	if r.atLeast {
		met = value >= r.bar
	}
	return Result{Verdict: verdict.Verdict{Row: r.name, Value: value, Bar: r.bar, OK: met && len(f.Broken) == 0},
		Title: r.title, Unit: r.unit, Finding: f}
}

// Line is the result for people.
func (r Result) Line() string {
	word := "ok"
	if !r.OK {
		word = "MISSED"
	}
	text := fmt.Sprintf("%s  %g %s (bar %g)", word, r.Verdict.Value, r.Unit, r.Bar)
	for _, said := range append(slices.Clone(r.Broken), r.Facts...) {
		text += "\n      " + said
	}
	return text
}
