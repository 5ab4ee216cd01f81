package main

import (
	"fmt"
	"strconv"

	"github.com/weir-lb/weir/controller/schema/column"
)

// timeParts are the rows of the table, by the names that the pages have, too. Indented rows are parts of the row above.
var timeParts = []struct{ name, field string }{
	{"total", "total_ms"}, {"  wait", "wait_ms"}, {"  server RTT + app response", "response_ms"},
	{"    server RTT", "server_rtt_ms"}, {"    app response", "app_response_ms"}, {"  transfer", "transfer_ms"},
	{"client RTT", "client_rtt_ms"},
}

// timesOf has a row for each part of the time of requests, and for the round trip to clients, in milliseconds. It is
// empty if there was nothing to measure recently.
func timesOf(times map[string]any) table {
	if times == nil {
		return nil
	}
	number := func(path ...string) float64 {
		value, _ := column.At(times, path...).(float64)
		return value
	}
	decimals := 2
	if number("total_ms", "p99") < 10 {
		decimals = 3
	}
	rows := table{{fmt.Sprintf("TIME (last %.0f s, ms)", number("seconds")), "MEAN", "P50", "P95", "P99"}}
	for _, part := range timeParts {
		if times[part.field] == nil {
			continue
		}
		row := []string{part.name}
		for _, statistic := range []string{"mean", "p50", "p95", "p99"} {
			row = append(row, strconv.FormatFloat(number(part.field, statistic), 'f', decimals, 64))
		}
		rows = append(rows, row)
	}
	rows.alignRight()
	return rows
}
