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

// checksOf has a row for each server of a pool and each of its monitors: on how many engines the monitor passes, how
// long its last check took there at most, and what it says. It is empty for other objects.
func checksOf(object client.Object) table {
	rows := table{{"SERVER", "MONITOR", "PASSES ON", "TOOK", "SAYS"}}
	for _, server := range column.List(object, "runtime", "servers") {
		checks := map[string]*checked{}
		var order []string
		for _, engine := range column.List(server, "engines") {
			for _, monitor := range column.List(engine, "monitors") {
				uuid := lastOf(column.At(monitor, "health_monitor_ref"))
				if checks[uuid] == nil {
					checks[uuid] = new(checked)
					order = append(order, uuid)
				}
				checks[uuid].add(monitor)
			}
		}
		for _, uuid := range order {
			rows = append(rows, checks[uuid].row(nameOf(server), monitorName(object, uuid)))
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return rows
}

// checked is what a monitor finds about a server, over all engines.
type checked struct {
	engines, passes int
	tookUs          float64
	says            []string
}

func (c *checked) add(monitor any) {
	c.engines++
	if column.At(monitor, "up") == true {
		c.passes++
	}
	if took, isNumber := column.At(monitor, "response_time_us").(float64); isNumber {
		c.tookUs = max(c.tookUs, took)
	}
	if reason := column.Text(column.At(monitor, "reason")); reason != "" && !slices.Contains(c.says, reason) {
		c.says = append(c.says, reason)
	}
}

func (c *checked) row(server, monitor string) []string {
	engines := "engines"
	if c.engines == 1 {
		engines = "engine"
	}
	return []string{server, monitor, fmt.Sprintf("%d of %d %s", c.passes, c.engines, engines),
		fmt.Sprintf("%.1f ms", c.tookUs/1000), column.Dash(strings.Join(c.says, "; "))}
}

// monitorName is the name of a monitor of a pool, or else its uuid.
func monitorName(pool client.Object, uuid string) string {
	for _, reference := range column.List(pool, "health_monitor_refs") {
		if lastOf(reference) == uuid {
			return column.Text(reference)
		}
	}
	return uuid
}

// lastOf is the uuid in a reference.
func lastOf(reference any) string {
	path, _, _ := strings.Cut(fmt.Sprint(reference), "#")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// nameOf is what a server is called in its pool, and its state if that is not up.
func nameOf(server any) string {
	name := column.Text(column.At(server, "server_id"))
	state := strings.TrimPrefix(column.Text(column.At(server, "oper_status", "state")), "OPER_")
	if state == "" || state == "UP" {
		return name
	}
	return name + " (" + strings.ToLower(state) + ")"
}
