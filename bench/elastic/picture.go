package elastic

import (
	"fmt"

	"github.com/weir-lb/weir/bench/draw"
	"github.com/weir-lb/weir/bench/report"
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

const (
	tableWidth, tableLine = 980.0, 22.0
	tableTitles           = 690.0 // what is measured stands left of this, against its bar behind
	tableInner            = 120.0
	measured, missed      = "#8fb8de", "#c62828"
)

// table draws each row's value against its bar, which is a line.
func table(machine report.Machine, results []Result) string {
	var c draw.Canvas
	c.Text(10, 22, "start", "bold", fmt.Sprintf("measured against the bar (line): router, engines, servers and clients on one machine with %d cores", machine.Cores))
	for i, r := range results {
		y := 34 + tableLine*float64(i)
		c.Text(10, y+13, "start", "normal", r.Title)
		r.against(&c, y)
		c.Text(tableTitles+tableInner+16, y+13, "start", "bold", fmt.Sprintf("%.3g %s; bar %g", r.Verdict.Value, r.Unit, r.Bar))
	}
	return c.SVG(tableWidth, 46+tableLine*float64(len(results)))
}

func (r Result) against(c *draw.Canvas, y float64) {
	colour := measured
	if !r.OK {
		colour = missed
	}
	most := max(r.Verdict.Value, r.Bar, 1e-9)
	c.Rect(tableTitles, y+3, tableInner*r.Verdict.Value/most, tableLine-8, colour)
	x := tableTitles + tableInner*r.Bar/most
	c.Line(x, y, x, y+tableLine-2, draw.Ink, 1.5)
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
		c.Rect(x(point.Engines)-apart*0.3, height(times), apart*0.6, curveTop+curveDeep-height(times), measured)
		c.Text(x(point.Engines), height(times)+14, "middle", "normal", fmt.Sprintf("%.2f", point.Against))
		c.Text(x(point.Engines), curveTop+curveDeep+18, "middle", "normal", fmt.Sprint(point.Engines))
	}
	return c.SVG(curveWidth, curveHeight)
}
