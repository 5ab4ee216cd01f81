package top

import (
	"slices"
	"strings"
)

// style is how a line looks.
type style int

const (
	plain  style = iota
	strong       // headings
	alarm        // needs attention
	chosen       // the cursor is on it
	faint        // help
)

// line is one line of the screen.
type line struct {
	text  string
	style style
}

// column is one column of a table.
type column struct {
	heading string
	left    bool // its cells begin at the same column; those of the others end at the same column
	// drop says which columns go first where the terminal is narrow, the highest number first; 0: it stays.
	drop int
	cut  bool // only of the last column: its text is cut where the line ends
}

// table is rows of cells below columns.
type table struct {
	columns []column
	rows    []row
}

type row struct {
	cells []string
	alarm bool
}

const columnGap = 2

// lines draws the headings and the rows, in a number of terminal columns. The first column gives way.
func (t table) lines(width int) []line {
	kept, widths := t.fitting(width), t.widths()
	rest := width
	for _, at := range kept[1:] {
		rest -= t.least(at, widths) + columnGap
	}
	widths[0] = max(1, min(widths[0], rest))
	if last := kept[len(kept)-1]; t.columns[last].cut {
		widths[last] = t.least(last, widths) + max(0, rest-widths[0])
	}
	headings := make([]string, len(t.columns))
	for i, column := range t.columns {
		headings[i] = column.heading
	}
	drawn := []line{{t.draw(headings, kept, widths), strong}}
	for _, row := range t.rows {
		one := line{text: t.draw(row.cells, kept, widths)}
		if row.alarm {
			one.style = alarm
		}
		drawn = append(drawn, one)
	}
	return drawn
}

func (t table) widths() []int {
	widths := make([]int, len(t.columns))
	for i, column := range t.columns {
		widths[i] = widthOf(column.heading)
		for _, row := range t.rows {
			widths[i] = max(widths[i], widthOf(row.cells[i]))
		}
	}
	return widths
}

// columnLeast is how narrow the first column, and one that is cut, may become before others are dropped.
const columnLeast = 12

// least is how narrow a column may become, the first one aside.
func (t table) least(at int, widths []int) int {
	if t.columns[at].cut {
		return min(widths[at], columnLeast)
	}
	return widths[at]
}

// fitting returns the columns that fit.
func (t table) fitting(width int) []int {
	kept, widths := []int{}, t.widths()
	for i := range t.columns {
		kept = append(kept, i)
	}
	for {
		need := min(widths[0], columnLeast)
		for _, at := range kept[1:] {
			need += t.least(at, widths) + columnGap
		}
		last := slices.MaxFunc(kept, func(a, b int) int { return t.columns[a].drop - t.columns[b].drop })
		if need <= width || t.columns[last].drop == 0 {
			return kept
		}
		kept = slices.DeleteFunc(kept, func(at int) bool { return at == last })
	}
}

func (t table) draw(cells []string, kept, widths []int) string {
	var drawn strings.Builder
	for i, at := range kept {
		if i > 0 {
			drawn.WriteString(strings.Repeat(" ", columnGap))
		}
		cell := cells[at]
		if pad := widths[at] - widthOf(cell); pad > 0 && !t.columns[at].left {
			cell = strings.Repeat(" ", pad) + cell
		}
		drawn.WriteString(fit(cell, widths[at]))
	}
	return strings.TrimRight(drawn.String(), " ")
}
