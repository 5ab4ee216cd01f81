package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// table is rows of cells, the headings first.
type table [][]string

const columnGap = "   "

// print pads each cell to the widest of its column. A line ends with its last cell that is not empty. What a cell has
// from others is harmless.
func (t table) print(out io.Writer) error {
	var widths []int
	for _, row := range t {
		for i := range row {
			row[i] = harmless(row[i])
		}
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)) + columnGap)
		}
		if _, err := fmt.Fprintln(out, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// alignRight pads the cells of all columns but the first, so that numbers line up. All rows have the same columns.
func (t table) alignRight() { t.alignRightIn(1, len(t[0])-1) }

// alignRightIn pads the cells of some columns.
func (t table) alignRightIn(first, last int) {
	for at := first; at <= last; at++ {
		width := 0
		for _, row := range t {
			width = max(width, utf8.RuneCountInString(row[at]))
		}
		for _, row := range t {
			row[at] = fmt.Sprintf("%*s", width, row[at])
		}
	}
}

// printParts prints tables with an empty line between them. Those without rows are left out.
func printParts(out io.Writer, parts ...table) error {
	parts = slices.DeleteFunc(parts, func(part table) bool { return len(part) == 0 })
	for i, part := range parts {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := part.print(out); err != nil {
			return err
		}
	}
	return nil
}

// tableOf shows objects of a kind in its columns, the name first; a cell without a value is a dash.
func tableOf(kind *schema.Kind, objects []client.Object, others column.Others, now time.Time) table {
	columns := slices.Concat([]column.Column{column.Field("NAME", "name")}, kind.Columns)
	if len(kind.Columns) == 0 {
		columns = append(columns, column.Field("UUID", "uuid"))
	}
	headings := make([]string, len(columns))
	for i, c := range columns {
		headings[i] = c.Heading
	}
	rows := table{headings}
	for _, object := range objects {
		row := make([]string, len(columns))
		for i, c := range columns {
			row[i] = column.Dash(c.Cell(column.Row{Object: object, Others: others, Now: now}))
		}
		rows = append(rows, row)
	}
	return rows
}
