package metrics

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/weir-lb/weir/controller/series"
)

// everySeries is a collector with one series of each family.
func everySeries() *collector {
	g := newGroup("service")
	for _, f := range families {
		e := &entry{name: f.name, sort: mean, value: 2, labels: labels.FromStrings(labels.MetricName, f.name, "a", "b")}
		switch f.sort {
		case "counter":
			e.sort = counter
		case "histogram":
			e.sort, e.histogram = times, emptyHistogram(schemaOfServices)
		}
		g.entries[f.name] = e
	}
	return &collector{groups: map[string]*group{"x": g}}
}

func TestTextOfEachFamilyIsWithoutFindings(t *testing.T) {
	text := everySeries().asText(series.Sight{})
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
	const wait = "# TYPE weir_service_wait_seconds summary\nweir_service_wait_seconds_sum{a=\"b\"} 2\n" +
		"weir_service_wait_seconds_count{a=\"b\"} 2\n"
	if !strings.Contains(string(text), wait) {
		t.Errorf("%q is not in\n%s", wait, text)
	}
}

func TestEachSumOfTimesHasACount(t *testing.T) {
	for _, f := range families {
		isSum := strings.HasSuffix(f.name, "_seconds_sum")
		if isSum != (counts[f.name] != "") {
			t.Errorf("%s has the count %q", f.name, counts[f.name])
		}
		if isSum && !slices.ContainsFunc(families, func(of family) bool { return of.name == counts[f.name] }) {
			t.Errorf("the count of %s, %s, is no series", f.name, counts[f.name])
		}
	}
}

func TestProtobufHasHistogramsInPlaceOfTheirSums(t *testing.T) {
	named := map[string]int{}
	for _, f := range everySeries().protobufs(series.Sight{}) {
		named[f.GetName()+" "+f.GetType().String()]++
	}
	for name, count := range map[string]int{"weir_service_total_seconds HISTOGRAM": 1,
		"weir_service_total_seconds SUMMARY": 0, "weir_service_wait_seconds SUMMARY": 1,
		"weir_service_requests_total COUNTER": 1, "weir_engine_workers GAUGE": 1} {
		if named[name] != count {
			t.Errorf("%s: %d", name, named[name])
		}
	}
}
