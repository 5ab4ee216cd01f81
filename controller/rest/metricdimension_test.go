package rest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/logs"
	"github.com/weir-lb/weir/logs/query"
)

// counter plays the record store: it has two paths, of which one is asked for twice in the last step of five minutes.
type counter struct {
	asked  []query.Query
	facet  query.Facet
	remain float64
}

func (s *counter) Ask(_ context.Context, asked query.Query) (query.Answer, error) {
	s.asked = append(s.asked, asked)
	if asked.Facets != nil {
		return query.Answer{Facets: []query.Facet{s.facet}}, nil
	}
	bucket := func(back int, value string, weight float64) query.Bucket {
		start := asked.To.Add(-time.Duration(back) * asked.Histogram.Step)
		return query.Bucket{Start: start, Values: []string{value}, Rows: 1, Aggregates: []*float64{&weight}}
	}
	return query.Answer{PercentRemaining: s.remain, Buckets: []query.Bucket{
		bucket(2, "/cart", 30), bucket(1, "/cart", 60), bucket(1, "/pay", 15),
	}}, nil
}
func (s *counter) Status() logs.Status       { return logs.Status{} }
func (s *counter) Kept(string) time.Duration { return 24 * time.Hour }

func splitting(t *testing.T) (h *house, store *counter, admin *client, path string) {
	h, _, admin, _, web, _ := measuring(t)
	store = &counter{facet: query.Facet{Field: "uri_path", Values: []query.Value{{Value: "/cart", Weight: 90},
		{Value: "/pay", Weight: 15}}}}
	h.api.logs = store
	return h, store, admin, "/api/analytics/metrics/virtualservice/" + web +
		"?metric_id=l7_client.avg_total_requests&step=300&limit=3&dimensions="
}

func TestMetricsByADimensionComeFromRecords(t *testing.T) {
	_, store, admin, path := splitting(t)
	all := admin.want(http.StatusOK, "GET", path+"METRICS_DIMENSION_URL", nil)["series"].([]any)
	var said []string
	for _, one := range all {
		header := one.(schema.Object)["header"].(schema.Object)
		text := fmt.Sprint(header["name"], header["units"], header["dimension_data"])
		for _, point := range dataOf(one) {
			text += fmt.Sprintf(" %v %v", point.(schema.Object)["timestamp"], point.(schema.Object)["value"])
		}
		said = append(said, text)
	}
	const times = " 2026-01-02T02:50:00+00:00 %v 2026-01-02T02:55:00+00:00 %v 2026-01-02T03:00:00+00:00 %v"
	want := "l7_client.avg_total_requestsPER_SECOND[map[dimension:METRICS_DIMENSION_URL dimension_id:/cart]]" +
		fmt.Sprintf(times, 0.0, 0.1, 0.2) + "\n" +
		"l7_client.avg_total_requestsPER_SECOND[map[dimension:METRICS_DIMENSION_URL dimension_id:/pay]]" +
		fmt.Sprintf(times, 0.0, 0.0, 0.05)
	if got := strings.Join(said, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	first, second := store.asked[0], store.asked[1]
	if first.To.Sub(first.From) != 15*time.Minute || first.Facets.Limit != 10 || first.Scope.Tenant != "admin" ||
		!strings.HasPrefix(saidExpr(*first.Where), "virtualservice eq virtualservice-") {
		t.Errorf("asked first %+v", first)
	}
	if !strings.HasSuffix(saidExpr(*second.Where), "(uri_path eq /cart or uri_path eq /pay)") ||
		second.Histogram.By[0] != "uri_path" || second.Histogram.Aggregates[0].Field != "weight" {
		t.Errorf("asked then %+v", second)
	}
}

func TestStepsOfADimensionAreJoinedAndBeginWhereThoseOfRecordsDo(t *testing.T) {
	_, store, admin, path := splitting(t)
	for over, want := range map[string]float64{"avg": 0.1, "METRICS_DIMENSION_SUM": 0.3} {
		series := admin.want(http.StatusOK, "GET", path+"url&dimension_limit=1&dimension_aggregation="+over, nil)
		data := dataOf(series["series"].([]any)[0])
		if value := data[0].(schema.Object)["value"].(float64); len(data) != 1 || value < want-0.001 ||
			value > want+0.001 {
			t.Errorf("%s: %v", over, data)
		}
	}
	if store.asked[0].Facets.Limit != 1 {
		t.Errorf("asked %+v", store.asked[0].Facets)
	}
	store.asked, store.facet.Values[0].Value, store.facet.Values[1].Value = nil, "200", "503"
	admin.want(http.StatusOK, "GET", path+"STATUS&stop=2026-01-02T02:58:11Z", nil)
	if to := store.asked[0].To.Format(time.TimeOnly); to != "02:55:00" ||
		!strings.HasSuffix(saidExpr(*store.asked[0].Where), "response_code ge 0") {
		t.Errorf("asked until %s, where %s", to, saidExpr(*store.asked[0].Where))
	}
	got := admin.want(http.StatusOK, "GET", strings.Replace(path, "limit=3", "limit=300", 1)+"URL&start=-172800",
		nil)["series"].([]any)
	if data := dataOf(got[0]); data[0].(schema.Object)["is_null"] != true {
		t.Errorf("two days ago: %v", data[0])
	}
}

func TestCollectionsTakeDimensionsBesideOtherRequests(t *testing.T) {
	_, _, admin, path := splitting(t)
	web := strings.TrimPrefix(path[:strings.Index(path, "?")], "/api/analytics/metrics/virtualservice/")
	all := admin.want(http.StatusOK, "POST", "/api/analytics/metrics/collection",
		schema.Object{"metric_requests": []any{
			schema.Object{"id": "urls", "metric_id": "l7_client.avg_total_requests", "entity_uuid": web, "step": 300,
				"limit": 3, "dimensions": []any{"METRICS_DIMENSION_URL"}},
			schema.Object{"id": "all", "metric_id": "l7_client.avg_total_requests", "entity_uuid": web, "limit": 1},
		}})["series"].(schema.Object)
	urls, whole := all["urls"].(schema.Object)[web].([]any), all["all"].(schema.Object)[web].([]any)
	if len(urls) != 2 || len(whole) != 1 || dataOf(whole[0])[0].(schema.Object)["value"] != 7.5 {
		t.Errorf("got %v", all)
	}
}

func TestDimensionsThatRecordsCannotAnswerAreRefusedWithThoseTheyCan(t *testing.T) {
	h, store, admin, path := splitting(t)
	bare := strings.TrimSuffix(path, "&dimensions=")
	for query, want := range map[string]string{
		"&dimensions=METRICS_DIMENSION_COUNTRY":        "give one of METRICS_DIMENSION_URL, METRICS_DIMENSION_BROWSER",
		"&dimensions=URL,OS":                           "give one of",
		"&dimensions=URL&dimension_limit=101":          "give at most 100",
		"&dimensions=URL&dimension_aggregation=median": "give avg or sum",
		"&dimensions=URL&dimension_filter_op=eq":       "dimension_filter_op",
		"&dimension_aggregation=avg":                   "give dimensions, too",
		"&dimensions=URL&metric_id=l7_client.apdexr":   "l7_client.apdexr cannot be counted in records",
		"&dimensions=URL&metric_id=l7_client.nothing":  "there is no metric",
		"&dimensions=URL&order_by=-value":              "order_by",
	} {
		admin.refused(http.StatusBadRequest, want, "GET", bare+query, nil)
	}
	pool := strings.Replace(bare, "virtualservice/", "pool/", 1)
	admin.refused(http.StatusBadRequest, "only metrics of virtual services", "GET", pool+"&dimensions=URL", nil)
	store.facet.TooMany = true
	admin.refused(http.StatusBadRequest, "ask for less time", "GET", path+"CLIENT_IP", nil)
	store.facet.TooMany, store.remain = false, 20
	admin.want(http.StatusServiceUnavailable, "GET", path+"URL", nil)
	h.api.logs = nil
	admin.refused(http.StatusBadRequest, "--logs memory", "GET", path+"URL", nil)
}
