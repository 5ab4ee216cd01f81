package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-lb/weir/client"
)

// table is rows of cells, the headings first.
type table [][]string

const columnGap = "   "

// print pads each cell to the widest of its column. A line ends with its last cell that is not empty.
func (t table) print(out io.Writer) error {
	var widths []int
	for _, row := range t {
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

// tableOf shows objects in columns; a cell without a value is a dash.
func tableOf(columns []column, objects []client.Object) table {
	headings := make([]string, len(columns))
	for i, c := range columns {
		headings[i] = c.heading
	}
	rows := table{headings}
	for _, object := range objects {
		row := make([]string, len(columns))
		for i, c := range columns {
			row[i] = dash(c.cell(object))
		}
		rows = append(rows, row)
	}
	return rows
}

// at reads a value by names; nil when it is not there.
func at(value any, names ...string) any {
	for _, name := range names {
		switch v := value.(type) {
		case client.Object:
			value = v[name]
		case map[string]any:
			value = v[name]
		default:
			return nil
		}
	}
	return value
}

// listAt reads a list by names; nil when it is not there.
func listAt(value any, names ...string) []any {
	list, _ := at(value, names...).([]any)
	return list
}

func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return firstLine(refName(v))
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// texts are the elements of a list that say something.
func texts(list []any) []string {
	var all []string
	for _, item := range list {
		if said := text(item); said != "" {
			all = append(all, said)
		}
	}
	return all
}

// firstLine stands for a text of many lines, such as a certificate.
func firstLine(value string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(value), "\n")
	if rest != "" {
		first += " …"
	}
	return first
}

// refName shortens a reference such as https://host/api/pool/pool-1#web to web.
func refName(value string) string {
	if _, name, found := strings.Cut(value, "#"); found && strings.Contains(value, "/api/") {
		return name
	}
	return value
}

func dash(cell string) string {
	if cell == "" {
		return "-"
	}
	return cell
}

// age says how long ago a time was that the API gave, in its largest unit or two: "42s", "5m", "3h12m", "4d".
func age(stamp string, now time.Time) string {
	since, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return ""
	}
	switch passed := max(0, now.Sub(since)); {
	case passed < time.Minute:
		return fmt.Sprintf("%ds", int(passed.Seconds()))
	case passed < time.Hour:
		return fmt.Sprintf("%dm", int(passed.Minutes()))
	case passed < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(passed.Hours()), int(passed.Minutes())%60)
	default:
		return fmt.Sprintf("%dd", int(passed.Hours())/24)
	}
}
