package control

import (
	"fmt"

	"github.com/weir-lb/weir/bench/verdict"
	"github.com/weir-lb/weir/lab/draw"
)

// table draws each row's value against its bar, which is a line.
func table(results []Result) string {
	var bars []verdict.Bar
	for _, r := range results {
		title, drawn := fmt.Sprintf("%s; %d services", r.Row, r.Services), r.Verdict
		if !r.judged() {
			title += ", " + r.Word()
			drawn.OK = true // not in the colour of a missed bar
		}
		bars = append(bars, verdict.Bar{Verdict: drawn, Title: title, Unit: r.Unit})
	}
	return verdict.Picture("how the controller scales, measured against the bar (line)", bars)
}

// curve draws figures over numbers of services. The numbers are drawn at equal distances, because they grow by powers.
// The scale begins at zero, so that a constant looks constant. If there are two lines, the upper one is the 99th
// percentile and the lower one the median.
func (r Result) curve() string {
	what := r.PointUnit
	if r.timed() {
		what += ", p99 and p50"
	}
	most := 1e-9
	for _, point := range r.Curve {
		most = max(most, 1.2*point.Value)
	}
	plot := draw.NewPlot(fmt.Sprintf("%s: %s by number of virtual services", r.Row, what), most, len(r.Curve))
	for share := range 5 {
		value := most * float64(share) / 4
		plot.Level(value, draw.Figure(value))
	}
	line := func(of func(Point) float64, colour string) {
		for i, point := range r.Curve {
			x, y := plot.X(i), plot.Y(of(point))
			if i > 0 {
				plot.Line(plot.X(i-1), plot.Y(of(r.Curve[i-1])), x, y, colour, 2)
			}
			plot.Rect(x-3, y-3, 6, 6, colour)
		}
	}
	if r.timed() {
		line(func(p Point) float64 { return p.P50 }, verdict.Measured)
	}
	line(func(p Point) float64 { return p.Value }, draw.Ink)
	for i, point := range r.Curve {
		plot.Text(plot.X(i), plot.Y(point.Value)-10, "middle", "normal", draw.Figure(point.Value))
		plot.Below(i, fmt.Sprint(point.Services))
	}
	return plot.SVG()
}
