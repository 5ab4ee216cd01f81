package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// promAnswer is what the API of Prometheus answers to a query.
type promAnswer struct {
	Data struct {
		Type   string          `json:"resultType"`
		Result json.RawMessage `json:"result"`
	} `json:"data"`
	Warnings []string `json:"warnings,omitempty"`
}

// promSeries is a series in such an answer. Value and Values have a time and a number as text.
type promSeries struct {
	Metric    map[string]string
	Value     []any
	Values    [][]any
	Histogram []any
}

func metricsQueryCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "query PROMQL", Short: "Answer a query in PromQL", Args: arguments("PROMQL"),
		Long: `Answer a query in PromQL: the values of now, or with --last how they went. It sees the series of the tenant that
you logged in to; --tenant '*' at the login shows those of all.`,
		Example: `  weir metrics query 'topk(5, sum by (service) (rate(weir_service_requests_total[1m])))'
  weir metrics query 'sum by (cause) (increase(weir_service_failures_total{service="web"}[5m]))' --last 3h --step 5m
  weir metrics query 'histogram_quantile(0.99, sum by (service) (rate(weir_service_total_seconds[5m])))'`,
	}
	var w window
	w.add(command, 0)
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		path, asked := "query", url.Values{"query": {args[0]}}
		if w.last > 0 {
			if err := w.settle(); err != nil {
				return err
			}
			now := time.Now()
			path = "query_range"
			asked.Set("end", strconv.FormatInt(now.Unix(), 10))
			asked.Set("start", strconv.FormatInt(now.Add(-w.last).Unix(), 10))
			asked.Set("step", fmt.Sprint(int(w.step.Seconds())))
		}
		session, err := openSession()
		if err != nil {
			return err
		}
		var answer promAnswer
		if err := session.Get(command.Context(), "weir/promql/api/v1/"+path+"?"+asked.Encode(), &answer); err != nil {
			return err
		}
		if *output == asJSON {
			return printJSON(os.Stdout, answer.Data)
		}
		for _, warning := range answer.Warnings {
			fmt.Fprintln(os.Stderr, "weir:", harmlessLines(fmt.Sprint(warning)))
		}
		rows, err := answer.table()
		if err != nil {
			return err
		}
		if len(rows) == 1 {
			fmt.Println("No series.")
			return nil
		}
		return rows.print(os.Stdout)
	}
	return command
}

// table has a row for each series, and a column for each label.
func (a promAnswer) table() (table, error) {
	if a.Data.Type == "scalar" || a.Data.Type == "string" {
		var value []any
		err := json.Unmarshal(a.Data.Result, &value)
		return table{{"VALUE"}, {valueIn(value)}}, err
	}
	var found []promSeries
	if err := json.Unmarshal(a.Data.Result, &found); err != nil {
		return nil, fmt.Errorf("the answer is not what was asked for: %w", err)
	}
	names := map[string]bool{}
	for _, one := range found {
		for name := range one.Metric {
			names[name] = true
		}
	}
	columns := slices.Sorted(maps.Keys(names))
	headings := make([]string, len(columns))
	for i, name := range columns {
		headings[i] = strings.ToUpper(name)
	}
	rows := table{append(headings, "VALUE")}
	if a.Data.Type == "matrix" {
		rows[0] = append(rows[0], "HOW IT WENT")
	}
	for _, one := range found {
		rows = append(rows, one.row(columns, a.Data.Type == "matrix"))
	}
	return rows, nil
}

func (s promSeries) row(columns []string, went bool) (row []string) {
	for _, name := range columns {
		row = append(row, harmless(s.Metric[name]))
	}
	switch {
	case went && len(s.Values) > 0:
		values := make([]*float64, len(s.Values))
		for i, value := range s.Values {
			if parsed, err := strconv.ParseFloat(valueIn(value), 64); err == nil {
				values[i] = &parsed
			}
		}
		return append(row, numberOf(values[len(values)-1]), sparkline(values))
	case len(s.Histogram) == 2:
		histogram, _ := s.Histogram[1].(map[string]any)
		return append(row, fmt.Sprintf("histogram of %v, sum %v", histogram["count"], histogram["sum"]))
	case went:
		return append(row, "histogram", "")
	}
	return append(row, valueIn(s.Value))
}

func valueIn(pair []any) string {
	if len(pair) != 2 {
		return "-"
	}
	return fmt.Sprint(pair[1])
}
