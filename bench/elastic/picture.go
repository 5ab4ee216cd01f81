package elastic

import (
	"fmt"

	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/verdict"
	"github.com/weir-lb/weir/lab/draw"
)

// pictures are files by name.
func (r Result) pictures() map[string]string {
	pictures := map[string]string{}
	for i, story := range r.Stories {
		pictures[r.storyName(i)] = story.SVG()
	}
	if len(r.Curve) > 1 {
		pictures[r.Row+".svg"] = r.curve()
	}
	return pictures
}

func (r Result) storyName(index int) string { return fmt.Sprintf("%s-%d.svg", r.Row, index+1) }

// table draws each row's value against its bar, which is a line.
func table(machine report.Machine, results []Result) string {
	var bars []verdict.Bar
	for _, r := range results {
		bars = append(bars, verdict.Bar{Verdict: r.Verdict, Title: r.Title, Unit: r.Unit})
	}
	title := "measured against the bar (line): router, engines, servers and clients on one machine with %d cores"
	return verdict.Picture(fmt.Sprintf(title, machine.Cores), bars)
}

// curve draws what numbers of engines carry, in times what one beside them did. The points are those of 1, 2, 3 …
// engines.
func (r Result) curve() string {
	plot := draw.NewPlot("transactions a second, in times those of one engine beside them (line: N)",
		1.1*float64(len(r.Curve)), len(r.Curve))
	for times := 0; times <= len(r.Curve); times += 2 {
		plot.Level(float64(times), fmt.Sprint(times))
	}
	last := len(r.Curve) - 1
	plot.Line(plot.X(0), plot.Y(1), plot.X(last), plot.Y(float64(len(r.Curve))), draw.Ink, 1)
	for _, point := range r.Curve {
		times, column := point.Against*float64(point.Engines), point.Engines-1
		x, y := plot.X(column), plot.Y(times)
		plot.Rect(x-plot.Width()*0.3, y, plot.Width()*0.6, plot.Y(0)-y, verdict.Measured)
		plot.Text(x, y+14, "middle", "normal", fmt.Sprintf("%.2f", point.Against))
		plot.Below(column, fmt.Sprint(point.Engines))
	}
	return plot.SVG()
}
