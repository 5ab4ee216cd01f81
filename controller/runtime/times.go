package runtime

import (
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/schema"
)

// timed adds to a page how long requests took, and the round trip to clients, as far as some ended within the span.
func timed(page schema.Object, times fleet.Times) {
	requests, connections := times.Total.Count(), times.ClientRTT.Count()
	if requests+connections == 0 {
		return
	}
	shown := schema.Object{"seconds": times.Span.Seconds(), "requests": int64(requests)}
	if requests > 0 {
		shown["total_ms"], shown["wait_ms"] = statistics(&times.Total), statistics(&times.Wait)
		shown["response_ms"], shown["transfer_ms"] = statistics(&times.Response), statistics(&times.Transfer)
		shown["server_rtt_ms"], shown["app_response_ms"] = statistics(&times.ServerRTT), statistics(&times.AppResponse)
	}
	if connections > 0 {
		shown["client_rtt_ms"], shown["client_rtt_connections"] = statistics(&times.ClientRTT), int64(connections)
	}
	page["times"] = shown
}

// serverTimed adds to the page of a server how long the server needed, as far as there was something within the span.
func serverTimed(page schema.Object, times fleet.ServerTimes) {
	responses := times.AppResponse.Count()
	if responses+times.Connects == 0 {
		return
	}
	shown := schema.Object{"seconds": times.Span.Seconds(), "responses": int64(responses)}
	if responses > 0 {
		shown["app_response_ms"] = statistics(&times.AppResponse)
	}
	if times.Connects > 0 {
		mean := times.MeanConnect()
		shown["connects"], shown["connect_ms"] = int64(times.Connects), schema.Object{"mean": milliseconds(mean)}
	}
	page["times"] = shown
}

func statistics(of interface {
	Mean() time.Duration
	Quantile(q float64) time.Duration
}) schema.Object {
	return schema.Object{
		"mean": milliseconds(of.Mean()), "p50": milliseconds(of.Quantile(0.5)), "p95": milliseconds(of.Quantile(0.95)),
		"p99": milliseconds(of.Quantile(0.99)),
	}
}

// milliseconds has three decimals.
func milliseconds(took time.Duration) float64 {
	return float64(took.Round(time.Microsecond).Microseconds()) / 1000
}

// ticks is a time in ticks, see Histogram in the contract.
func ticks(count uint64) time.Duration {
	return time.Duration(float64(count) / (1 << 20) * float64(time.Second))
}
