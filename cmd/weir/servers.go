package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema/column"
)

// serversOf has a row for each server of a pool, with what it did in the last minute: how long it needed for a response
// by itself, and how long a connect took. It is empty for other objects, and if no server was used within the minute.
func serversOf(object client.Object) table {
	servers, _ := column.At(object, "runtime", "servers").([]any)
	var seconds float64
	rows := table{{"", "REQUESTS PER SECOND", "OPEN", "MEAN", "P50", "P95", "P99", "CONNECT", "4XX",
		"5XX", "FAILURES"}}
	for _, item := range servers {
		server, _ := item.(map[string]any)
		if span, isNumber := column.At(server, "times", "seconds").(float64); isNumber {
			seconds = max(seconds, span)
		}
		number := func(name string) string { return column.Text(column.At(server, "counters", name)) }
		took := func(path ...string) string { return decimal(server, 2, slices.Concat([]string{"times"}, path)...) }
		rows = append(rows, []string{
			nameOf(server), decimal(server, 1, "counters", "per_second", "requests"), number("open_connections"),
			took("app_response_ms", "mean"), took("app_response_ms", "p50"), took("app_response_ms", "p95"),
			took("app_response_ms", "p99"), took("connect_ms", "mean"),
			number("responses_4xx"), number("responses_5xx"), number("failures"),
		})
	}
	if seconds == 0 {
		return nil
	}
	rows[0][0] = fmt.Sprintf("SERVER (last %.0f s, ms)", seconds)
	rows.alignRight()
	return rows
}

// nameOf is what a server is called in its pool, and its state if that is not up.
func nameOf(server map[string]any) string {
	name := column.Text(server["server_id"])
	state := strings.TrimPrefix(column.Text(column.At(server, "oper_status", "state")), "OPER_")
	if state == "" || state == "UP" {
		return name
	}
	return name + " (" + strings.ToLower(state) + ")"
}
