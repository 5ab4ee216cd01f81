package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/verdict"
	"github.com/weir-lb/weir/client"
)

func measured(most row, found Finding, err error) Result {
	most.limit = time.Minute
	most.measure = func(context.Context, *run) (Finding, error) { return found, err }
	return (&run{}).measure(context.Background(), most)
}

func TestRowHoldsWithinItsBar(t *testing.T) {
	most, least := row{name: "most", bar: 5}, row{name: "least", bar: 97, atLeast: true}
	for _, c := range []struct {
		row   row
		found Finding
		err   error
		want  bool
	}{
		{most, Finding{Value: 5}, nil, true},
		{most, Finding{Value: 5.001}, nil, false},
		{most, Finding{Value: 1, Fault: "3 requests failed"}, nil, false},
		{most, Finding{}, errors.New("there is no nginx"), false},
		{most, Finding{Value: math.NaN()}, nil, false},
		{least, Finding{Value: 97}, nil, true},
		{least, Finding{Value: 96.9}, nil, false},
	} {
		if got := measured(c.row, c.found, c.err); got.OK != c.want {
			t.Errorf("%+v, %v: %+v", c.found, c.err, got)
		}
	}
}

func TestRowEndsAfterItsTime(t *testing.T) {
	hangs := row{name: "hangs", limit: 10 * time.Millisecond,
		measure: func(ctx context.Context, _ *run) (Finding, error) {
			<-ctx.Done()
			return Finding{}, ctx.Err()
		}}
	if got := (&run{}).measure(context.Background(), hangs); got.OK || got.Unmeasured != "context deadline exceeded" {
		t.Errorf("got %+v", got)
	}
}

func TestScriptsReadALineForEachRowAlsoWithoutAValue(t *testing.T) {
	var out bytes.Buffer
	r := &run{Options: Options{Options: verdict.Options{JSON: true, Results: t.TempDir(), Out: &out,
		Progress: io.Discard}}}
	results := []Result{measured(row{name: "change", bar: 100}, Finding{Value: 12.3456}, nil),
		measured(row{name: "webhook", bar: 10}, Finding{}, errors.New("there are no webhooks")),
		measured(row{name: "segments", bar: 1}, Finding{Value: 0.5, Fault: "2 requests failed"}, nil)}
	if err := r.publish(results); !errors.Is(err, verdict.ErrMissed) {
		t.Errorf("got %v", err)
	}
	want := `{"row":"change","value":12.346,"bar":100,"ok":true}
{"row":"webhook","value":null,"bar":10,"ok":false,"reason":"there are no webhooks"}
{"row":"segments","value":0.5,"bar":1,"ok":false,"reason":"2 requests failed"}
`
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
	text, err := os.ReadFile(filepath.Join(r.Results, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"| webhook |", "Not measured: there are no webhooks",
		"**missed**: 2 requests failed"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the page lacks %q:\n%s", part, text)
		}
	}
}

func TestReportKeepsRowsOfEarlierRunsInTheOrderOfTheTable(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"change", "percentiles"} {
		if _, err := write(dir, report.Machine{}, []Result{{Verdict: verdict.Verdict{Row: name,
			Value: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, linesFile))
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for line := range strings.Lines(string(text)) {
		var result Result
		if err := json.Unmarshal([]byte(line), &result); err != nil {
			t.Fatal(err)
		}
		order = append(order, result.Row)
	}
	if strings.Join(order, " ") != "percentiles change" {
		t.Errorf("got %v", order)
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

func TestCountsAreReadByTheNameOfTheirRow(t *testing.T) {
	text := "# row   own code   cryptography   allocations\ncounted with rustc 1.95.0\nrequest   8716    0   0\n" +
		"request_tls12   11563   3409   2\n"
	if found, err := countsIn(text, "request_tls12"); err != nil || found != (counts{11563, 2}) {
		t.Errorf("got %+v, %v", found, err)
	}
	if _, err := countsIn(text, "request_record"); err == nil || err.Error() != "there is no row request_record" {
		t.Errorf("got %v", err)
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
