package main

import (
	"bytes"
	"testing"
)

func TestTimesOfAFewMillisecondsHaveThreeDecimals(t *testing.T) {
	same := func(ms float64) map[string]any { return map[string]any{"mean": ms, "p50": ms, "p95": ms, "p99": ms} }
	rows := timesOf(map[string]any{
		"seconds": 5.0, "total_ms": same(9.9), "wait_ms": same(0.001), "response_ms": same(9.899),
		"transfer_ms": same(0), "server_rtt_ms": same(0.5), "app_response_ms": same(9.399),
	})
	var out bytes.Buffer
	if err := rows.print(&out); err != nil {
		t.Fatal(err)
	}
	const want = "" +
		"TIME (last 5 s, ms)            MEAN     P50     P95     P99\n" +
		"total                         9.900   9.900   9.900   9.900\n" +
		"  wait                        0.001   0.001   0.001   0.001\n" +
		"  server RTT + app response   9.899   9.899   9.899   9.899\n" +
		"    server RTT                0.500   0.500   0.500   0.500\n" +
		"    app response              9.399   9.399   9.399   9.399\n" +
		"  transfer                    0.000   0.000   0.000   0.000\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}
