package draw

// Comparison has figures of several things beside each other, each as a bar with its number. The bars of a row have one
// scale.
type Comparison struct {
	Title string
	Names []string
	Rows  []ComparisonRow
}

// ComparisonRow has one value for each of Names.
type ComparisonRow struct {
	Label  string // what it is, and its unit
	Values []float64
}

const (
	comparisonWidth               = storyWidth
	comparisonLeft                = 330.0
	comparisonTop, comparisonLine = 40.0, 18.0
	comparisonGap                 = 12.0
	comparisonBar                 = 380.0
)

// Picture has a block of bars for each row.
func (c Comparison) Picture() Picture {
	var canvas Canvas
	canvas.Text(10, 20, "start", "bold", c.Title)
	y := comparisonTop
	for _, row := range c.Rows {
		canvas.Text(10, y+13, "start", "normal", row.Label)
		most := 0.0
		for _, value := range row.Values {
			most = max(most, value)
		}
		for n, value := range row.Values {
			length := 0.0
			if most > 0 {
				length = comparisonBar * value / most
			}
			canvas.Text(comparisonLeft-6, y+13, "end", "normal", c.Names[n])
			canvas.Rect(comparisonLeft, y+2, length, comparisonLine-4, inks[n%len(inks)])
			canvas.Text(comparisonLeft+length+6, y+13, "start", "normal", Figure(value))
			y += comparisonLine
		}
		y += comparisonGap
	}
	return Picture{canvas, comparisonWidth, y}
}
