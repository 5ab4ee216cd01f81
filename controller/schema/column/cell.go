package column

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// At returns the value at a path of names; nil: there is none.
func At(value any, names ...string) any {
	for _, name := range names {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[name]
	}
	return value
}

// List returns the list at a path of names; nil: there is none.
func List(value any, names ...string) []any {
	list, _ := At(value, names...).([]any)
	return list
}

// Text returns the text of a value in a cell: the name in a reference, or the first of several lines.
func Text(value any) string {
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

// Texts returns the texts of the elements of a list, without empty ones.
func Texts(list []any) []string {
	var all []string
	for _, item := range list {
		if said := Text(item); said != "" {
			all = append(all, said)
		}
	}
	return all
}

// firstLine shortens a text with many lines, such as a certificate.
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

// Dash returns "-" for an empty cell.
func Dash(cell string) string {
	if cell == "" {
		return "-"
	}
	return cell
}

// Age returns the time that has passed since a time stamp of the API, in one or two units: "42s", "5m", "3h12m", "4d".
func Age(stamp string, now time.Time) string {
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
