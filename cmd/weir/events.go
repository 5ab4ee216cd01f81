package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema/column"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/text"
)

// recordList is a command that lists records of the controller.
type recordList struct {
	path     string   // with the parameters that are always there
	time     string   // the field with the time
	headings []string // of the table
	cells    func(client.Object) []string

	kind          string        // of query.Types
	headed        bool          // the first line of CSV is printed
	widths        []int         // of the columns while they follow; nil: as wide as the cells
	overlap       time.Duration // how much later than others a record may come
	most          int
	since, until  string
	filters       []string
	follow        bool
	output        *format
	out, warnings io.Writer
}

// eventsCommand shows what happened.
func eventsCommand() *cobra.Command {
	return (&recordList{
		path: "analytics/logs?type=2", kind: query.Events, time: "report_timestamp",
		headings: []string{"TIME", "EVENT", "OBJECT", "WHAT"},
		cells: func(event client.Object) []string {
			return []string{column.Text(event["event_id"]), column.Text(event["obj_name"]),
				column.Text(event["event_description"])}
		},
	}).command("events", "List what happened to engines and virtual services, newest first",
		"event_id, obj_type, obj_uuid, obj_name, tenant, event_description or related_uuids")
}

// auditCommand shows who did what.
func auditCommand() *cobra.Command {
	return (&recordList{
		path: "audit?", kind: query.Audit, time: "time", headings: []string{"TIME", "USER", "FROM",
			"ACTION", "KIND", "OBJECT",
			"REFUSED", "NEW"},
		cells: func(entry client.Object) []string {
			cells := []string{}
			if name := column.Text(entry["name"]); name != "" {
				entry["object"] = name
			}
			for _, name := range []string{"user", "address", "action", "kind", "object", "refused"} {
				cells = append(cells, column.Dash(column.Text(entry[name])))
			}
			return append(cells, changed(entry))
		},
	}).command("audit", "List who changed what, and who tried, newest first, of the kinds that your roles open",
		"user, address, tenant, action, kind, object, refused, old or new")
}

// changed names the fields that an action changed.
func changed(entry client.Object) string {
	is, _ := entry["new"].(map[string]any)
	was, _ := entry["old"].(map[string]any)
	if entry["action"] != "change" {
		return ""
	}
	return strings.Join(differences("", was, is), ", ")
}

// differences names the fields that differ, down to those within objects. is has the fields that were written.
func differences(path string, was, is map[string]any) (said []string) {
	for _, name := range fieldOrder(is) {
		inner, isObject := is[name].(map[string]any)
		before, wasObject := was[name].(map[string]any)
		switch {
		case isObject && (wasObject || was[name] == nil):
			said = append(said, differences(path+name+".", before, inner)...)
		case !reflect.DeepEqual(was[name], is[name]):
			said = append(said, fmt.Sprintf("%s%s: %s → %s", path, name, brief(was[name]), brief(is[name])))
		}
	}
	return said
}

// brief is a value in a few characters.
func brief(value any) string {
	const most = 40
	if value == nil {
		return "-"
	}
	text := []rune(column.Dash(column.Text(value)))
	switch value.(type) {
	case map[string]any, []any:
		encoded, _ := json.Marshal(value) // what was JSON always has one
		text = []rune(string(encoded))
	}
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

func (l *recordList) command(name, short, fields string) *cobra.Command {
	command := &cobra.Command{
		Use: name, Short: short, Args: arguments(),
		Example: "  weir " + name + " --since 2h\n" +
			"  weir " + name + " --since 2026-11-24T09:00:00Z --until 2026-11-24T10:00:00Z --filter 'tenant=admin'",
	}
	l.addFlags(command, fields)
	l.output = addOutput(command)
	command.RunE = func(command *cobra.Command, _ []string) error { return l.run(command.Context()) }
	return command
}

func (l *recordList) addFlags(command *cobra.Command, fields string) {
	flags := command.Flags()
	flags.IntVar(&l.most, "most", 50, "how many")
	flags.StringVar(&l.since, "since", "",
		"from then on: a time (2026-11-24T09:00:00Z), or how long ago (90s, 30m, 2h, 7d)")
	flags.StringVar(&l.until, "until", "", "up to then: a time, or how long ago")
	flags.StringArrayVar(&l.filters, "filter", nil,
		"FIELD=VALUE, with = != ~ (contains) !~ or for numbers < <= > >=; FIELD is "+
			fields+", or all; give it again for a further condition")
	flags.BoolVarP(&l.follow, "follow", "f", false, "go on, and print what comes: oldest first, until Ctrl-C")
}

func (l *recordList) run(ctx context.Context) error {
	session, err := openSession()
	if err != nil {
		return err
	}
	l.out, l.warnings = os.Stdout, os.Stderr
	asked, err := l.parameters(time.Now())
	if err != nil {
		return err
	}
	if l.follow {
		return l.watch(ctx, session, asked)
	}
	found, err := l.read(ctx, session, asked)
	if err != nil {
		return err
	}
	return l.print(found)
}

// parameters are those of the query.
func (l *recordList) parameters(now time.Time) (url.Values, error) {
	if l.most < 1 || l.most > 10_000 {
		return nil, fmt.Errorf("--most %d: give 1 to 10000", l.most)
	}
	if l.follow && l.until != "" {
		return nil, fmt.Errorf("--until: --follow has no end")
	}
	asked := url.Values{"page_size": {strconv.Itoa(l.most)}}
	for flag, given := range map[string]string{"start": l.since, "end": l.until} {
		if given == "" {
			continue
		}
		at, err := moment(given, now)
		if err != nil {
			return nil, fmt.Errorf("--%s %s: %w", map[string]string{"start": "since", "end": "until"}[flag], given, err)
		}
		asked.Set(flag, at.UTC().Format(time.RFC3339Nano))
	}
	names := namesOf(l.kind)
	for _, given := range l.filters {
		filter, err := condition(given, names)
		if err != nil {
			return nil, err
		}
		asked.Add("filter", filter)
	}
	return asked, nil
}

// moment reads a time, or how long ago it was.
func moment(text string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	const day = 24 * time.Hour
	if days, is := strings.CutSuffix(text, "d"); is {
		if count, err := strconv.ParseFloat(days, 64); err == nil && count >= 0 && count < 36600 {
			return now.Add(-time.Duration(count * float64(day))), nil
		}
	}
	ago, err := time.ParseDuration(text)
	if err != nil || ago < 0 {
		return time.Time{}, fmt.Errorf("give a time like 2026-11-24T09:00:00Z, or how long ago: 90s, 30m, 2h, 7d")
	}
	return now.Add(-ago), nil
}

// conditions are the operators of filters, those first that begin with another one.
var conditions = []struct{ sign, op string }{
	{"!=", "ne"}, {"!~", "nc"}, {">=", "ge"}, {"<=", "le"}, {"=", "eq"}, {"~", "co"}, {">", "gt"}, {"<", "lt"},
}

// condition turns FIELD=VALUE into what the API takes. names are other names of fields.
func condition(text string, names map[string]string) (string, error) {
	for i := range text {
		for _, one := range conditions {
			value, is := strings.CutPrefix(text[i:], one.sign)
			if !is || i == 0 {
				continue
			}
			name := text[:i]
			field := cmp.Or(names[name], name)
			if field != name {
				value = inField(name, value)
			}
			quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)
			return fmt.Sprintf(`%s(%s,"%s")`, one.op, field, quoted), nil
		}
	}
	return "", fmt.Errorf("--filter %s: write FIELD=VALUE, with one of = != ~ (contains) !~ < <= > >=", text)
}

// list is an answer with records.
type list struct {
	Results   []client.Object `json:"results"`
	Remaining float64         `json:"percent_remaining"`
	Source    string          `json:"source"`
	Missing   client.Object   `json:"missing"`
}

// print prints records as they came.
func (l *recordList) print(found []client.Object) error {
	switch *l.output {
	case asJSON:
		return printJSON(l.out, found)
	case asCSV:
		return l.printCSV(found, true)
	}
	rows := table{l.headings}
	for _, record := range found {
		rows = append(rows, l.row(record))
	}
	return rows.print(l.out)
}

func (l *recordList) row(record client.Object) []string {
	row := []string{toMillis(column.Text(record[l.time]))}
	for _, cell := range l.cells(record) {
		row = append(row, harmless(cell))
	}
	return row
}

// harmless is a text that a terminal only shows.
func harmless(shown string) string { return text.Shown(shown) }

// harmlessLines is the same for several lines.
func harmlessLines(shown string) string { return text.ShownLines(shown) }

// toMillis cuts a time off after its milliseconds, so that times stand in a column.
func toMillis(moment string) string {
	at, err := time.Parse(time.RFC3339Nano, moment)
	if err != nil {
		return moment
	}
	return at.Format("2006-01-02T15:04:05.000Z07:00")
}

// isAway tells whether the controller answers without its record store.
func isAway(err error) bool { return client.IsStatus(err, http.StatusServiceUnavailable) }
