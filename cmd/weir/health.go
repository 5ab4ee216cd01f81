package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

func healthCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "health",
		Short: "Show a health score, what costs points, and how it went",
		Long: `Show the health score of an object, from 0 to 100, each reason that costs points, the formula with its numbers,
and the scores of the objects that it is made of. docs/health.md explains the formula.`,
		Example: `  weir health vs web
  weir health pool web --last 24h
  weir health engine engine-1`,
	}
	for _, name := range []string{"virtualservice", "pool", "serviceengine"} {
		kind, _ := schema.Lookup(name)
		command.AddCommand(healthOfCommand(kind))
	}
	return menu(command)
}

func healthOfCommand(kind *schema.Kind) *cobra.Command {
	command := &cobra.Command{
		Use: kind.Name + " NAME", Aliases: kind.Short, Short: "Show that of a " + kind.Title + also(kind.Short),
		Args: arguments("NAME"), ValidArgsFunction: completeNames(kind, 1),
	}
	var w window
	w.add(command, 30*time.Minute)
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := w.settle(); err != nil {
			return err
		}
		session, object, err := open(command.Context(), kind, args)
		if err != nil {
			return err
		}
		asked := url.Values{"step": {fmt.Sprint(int(w.step.Seconds()))}, "limit": {fmt.Sprint(int(w.last / w.step))}}
		var page healthPage
		path := fmt.Sprintf("analytics/healthscore/%s/%v?%s", kind.Name, object["uuid"], asked.Encode())
		if err := session.Get(command.Context(), path, &page); err != nil {
			return err
		}
		if *output == asJSON {
			return printJSON(os.Stdout, page.Series)
		}
		return page.print(os.Stdout, args[0], w)
	}
	return command
}

// healthPage is what the API answers about one object.
type healthPage struct {
	Series []struct {
		Header client.Object   `json:"header"`
		Data   []client.Object `json:"data"`
	} `json:"series"`
}

func (p healthPage) print(out io.Writer, name string, w window) error {
	var now client.Object
	var values []*float64
	for _, series := range p.Series {
		for _, point := range series.Data {
			now = point
			if value, known := point["value"].(float64); known {
				values = append(values, &value)
			} else {
				values = append(values, nil)
			}
		}
	}
	if now == nil || now["weir_band"] == nil {
		_, err := fmt.Fprintf(out, "%s has no health score yet: the first comes within 15 s.\n", harmless(name))
		return err
	}
	fmt.Fprintf(out, "%s: %s\n", harmless(name), scoreText(now))
	fmt.Fprintf(out, "last %s: %s\n\n", short(w.last), sparkline(values))
	if formula := column.Text(now["weir_formula"]); formula != "" {
		fmt.Fprintf(out, "%s\n\n", formula)
	}
	return printParts(out, reasonsOf(now), nestedOf(now))
}

// scoreText is a score in words: "71 fair", or why there is none.
func scoreText(of client.Object) string {
	band := column.Text(of["weir_band"])
	if of["value"] == nil {
		return "no score: " + harmless(column.Text(of["reason"]))
	}
	return column.Text(of["value"]) + " " + band
}

// reasonsOf has a row for each reason that costs points.
func reasonsOf(of client.Object) table {
	rows := table{{"POINTS", "PART", "WHY", "MEASURED BY"}}
	for _, item := range column.List(map[string]any(of), "weir_reasons") {
		text := func(name string) string { return harmless(column.Text(column.At(item, name))) }
		points, _ := column.At(item, "points").(float64)
		rows = append(rows, []string{fmt.Sprintf("−%.1f", points), text("part"), text("reason"), text("reason_attr")})
	}
	if len(rows) == 1 {
		return table{{"Nothing costs points."}}
	}
	return rows
}

// nestedOf has a row for each object that the score is made of, those of a pool indented.
func nestedOf(of client.Object) table {
	rows := table{{"MADE OF", "NAME", "HEALTH", "WHY"}}
	var add func(indent string, list []any)
	add = func(indent string, list []any) {
		for _, item := range list {
			object, _ := item.(map[string]any)
			kind := column.Text(object["entity_type"])
			if described, known := schema.Lookup(kind); known && len(described.Short) > 0 {
				kind = described.Short[0]
			}
			rows = append(rows, []string{indent + kind, harmless(column.Text(object["name"])), scoreText(object),
				strings.TrimSpace(harmless(column.Text(object["reason"])))})
			add(indent+"  ", column.List(object, "nested"))
		}
	}
	add("", column.List(map[string]any(of), "nested"))
	if len(rows) == 1 {
		return nil
	}
	return rows
}
