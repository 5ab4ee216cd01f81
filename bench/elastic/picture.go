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

const (
	curveWidth, curveHeight = 640.0, 320.0
	curveLeft, curveTop     = 70.0, 50.0
	curveInner, curveDeep   = 540.0, 210.0
)

// curve draws what numbers of engines carry, in times what one beside them did.
func (r Result) curve() string {
	var c draw.Canvas
	c.Text(10, 24, "start", "bold", "transactions a second, in times those of one engine beside them (line: N)")
	most := 1.1 * float64(len(r.Curve))
	height := func(times float64) float64 { return curveTop + curveDeep*(1-times/most) }
	for times := 0; times <= len(r.Curve); times += 2 {
		c.Line(curveLeft, height(float64(times)), curveLeft+curveInner, height(float64(times)), draw.Grid, 1)
		c.Text(curveLeft-8, height(float64(times))+4, "end", "normal", fmt.Sprint(times))
	}
	apart := curveInner / float64(len(r.Curve))
	x := func(engines int) float64 { return curveLeft + apart*(float64(engines)-0.5) }
	c.Line(x(1), height(1), x(len(r.Curve)), height(float64(len(r.Curve))), draw.Ink, 1)
	for _, point := range r.Curve {
		times := point.Against * float64(point.Engines)
		c.Rect(x(point.Engines)-apart*0.3, height(times), apart*0.6, curveTop+curveDeep-height(times), verdict.Measured)
		c.Text(x(point.Engines), height(times)+14, "middle", "normal", fmt.Sprintf("%.2f", point.Against))
		c.Text(x(point.Engines), curveTop+curveDeep+18, "middle", "normal", fmt.Sprint(point.Engines))
	}
	return c.SVG(curveWidth, curveHeight)
}
