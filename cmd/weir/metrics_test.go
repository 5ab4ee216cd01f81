package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func values(numbers ...float64) (list []*float64) {
	for _, number := range numbers {
		if number < 0 {
			list = append(list, nil)
		} else {
			list = append(list, &number)
		}
	}
	return list
}

func TestSparklineGoesFromZeroToTheLargestValue(t *testing.T) {
	for want, of := range map[string][]*float64{
		"▁▂▃▄▅▆▇█": values(0, 1, 2, 3, 4, 5, 6, 7),
		"▁▁▁":      values(0, 0, 0),
		"███":      values(5, 5, 5),
		"▁  █":     values(0, -1, -1, 9),
		"█▂":       values(1000, 1, -1),
		"":         values(-1, -1),
	} {
		if got := sparkline(of); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNumbersAreShort(t *testing.T) {
	for want, value := range map[string]float64{"0": 0, "0.0012": 0.0012, "0.25": 0.25, "12.3": 12.34, "123": 123.4,
		"9999": 9999, "12.3k": 12340, "1.23M": 1.234e6, "56.0G": 5.599e10, "-2.50": -2.5, "3": 3} {
		if got := number(value); got != want {
			t.Errorf("%v is %s, want %s", value, got, want)
		}
	}
}

func TestMetricsLineUp(t *testing.T) {
	var answer metricsAnswer
	if err := json.Unmarshal([]byte(`{"series": [
		{"header": {"name": "l7_client.avg_total_requests", "units": "PER_SECOND",
			"statistics": {"min": 0, "max": 12345, "mean": 411.5, "num_samples": 3}},
			"data": [{"value": 0}, {"value": 12345}, {"value": 8.25}]},
		{"header": {"name": "weir.p99_total_time", "units": "MILLISECONDS", "statistics": {"num_samples": 0}},
			"data": [{"value": null, "is_null": true}, {"value": null, "is_null": true}, {"value": null}]}]}`),
		&answer); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := answer.table(window{last: 90 * time.Minute, step: 30 * time.Minute}).print(&out); err != nil {
		t.Fatal(err)
	}
	want := `METRIC                         UNIT    NOW   MEAN   LEAST    MOST   LAST 1h30m, EACH 30m
l7_client.avg_total_requests   1/s    8.25    412       0   12.3k   ▁█▂
weir.p99_total_time            ms        -      -       -       -
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestWindowsAreSettled(t *testing.T) {
	for _, c := range []struct {
		last, step, want time.Duration
		problem          string
	}{
		{last: 30 * time.Minute, want: time.Minute},
		{last: 5 * time.Minute, want: 10 * time.Second},
		{last: time.Minute, step: 5 * time.Second, want: 5 * time.Second},
		{last: 24 * time.Hour, want: 48 * time.Minute},
		{last: 10 * time.Minute, step: 2 * time.Minute, want: 2 * time.Minute},
		{last: time.Second, problem: "--last 1s: give at least 5s"},
		{last: time.Minute, step: time.Second, problem: "--step 1s: give at least 5s"},
		{last: time.Minute, step: time.Hour, problem: "--step 1h0m0s is longer than --last 1m0s"},
	} {
		w := window{c.last, c.step}
		err := w.settle()
		if c.problem != "" {
			if err == nil || err.Error() != c.problem {
				t.Errorf("%v each %v: %v, want %s", c.last, c.step, err, c.problem)
			}
		} else if err != nil || w.step != c.want {
			t.Errorf("%v each %v: %v, %v, want %v", c.last, c.step, w.step, err, c.want)
		}
	}
}

func TestAnswersOfPromQLAreTables(t *testing.T) {
	for want, answer := range map[string]string{
		"CLASS   SERVICE   VALUE\n2xx     web       12\n        shop      3.5\n": `{"resultType": "vector", "result": [
			{"metric": {"service": "web", "class": "2xx"}, "value": [1, "12"]},
			{"metric": {"service": "shop"}, "value": [1, "3.5"]}]}`,
		"SERVICE   VALUE   HOW IT WENT\nweb       4       ▁█\n": `{"resultType": "matrix", "result": [
			{"metric": {"service": "web"}, "values": [[1, "0"], [2, "4"]]}]}`,
		"VALUE\n7\n": `{"resultType": "scalar", "result": [1, "7"]}`,
		"VALUE\nhistogram of 10, sum 2.5\n": `{"resultType": "vector", "result": [
			{"metric": {}, "histogram": [1, {"count": "10", "sum": "2.5"}]}]}`,
	} {
		var parsed promAnswer
		if err := json.Unmarshal([]byte(answer), &parsed.Data); err != nil {
			t.Fatal(err)
		}
		rows, err := parsed.table()
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := rows.print(&out); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}
