package rest

import (
	"net/http"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/schema"
)

// steady knows that one metric of a service is usually 5 to 9, and one of a server of a pool 1 to 2.
type steady struct{ service, pool string }

const theServer = "10.0.0.1:80"

func (s steady) Band(uuid, server, metric string, at time.Time) (low, high float64, known bool) {
	switch {
	case uuid == s.service && server == "" && metric == "l7_client.avg_total_requests":
		return 5, 9, true
	case uuid == s.service && metric == "l7_client.apdexr": // whose values are null here
		return 80, 100, true
	case uuid == s.pool && server == theServer && metric == "l7_server.avg_resp_5xx":
		return 1, 2, true
	}
	return 0, 0, false
}

func (s steady) Anomalies(uuid string) []Anomaly {
	since := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	switch uuid {
	case s.service:
		return []Anomaly{{Metric: "l7_client.avg_total_requests", Text: "requests are 4.1 σ above", High: true,
			Since: since}}
	case s.pool:
		return []Anomaly{{Metric: "l7_server.avg_resp_5xx", Text: "5xx of all", Since: since},
			{Server: theServer, Metric: "l7_server.avg_resp_5xx", Text: "5xx of one", Since: since}}
	}
	return nil
}

func TestMetricsSayWhatIsUsual(t *testing.T) {
	h, _, admin, blue, web, _ := measuring(t)
	path := "/api/analytics/metrics/virtualservice/" + web +
		"?metric_id=l7_client.avg_total_requests,l7_client.other&limit=2"
	series := admin.want(http.StatusOK, "GET", path, nil)["series"].([]any)
	if first := dataOf(series[0])[0].(schema.Object); first["prediction_interval_low"] != nil {
		t.Errorf("nothing is known, and it says %v", first)
	}
	h.api.habits = steady{service: web}
	series = admin.want(http.StatusOK, "GET", path, nil)["series"].([]any)
	first, other := dataOf(series[0])[0].(schema.Object), dataOf(series[1])[0].(schema.Object)
	if first["prediction_interval_low"] != 5.0 || first["prediction_interval_high"] != 9.0 ||
		other["prediction_interval_low"] != nil {
		t.Errorf("got %v and %v", first, other)
	}
	none := admin.want(http.StatusOK, "GET", "/api/analytics/metrics/virtualservice/"+web+
		"?metric_id=l7_client.apdexr&limit=1", nil)["series"].([]any)
	if one := dataOf(none[0])[0].(schema.Object); one["is_null"] != true || one["value"] != nil ||
		one["prediction_interval_high"] != 100.0 {
		t.Errorf("of a value that is not known: %v", one)
	}
	all := admin.want(http.StatusOK, "GET", "/api/analytics/anomaly/virtualservice/"+web, nil)
	one := all["results"].([]any)[0].(schema.Object)
	if all["count"] != 1.0 || one["reason"] != "requests are 4.1 σ above" || one["priority"] != "ANZ_PRIORITY_HIGH" ||
		one["prediction_interval_high"] != 9.0 || one["start"] != "2026-01-02T03:00:00+00:00" {
		t.Errorf("got %v", all)
	}
	blue.want(http.StatusNotFound, "GET", "/api/analytics/anomaly/virtualservice/"+web, nil)
}

func TestPoolsAndServersSayWhatIsUsual(t *testing.T) {
	h, _, admin, _, _, _ := measuring(t)
	pools := admin.want(http.StatusOK, "GET", "/api/pool?name=servers", nil)["results"].([]any)
	pool := pools[0].(schema.Object)["uuid"].(string)
	h.api.habits = steady{pool: pool}
	path := "/api/analytics/anomaly/pool/" + pool
	all := admin.want(http.StatusOK, "GET", path, nil)["results"].([]any)
	whole, one := all[0].(schema.Object), all[1].(schema.Object)
	if len(all) != 2 || whole["obj_id"] != nil || one["obj_id"] != theServer || one["server"] != theServer ||
		one["prediction_interval_high"] != 2.0 || whole["prediction_interval_high"] != nil {
		t.Errorf("got %v", all)
	}
	if some := admin.want(http.StatusOK, "GET", path+"?server="+theServer, nil); some["count"] != 1.0 {
		t.Errorf("of one server: %v", some)
	}
	admin.want(http.StatusBadRequest, "GET", "/api/analytics/anomaly/virtualservice/x?server="+theServer, nil)
	for server, want := range map[string]any{theServer: 1.0, "10.0.0.2:80": nil} {
		series := admin.want(http.StatusOK, "GET", "/api/analytics/metrics/pool/"+pool+
			"?metric_id=l7_server.avg_resp_5xx&limit=1&server="+server, nil)["series"].([]any)
		if first := dataOf(series[0])[0].(schema.Object); first["prediction_interval_low"] != want {
			t.Errorf("%s: got %v, want %v", server, first, want)
		}
	}
}

func dataOf(series any) []any { return series.(schema.Object)["data"].([]any) }
