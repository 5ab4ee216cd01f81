package draw

// Plot is a Canvas with a frame for figures in columns. Its scale begins at zero.
type Plot struct {
	Canvas
	most    float64
	columns int
}

// Size of a plot, and where its frame stands.
const (
	plotWidth, plotHeight = 640.0, 320.0
	plotLeft, plotTop     = 70.0, 50.0
	plotInner, plotDeep   = 540.0, 210.0
)

// NewPlot has room for values up to most.
func NewPlot(title string, most float64, columns int) *Plot {
	p := &Plot{most: most, columns: columns}
	p.Text(10, 24, "start", "bold", title)
	return p
}

// Y is the height of a value.
func (p *Plot) Y(value float64) float64 { return plotTop + plotDeep*(1-value/p.most) }

// X is the middle of a column, from 0 on.
func (p *Plot) X(column int) float64 { return plotLeft + p.Width()*(float64(column)+0.5) }

// Width is that of a column.
func (p *Plot) Width() float64 { return plotInner / float64(p.columns) }

// Level is a line across the frame, with its value beside it.
func (p *Plot) Level(value float64, label string) {
	p.Line(plotLeft, p.Y(value), plotLeft+plotInner, p.Y(value), Grid, 1)
	p.Text(plotLeft-8, p.Y(value)+4, "end", "normal", label)
}

// Below labels a column.
func (p *Plot) Below(column int, label string) {
	p.Text(p.X(column), plotTop+plotDeep+20, "middle", "normal", label)
}

// SVG is the file.
func (p *Plot) SVG() string { return p.Canvas.SVG(plotWidth, plotHeight) }
