package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/api/record"
	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema/column"
)

const (
	openPrefix  = "open_"   // of a gauge: open_connections beside connections
	errorPrefix = "errors_" // of a counter of failures: errors_server_refused
)

// counterOrder is from connections inwards to what is sent. Counters that are not here come last.
var counterOrder = []string{"connections", "http2_connections", "tls_handshakes", "tls13_handshakes", "tls_resumptions",
	"tls_failures", "requests", "http2_requests", "grpc_calls", "websockets", "requests_get", "requests_head",
	"requests_post", "requests_put", "requests_delete", "requests_options", "requests_trace", "requests_patch",
	"requests_other", "responses_1xx", "responses_2xx", "responses_3xx", "responses_4xx", "responses_5xx",
	"local_responses", "local_responses_1xx", "local_responses_2xx", "local_responses_3xx", "local_responses_4xx",
	"local_responses_5xx", "excluded_responses_4xx", "excluded_responses_5xx", "cache_lookups", "cache_hits",
	"reselects", "client_aborts",
	"received_bytes", "sent_bytes", "received_datagrams",
	"sent_datagrams"}

// takeGroup removes a group of values from the runtime of an object and returns it. Nil: there is no such group.
func takeGroup(object client.Object, name string) (rest client.Object, group map[string]any) {
	return take[map[string]any](object, name)
}

// takeList is as takeGroup, for a list.
func takeList(object client.Object, name string) (rest client.Object, list []any) {
	return take[[]any](object, name)
}

func take[T any](object client.Object, name string) (rest client.Object, taken T) {
	runtime, _ := object["runtime"].(map[string]any)
	taken, exists := runtime[name].(T)
	if !exists {
		return object, taken
	}
	rest, runtime = maps.Clone(object), maps.Clone(runtime)
	delete(runtime, name)
	rest["runtime"] = runtime
	return rest, taken
}

// countersOf has a row for each counter: the total, what came per second, and how many are open now. It is empty if
// nothing was counted yet.
func countersOf(counters map[string]any) table {
	if counters == nil {
		return nil
	}
	rows := table{{"COUNTER", "TOTAL", "PER SECOND", "OPEN NOW"}}
	for _, name := range counterNames(counters) {
		rows = append(rows, []string{name, column.Text(counters[name]), perSecond(counters, name),
			column.Text(counters[openPrefix+name])})
	}
	return rows
}

// causesOf has a row for each cause of failures that occurred, with what it means. It is empty if none did.
func causesOf(counters map[string]any) table {
	rows := table{{"FAILURE", "TOTAL", "PER SECOND", "WHAT IT MEANS"}}
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		if cause, isCause := strings.CutPrefix(name, errorPrefix); isCause {
			rows = append(rows, []string{cause, column.Text(counters[name]), perSecond(counters, name),
				record.CauseMeaning(cause)})
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return rows
}

func counterNames(counters map[string]any) (names []string) {
	for name, value := range counters {
		_, isGroup := value.(map[string]any)
		if !isGroup && !strings.HasPrefix(name, openPrefix) && !strings.HasPrefix(name, errorPrefix) {
			names = append(names, name)
		}
	}
	rank := func(name string) int {
		if at := slices.Index(counterOrder, name); at >= 0 {
			return at
		}
		return len(counterOrder)
	}
	slices.SortFunc(names, func(a, b string) int {
		if order := rank(a) - rank(b); order != 0 {
			return order
		}
		return strings.Compare(a, b)
	})
	return names
}

// perSecond is empty where the rate is not known yet.
func perSecond(counters map[string]any, name string) string {
	rate, isNumber := column.At(counters, "per_second", name).(float64)
	if !isNumber {
		return ""
	}
	return strconv.FormatFloat(rate, 'f', 1, 64)
}
