package verdict

import (
	"fmt"

	"github.com/weir-lb/weir/lab/draw"
)

// Bar is a verdict as it is drawn.
type Bar struct {
	Verdict
	Title, Unit string
}

const (
	tableWidth, tableLine = 980.0, 22.0
	tableTitles           = 690.0 // titles are left of this, bars right of it
	tableInner            = 120.0
)

// Measured and Missed are the colours of what was measured, and of what misses its bar.
const (
	Measured = "#8fb8de"
	Missed   = "#c62828"
)

// Picture draws each row's value against its bar, which is a line.
func Picture(title string, bars []Bar) string {
	var c draw.Canvas
	c.Text(10, 22, "start", "bold", title)
	for i, bar := range bars {
		y := 34 + tableLine*float64(i)
		c.Text(10, y+13, "start", "normal", bar.Title)
		bar.draw(&c, y)
		c.Text(tableTitles+tableInner+16, y+13, "start", "bold",
			fmt.Sprintf("%s %s; bar %g", draw.Figure(bar.Value), bar.Unit, bar.Verdict.Bar))
	}
	return c.SVG(tableWidth, 46+tableLine*float64(len(bars)))
}

func (b Bar) draw(c *draw.Canvas, y float64) {
	colour := Measured
	if !b.OK {
		colour = Missed
	}
	most := max(b.Value, b.Verdict.Bar, 1e-9)
	c.Rect(tableTitles, y+3, tableInner*b.Value/most, tableLine-8, colour)
	x := tableTitles + tableInner*b.Verdict.Bar/most
	c.Line(x, y, x, y+tableLine-2, draw.Ink, 1.5)
}
