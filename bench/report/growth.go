package report

import (
	"fmt"
	"slices"

	"github.com/weir-lb/weir/bench/workloads"
)

// intervalErrorMax is how often the interval of a median may miss it.
const intervalErrorMax = 0.05

// Grown is the cost of the last step of a growth workload, in multiples of the first step's cost: the median of pairs
// that were measured one right after the other, and the confidence interval of the median (Low to High).
type Grown struct {
	Median, Low, High float64
	Pairs             int
}

// Grown compares each slice of the last step with the slice of the first step that was measured beside it.
func (r *Row) Grown() Grown {
	if len(r.Curve) < 2 {
		return Grown{}
	}
	first, last := r.Curve[0].Slices, r.Curve[len(r.Curve)-1].Slices
	var growth []float64
	for i := range min(len(first), len(last)) {
		if r.fault(first[i]) == "" && r.fault(last[i]) == "" {
			growth = append(growth, last[i].CPUus/first[i].CPUus)
		}
	}
	if len(growth) == 0 {
		return Grown{}
	}
	low, high := medianInterval(growth)
	return Grown{Median: median(growth), Low: low, High: high, Pairs: len(growth)}
}

// medianInterval is the confidence interval of the sign test, which assumes nothing about the distribution of noise. It
// leaves out values at each end, as long as the probability of so few values beyond the true median is within the
// allowed error.
func medianInterval(values []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	left := signsAside(len(sorted))
	return sorted[left], sorted[len(sorted)-1-left]
}

// signsAside is the number of values to leave out at each end. It follows from the binomial distribution of n fair
// coins.
func signsAside(n int) int {
	chance, below := 1.0, 0.0 // of exactly and of at most so many heads
	for range n {
		chance /= 2
	}
	for heads := range n/2 + 1 {
		below += chance
		if 2*below > intervalErrorMax {
			return max(0, heads-1)
		}
		chance *= float64(n-heads) / float64(heads+1)
	}
	return max(0, n/2-1)
}

// pairsMin are the fewest whose interval can be wrong as seldom as allowed: 2 / 2^6 is.
const pairsMin = 6

// Doubt says why the growth cannot be held against its bar; empty when it can.
func (g Grown) Doubt(growthMax float64) string {
	bar := 1 + growthMax
	switch {
	case g.Pairs == 0:
		return "" // there is nothing to doubt
	case g.Pairs < pairsMin:
		return fmt.Sprintf("%d pairs are too few to know the noise", g.Pairs)
	case g.Low <= bar && g.High > bar:
		return fmt.Sprintf("noise: the growth is %s, on both sides of the bar", g.interval())
	case g.High <= bar && g.High-g.Low > 2*growthMax:
		return fmt.Sprintf("noise: the growth is %s, wider than the bar to both sides", g.interval())
	}
	return ""
}

func (g Grown) interval() string {
	if g.Pairs == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f to %+.1f %%", 100*(g.Low-1), 100*(g.High-1))
}

func (g Grown) text() string {
	if g.Pairs == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", 100*(g.Median-1))
}

// growthAgainstBar wants every step measured and the median within the bar.
func (r *Row) growthAgainstBar() string {
	grown, most := r.Grown(), r.Workload.Bar.GrowthMax
	whole := len(r.Curve) == len(r.Workload.Growth.Steps)
	return against(most > 0 && len(r.Curve) > 1, whole && grown.Pairs > 0 && grown.Median <= 1+most)
}

// growthCaveat says what the interval does not tell.
func (r *Row) growthCaveat() string {
	if r.Workload.Growth.Of == workloads.GrowConnections {
		return "All steps are the same process."
	}
	return "Each step is a process of its own: what differs between two of the same size, as where their memory lies, counts as growth."
}

func (r *Row) growthCells() []string {
	grown, bar := r.Grown(), r.Workload.Bar
	return []string{r.growthText(), "", grown.text(), grown.interval(), "",
		fmt.Sprintf("≤ +%.0f %%", 100*bar.GrowthMax),
		fmt.Sprintf("%.0f", 100*bar.GrowthStretch), r.judged(grown.Doubt(bar.GrowthMax))}
}

func (r *Row) growthText() string {
	if len(r.Curve) == 0 {
		return "not measured"
	}
	first, last := r.Curve[0], r.Curve[len(r.Curve)-1]
	return fmt.Sprintf("%d → %d %s: %s → %s", first.Step, last.Step, r.Workload.Growth.Of,
		r.costText(r.figures(first.Slices)),
		r.costText(r.figures(last.Slices)))
}

func (r *Row) writeGrowth(write func(string, ...any)) {
	write("| %s | CPU µs (user + system) | requests/s | errors |", r.Workload.Growth.Of)
	write("|---|---|---|---|")
	for _, point := range r.Curve {
		f := r.figures(point.Slices)
		write("| %d | %s | %.0f | %d |", point.Step, r.costText(f), f.RPS, f.Errors)
	}
	if grown := r.Grown(); grown.Pairs > 0 {
		write(
			"\nGrowth from the first to the last step: %s, the median of %d pairs of slices, each measured one right after the", grown.text(),
			grown.Pairs)
		write("other; by the sign test it is %s, which %.0f of 100 runs get wrong.\n%s", grown.interval(),
			100*intervalErrorMax,
			r.growthCaveat())
	}
	write("\n![growth](%s)\n", r.pictureName())
}
