package rest

import (
	"net/http"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/schema"
)

// steady knows that one metric is usually 5 to 9.
type steady struct{ uuid string }

func (s steady) Band(uuid, metric string, at time.Time) (low, high float64, known bool) {
	return 5, 9, uuid == s.uuid && metric == "l7_client.avg_total_requests"
}

func (s steady) Anomalies(uuid string) []Anomaly {
	if uuid != s.uuid {
		return nil
	}
	return []Anomaly{{Metric: "l7_client.avg_total_requests", Text: "requests are 4.1 σ above", High: true,
		Since: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)}}
}

func TestMetricsSayWhatIsUsual(t *testing.T) {
	h, _, admin, blue, web, _ := measuring(t)
	path := "/api/analytics/metrics/virtualservice/" + web +
		"?metric_id=l7_client.avg_total_requests,l7_client.other&limit=2"
	series := admin.want(http.StatusOK, "GET", path, nil)["series"].([]any)
	if first := dataOf(series[0])[0].(schema.Object); first["prediction_interval_low"] != nil {
		t.Errorf("nothing is known, and it says %v", first)
	}
	h.api.habits = steady{web}
	series = admin.want(http.StatusOK, "GET", path, nil)["series"].([]any)
	first, other := dataOf(series[0])[0].(schema.Object), dataOf(series[1])[0].(schema.Object)
	if first["prediction_interval_low"] != 5.0 || first["prediction_interval_high"] != 9.0 ||
		other["prediction_interval_low"] != nil {
		t.Errorf("got %v and %v", first, other)
	}
	all := admin.want(http.StatusOK, "GET", "/api/analytics/anomaly/virtualservice/"+web, nil)
	one := all["results"].([]any)[0].(schema.Object)
	if all["count"] != 1.0 || one["reason"] != "requests are 4.1 σ above" || one["priority"] != "ANZ_PRIORITY_HIGH" ||
		one["prediction_interval_high"] != 9.0 || one["start"] != "2026-01-02T03:00:00+00:00" {
		t.Errorf("got %v", all)
	}
	blue.want(http.StatusNotFound, "GET", "/api/analytics/anomaly/virtualservice/"+web, nil)
}

func dataOf(series any) []any { return series.(schema.Object)["data"].([]any) }
