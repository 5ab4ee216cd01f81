package telemetry

import (
	"context"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/client"
)

func TestRowEndsAfterItsTime(t *testing.T) {
	hangs := row{name: "hangs", limit: 10 * time.Millisecond,
		measure: func(ctx context.Context, _ *run) (findings.Finding, error) {
			<-ctx.Done()
			return findings.Finding{}, ctx.Err()
		}}
	if got := (&run{}).measure(context.Background(), hangs); got.OK || got.Unmeasured != "context deadline exceeded" {
		t.Errorf("got %+v", got)
	}
}

func TestEachRowHasANameOfItsOwnAndALimit(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range rows {
		if seen[row.name] || row.limit <= 0 || row.limit >= runTimeout || row.title == "" || row.measure == nil {
			t.Errorf("%+v", row)
		}
		seen[row.name] = true
	}
}

func TestCountsThatRowsNameAreRecorded(t *testing.T) {
	here := &run{Options: Options{Source: "../.."}}
	for _, row := range rows {
		if !strings.HasPrefix(row.name, "instructions") && row.name != "allocations" {
			continue
		}
		if _, err := row.measure(t.Context(), here); err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

func TestSystemCallsAreThoseOfTheWorkloadAndNotOfItsFamily(t *testing.T) {
	lines := `{"workload":"K-1SEG","system_calls":{"weir":4.1}}
{"workload":"K","system_calls":{"weir":4.2}}
`
	if calls, err := callsIn([]byte(lines), "K"); err != nil || calls != 4.2 {
		t.Errorf("got %v, %v", calls, err)
	}
	if _, err := callsIn([]byte(lines), "A1"); err == nil {
		t.Error("A1 was not measured")
	}
}

func TestPercentilesAreComparedByTheirLargestDifference(t *testing.T) {
	found := comparePercentiles(statistics{P50: 99, P95: 154, P99: 206}, statistics{P50: 100, P95: 150, P99: 200})
	if math.Abs(found.Value-3) > 1e-9 || !strings.Contains(found.Note, "p99 206.0 ms, clients saw 200.0 ms") {
		t.Errorf("got %+v", found)
	}
	if found := comparePercentiles(statistics{}, statistics{P50: 100, P95: 150, P99: 200}); found.Value != 100 {
		t.Errorf("a page without percentiles differs by %v %%", found.Value)
	}
}

func TestQuantileIsOneOfTheSpans(t *testing.T) {
	var spans []time.Duration
	for i := range 100 {
		spans = append(spans, time.Duration(100-i))
	}
	if quantile(spans, 0.99) != 99 || quantile(spans, 0.5) != 50 || quantile(nil, 0.99) != 0 {
		t.Errorf("got %v, %v", quantile(spans, 0.99), quantile(spans, 0.5))
	}
}

func TestPartsOfARecordMakeUpItsTotal(t *testing.T) {
	whole := client.Object{"total_time_us": 10.0, "wait_us": 1.0, "server_rtt_us": 2.0, "app_response_time_us": 3.0,
		"data_transfer_time_us": 4.0, "client_rtt_us": 99.0}
	if !addsUp(whole) || !addsUp(client.Object{"total_time_us": 1.0, "wait_us": 1.0}) {
		t.Error("what adds up does not")
	}
	for _, field := range append([]string{"total_time_us"}, parts...) {
		without := maps.Clone(whole)
		delete(without, field)
		if addsUp(without) {
			t.Errorf("it adds up without %s", field)
		}
	}
}
