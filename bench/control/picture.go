package control

import (
	"fmt"

	"github.com/weir-lb/weir/bench/draw"
	"github.com/weir-lb/weir/bench/verdict"
)

// table draws each row's value against its bar, which is a line.
func table(results []Result) string {
	var bars []verdict.Bar
	for _, r := range results {
		title, drawn := fmt.Sprintf("%s; %d services", r.Row, r.Services), r.Verdict
		if !r.judged() {
			title += ", " + r.Word()
			drawn.OK = true // it has not missed the bar either
		}
		bars = append(bars, verdict.Bar{Verdict: drawn, Title: title, Unit: r.Unit})
	}
	return verdict.Picture("how the controller scales, measured against the bar (line)", bars)
}

const (
	curveWidth, curveHeight = 640.0, 320.0
	curveLeft, curveTop     = 70.0, 50.0
	curveInner, curveDeep   = 540.0, 210.0
)

// curve draws figures over numbers of services, evenly apart: they grow by powers. The scale begins at zero, so that
// what looks flat is flat. Where there are two lines, the upper one is the 99th percentile and the lower one the
// median.
func (r Result) curve() string {
	var c draw.Canvas
	what := r.PointUnit
	if r.timed() {
		what += ", p99 and p50"
	}
	c.Text(10, 24, "start", "bold", fmt.Sprintf("%s: %s by number of virtual services", r.Row, what))
	most := 1e-9
	for _, point := range r.Curve {
		most = max(most, 1.2*point.Value)
	}
	height := func(value float64) float64 { return curveTop + curveDeep*(1-value/most) }
	for share := range 5 {
		value := most * float64(share) / 4
		c.Line(curveLeft, height(value), curveLeft+curveInner, height(value), draw.Grid, 1)
		c.Text(curveLeft-8, height(value)+4, "end", "normal", draw.Figure(value))
	}
	x := func(i int) float64 { return curveLeft + curveInner*(float64(i)+0.5)/float64(len(r.Curve)) }
	line := func(of func(Point) float64, colour string) {
		for i, point := range r.Curve {
			if i > 0 {
				c.Line(x(i-1), height(of(r.Curve[i-1])), x(i), height(of(point)), colour, 2)
			}
			c.Rect(x(i)-3, height(of(point))-3, 6, 6, colour)
		}
	}
	if r.timed() {
		line(func(p Point) float64 { return p.P50 }, verdict.Measured)
	}
	line(func(p Point) float64 { return p.Value }, draw.Ink)
	for i, point := range r.Curve {
		c.Text(x(i), height(point.Value)-10, "middle", "normal", draw.Figure(point.Value))
		c.Text(x(i), curveTop+curveDeep+20, "middle", "normal", fmt.Sprint(point.Services))
	}
	return c.SVG(curveWidth, curveHeight)
}
