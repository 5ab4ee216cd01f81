package rest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/series"
)

func TestMetricsOfTooManyStepsAreRefused(t *testing.T) {
	_, n, admin, _, web, _ := measuring(t)
	for _, query := range []string{"limit=11001", "limit=1000000000", "start=2000-01-01T00:00:00Z",
		"start=2000-01-01T00:00:00Z&limit=11001"} {
		admin.refused(http.StatusBadRequest, "and the limit is 11000", "GET", "/api/analytics/metrics/virtualservice/"+
			web+"?metric_id=l7_client.apdexr&step=5&"+query, nil)
	}
	if len(n.asked) != 0 {
		t.Errorf("asked %v", n.asked)
	}
	admin.want(http.StatusOK, "GET", "/api/analytics/metrics/virtualservice/"+web+
		"?metric_id=l7_client.apdexr&limit=11000", nil)
}

func TestMetricsAreAskedForOnce(t *testing.T) {
	_, n, admin, _, web, _ := measuring(t)
	const id = "metric_id=l7_client.apdexr,l7_client.apdexr&metric_id=l7_client.apdexr"
	got := admin.want(http.StatusOK, "GET", "/api/analytics/metrics/virtualservice?"+id+"&entity_uuid="+
		strings.Repeat(web+",", 5), nil)
	if got["count"] != 1.0 || len(n.asked) != 1 || len(n.asked[0].UUIDs) != 1 {
		t.Errorf("got %v of %+v", got["count"], n.asked)
	}
	n.asked = nil
	text := admin.do("GET", "/api/analytics/prometheus-metrics/virtualservice?tenant=blue,blue,admin,blue",
		nil).Body.String()
	if len(n.asked) != 2 || !strings.HasPrefix(text, "# Successfully gathered 2 metrics") {
		t.Errorf("got %s of %+v", text, n.asked)
	}
}

func TestTooManyMetricIdsAreRefused(t *testing.T) {
	_, _, admin, _, web, _ := measuring(t)
	ids := "?metric_id="
	for i := range 201 {
		ids += fmt.Sprintf("a%d,", i)
	}
	for _, path := range []string{"metrics/virtualservice/" + web, "prometheus-metrics/virtualservice"} {
		admin.refused(http.StatusBadRequest, "metric_id: there are 201; give at most 200", "GET",
			"/api/analytics/"+path+ids, nil)
	}
}

func TestTooManyValuesAreRefusedAlsoInACollection(t *testing.T) {
	_, n, admin, _, web, _ := measuring(t)
	ids := make([]string, 46)
	for i := range ids {
		ids[i] = fmt.Sprint("a", i)
	}
	const problem = "steps × objects × metrics are 506000, and at most 500000 are answered"
	admin.refused(http.StatusBadRequest, problem, "GET", "/api/analytics/metrics/virtualservice/"+web+
		"?limit=11000&metric_id="+strings.Join(ids, ","), nil)
	requests := []any{}
	for _, id := range ids {
		requests = append(requests, schema.Object{"metric_id": id, "entity_uuid": web, "limit": 11000})
	}
	admin.refused(http.StatusBadRequest, problem, "POST", "/api/analytics/metrics/collection",
		schema.Object{"metric_requests": requests})
	if len(n.asked) != 0 {
		t.Errorf("asked %d questions", len(n.asked))
	}
}

func TestAScrapeIsRefusedWhileTooManyQueriesWait(t *testing.T) {
	_, n, admin, _, _, _ := measuring(t)
	n.failure = series.ErrBusy
	admin.want(http.StatusTooManyRequests, "GET", "/metrics", nil)
}

func TestARangeWithStepsBelowAMillisecondIsRefused(t *testing.T) {
	_, _, admin, _, _, _ := measuring(t)
	admin.refused(http.StatusBadRequest, "at least 1 ms", "GET",
		"/api/weir/promql/api/v1/query_range?query=up&start=1&end=2&step=0.0009", nil)
}
