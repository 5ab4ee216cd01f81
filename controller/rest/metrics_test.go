package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/series"
)

// numbers is a history in which each known value is 7.5. It keeps what it was asked.
type numbers struct {
	asked     []series.Question
	query     series.Query
	selection series.Selection
	exposed   series.Sight
	failure   error
}

func (*numbers) Catalog() []series.Metric {
	return []series.Metric{
		{ID: "l7_client.avg_total_requests", Unit: "PER_SECOND", Text: "requests", Kinds: series.Kinds},
		{ID: "l7_client.apdexr", Kinds: series.Kinds, Missing: true},
	}
}

func (n *numbers) Ask(_ context.Context, questions []series.Question) (answers []series.Answer, err error) {
	n.asked = append(n.asked, questions...)
	for _, q := range questions {
		answer := series.Answer{Metric: series.Metric{ID: q.Metric, Unit: "PER_SECOND"}}
		for _, uuid := range q.UUIDs {
			one := series.Series{UUID: uuid, Server: q.Server}
			if q.Server == series.EachServer {
				one.Server = "10.0.0.1:80"
			}
			for at := q.Start; !at.After(q.Stop); at = at.Add(q.Step) {
				one.Points = append(one.Points, series.Point{At: at, Value: 7.5, Null: q.Metric == "l7_client.apdexr"})
			}
			answer.Series = append(answer.Series, one)
		}
		answers = append(answers, answer)
	}
	return answers, n.failure
}

func (n *numbers) Query(_ context.Context, query series.Query) (series.Found, error) {
	n.query = query
	return series.Found{Data: json.RawMessage(`{"resultType":"vector","result":[]}`)}, n.failure
}

func (n *numbers) list(selection series.Selection) (series.Found, error) {
	n.selection = selection
	return series.Found{Data: json.RawMessage(`["a"]`), Warnings: []string{"cut"}}, n.failure
}

func (n *numbers) LabelNames(_ context.Context, s series.Selection) (series.Found, error) {
	return n.list(s)
}

func (n *numbers) LabelValues(_ context.Context, name string, s series.Selection) (series.Found, error) {
	s.Matches = append(s.Matches, name)
	return n.list(s)
}

func (n *numbers) Series(_ context.Context, s series.Selection) (series.Found, error) {
	return n.list(s)
}

func (n *numbers) Metadata(name string) (series.Found, error) {
	return series.Found{Data: json.RawMessage(`{"` + name + `":[]}`)}, nil
}

func (*numbers) Language() string { return "3.15.0" }

func (n *numbers) Expose(_ context.Context, sight series.Sight, _ string) (string, []byte, error) {
	n.exposed = sight
	return textContent, []byte("weir_of{tenant_uuid=\"" + sight.Tenant + "\"} 1\n"), n.failure
}

// measuring is a house with a history, and a virtual service of tenant admin and one of tenant blue.
func measuring(t *testing.T) (h *house, n *numbers, admin, blue *client, ofAdmin, ofBlue string) {
	t.Helper()
	h, n = newHouse(t), &numbers{}
	h.api.metrics = n
	admin, blue = h.login(), h.login()
	admin.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": "blue"})
	blue.header.Set("X-Avi-Tenant", "blue")
	ofAdmin = admin.virtualService("web", admin.pool("servers")["uuid"])["uuid"].(string)
	ofBlue = blue.virtualService("shop", blue.pool("servers")["uuid"])["uuid"].(string)
	return h, n, admin, blue, ofAdmin, ofBlue
}

func TestMetricsOfAnObjectHaveAvisShape(t *testing.T) {
	_, n, admin, _, web, _ := measuring(t)
	got := admin.want(http.StatusOK, "GET", "/api/analytics/metrics/virtualservice/"+web+
		"/?metric_id=l7_client.avg_total_requests,l7_client.apdexr&step=300&limit=3", nil)
	if got["metric_entity"] != "VSERVER_METRICS_ENTITY" || got["stop"] != "2026-01-02T03:00:00+00:00" ||
		got["start"] != "2026-01-02T02:50:00+00:00" || got["limit"] != 3.0 || got["step"] != 300.0 {
		t.Errorf("got %v", got)
	}
	both := got["series"].([]any)
	known, unknown := both[0].(schema.Object), both[1].(schema.Object)
	if text := fmt.Sprint(known["data"].([]any)[2]); text !=
		"map[num_samples:1 timestamp:2026-01-02T03:00:00+00:00 value:7.5]" {
		t.Errorf("a value is %s", text)
	}
	if text := fmt.Sprint(unknown["data"].([]any)[0]); !strings.Contains(text, "is_null:true") ||
		!strings.Contains(text, "value:<nil>") {
		t.Errorf("an unknown value is %s", text)
	}
	statistics := known["header"].(schema.Object)["statistics"].(schema.Object)
	if statistics["sum"] != 22.5 || statistics["mean"] != 7.5 || statistics["trend"] != 0.0 {
		t.Errorf("statistics: %v", statistics)
	}
	if q := n.asked[0]; q.Kind != series.VirtualService || q.Tenant != "admin" || q.Step != 5*time.Minute {
		t.Errorf("asked %+v", q)
	}
	left := admin.want(http.StatusOK, "GET", "/api/analytics/metrics/virtualservice/"+web+
		"?metric_id=l7_client.apdexr&pad_missing_data=false", nil)["series"].([]any)[0].(schema.Object)
	if data := left["data"].([]any); len(data) != 0 {
		t.Errorf("not padded: %v", data)
	}
}

func TestMetricsTakeWhatClientsOfAviSend(t *testing.T) {
	_, n, admin, _, web, _ := measuring(t)
	for query, want := range map[string]string{
		"step=1":           "5s 2026-01-02T02:59:10Z 2026-01-02T03:04:05Z",
		"step=301&limit=1": "5m1s 2026-01-02T03:03:51Z 2026-01-02T03:03:51Z",
		"step=3600&start=2026-01-01T00:00:00&stop=2026-01-01T06:00:00.000000%2B00:00": "1h0m0s 2026-01-01T01:00:00Z " +
			"2026-01-01T06:00:00Z",
		"step=60&start=-600&stop=0":         "1m0s 2026-01-02T02:55:05Z 2026-01-02T03:04:05Z",
		"step=60&start=-600&stop=0&limit=2": "1m0s 2026-01-02T03:03:05Z 2026-01-02T03:04:05Z",
	} {
		n.asked = nil
		admin.want(http.StatusOK, "GET", "/api/analytics/metrics/virtualservice/"+web+
			"?metric_id=l7_client.avg_total_requests&"+query, nil)
		q := n.asked[0]
		got := fmt.Sprint(q.Step, " ", q.Start.Format(time.RFC3339), " ", q.Stop.Format(time.RFC3339))
		if query == "step=301&limit=1" { // the last whole step
			want = fmt.Sprint(q.Step, " ", q.Stop.Format(time.RFC3339), " ", q.Stop.Format(time.RFC3339))
		}
		if got != want {
			t.Errorf("%s: asked %s, want %s", query, got, want)
		}
	}
	for query, problem := range map[string]string{
		"metric_id=a&step=x":                  `step: "x" is not a whole number`,
		"metric_id=a&start=noon":              `start: "noon" is no time`,
		"metric_id=a&order_by=a":              "order_by",
		"metric_id=a&serviceengine_uuid=se-1": "keeps no metrics of one object on one engine",
		"metric_id=a&start=2026-01-02T03:00:00Z&stop=2026-01-01T03:00:00Z":     "start: is less than one step before the stop",
		"metric_id=a&server=10.0.0.1:80":                                       "only pools have servers",
		"metric_id=a&start=2026-01-02T03:00:00Z&stop=2026-01-02T03:00:01.000Z": "start: is less than one step",
	} {
		admin.refused(http.StatusBadRequest, problem, "GET", "/api/analytics/metrics/virtualservice/"+
			web+"?"+query, nil)
	}
	admin.refused(http.StatusNotFound, "tenant has no metrics", "GET", "/api/analytics/metrics/tenant?metric_id=a", nil)
	admin.refused(http.StatusBadRequest, "name at least one metric", "GET", "/api/analytics/metrics/controller", nil)
}

func TestMetricsWithoutIdAreHealthScores(t *testing.T) { // get_healthscore of the Python SDK asks so
	_, n, admin, _, web, _ := measuring(t)
	admin.want(http.StatusOK, "GET", "/api/analytics/metrics/virtualservice/"+web+"?step=300&limit=1", nil)
	if n.asked[0].Metric != "healthscore.health_score_value" {
		t.Errorf("asked %+v", n.asked[0])
	}
}

func TestControllerHasMetricsThatItsOwnTenantSees(t *testing.T) {
	h, n, admin, blue, _, _ := measuring(t)
	const page = "/api/analytics/metrics/controller"
	listed := admin.want(http.StatusOK, "GET", page+"?metric_id=a", nil)["results"].([]any)[0].(schema.Object)
	if listed["metric_entity"] != "CONTROLLER_METRICS_ENTITY" || n.asked[0].Kind != series.Controller {
		t.Errorf("got %v, asked %+v", listed, n.asked)
	}
	admin.want(http.StatusOK, "GET", page+"/"+h.api.cluster.uuid+"?metric_id=a", nil)
	collected := admin.want(http.StatusOK, "POST", "/api/analytics/metrics/collection",
		schema.Object{"metric_requests": []any{schema.Object{"metric_entity": "CONTROLLER_METRICS_ENTITY",
			"entity_uuid": "*", "metric_id": "a"}}})["series"].(schema.Object)
	if len(collected) != 1 {
		t.Errorf("collection: %v", collected)
	}
	blue.want(http.StatusNotFound, "GET", page+"/"+series.ControllerUUID+"?metric_id=a", nil)
	if listed := blue.want(http.StatusOK, "GET", page+"?metric_id=a", nil); listed["count"] != 0.0 {
		t.Errorf("another tenant sees %v", listed)
	}
}

func TestCollectionOfMetricsGoesByIdAndObject(t *testing.T) {
	_, n, admin, _, web, _ := measuring(t)
	admin.header.Set("X-Avi-Tenant", "*")
	got := admin.want(http.StatusOK, "POST", "/api/analytics/metrics/collection",
		schema.Object{"metric_requests": []any{
			schema.Object{"id": "all", "step": 5, "limit": 1, "entity_uuid": "*", "aggregate_entity": "True",
				"metric_entity": "VSERVER_METRICS_ENTITY", "metric_id": "l7_client.avg_total_requests"},
			schema.Object{"step": "300", "limit": 1.0, "entity_uuid": web, "metric_id": "a,b"},
		}})
	found := got["series"].(schema.Object)
	if all := found["all"].(schema.Object); len(all) != 2 || all[web] == nil {
		t.Errorf("with an id: %v", all)
	}
	if both := found[web].([]any); len(both) != 2 {
		t.Errorf("without: %v", both)
	}
	if n.asked[0].Tenant != "" {
		t.Errorf("of all tenants: %+v", n.asked[0])
	}
	admin.refused(http.StatusBadRequest, "give at least one request", "POST", "/api/analytics/metrics/collection",
		schema.Object{})
	admin.refused(http.StatusBadRequest, "metric_requests[0]: query parameter metric_entity: TENANT", "POST",
		"/api/analytics/metrics/collection", schema.Object{"metric_requests": []any{
			schema.Object{"metric_entity": "TENANT_METRICS_ENTITY", "metric_id": "a"}}})
}

func TestMetricsStayInTheirTenant(t *testing.T) {
	_, n, _, blue, web, shop := measuring(t)
	const id = "?metric_id=l7_client.avg_total_requests"
	blue.want(http.StatusOK, "GET", "/api/analytics/metrics/virtualservice/"+shop+id, nil)
	blue.refused(http.StatusNotFound, "not found", "GET", "/api/analytics/metrics/virtualservice/"+web+id, nil)
	blue.refused(http.StatusNotFound, "not found", "GET", "/api/analytics/metrics/serviceengine/*"+id, nil)
	all := blue.want(http.StatusOK, "GET", "/api/analytics/metrics/virtualservice"+id, nil)
	if all["count"] != 1.0 {
		t.Errorf("all: %v", all)
	}
	blue.refused(http.StatusNotFound, "not found", "POST", "/api/analytics/metrics/collection", schema.Object{
		"metric_requests": []any{schema.Object{"entity_uuid": web, "metric_id": "a"}}})
	for _, q := range n.asked {
		if !strings.HasPrefix(q.Tenant, "tenant-") {
			t.Errorf("asked of tenant %q", q.Tenant)
		}
	}
	blue.want(http.StatusOK, "GET", "/api/weir/promql/api/v1/query?query=up", nil)
	blue.want(http.StatusOK, "GET", "/api/weir/promql/api/v1/labels", nil)
	if n.query.Tenant != n.asked[0].Tenant || n.selection.Tenant != n.asked[0].Tenant {
		t.Errorf("PromQL of tenants %q and %q", n.query.Tenant, n.selection.Tenant)
	}
	if text := blue.do("GET", "/metrics", nil).Body.String(); !strings.Contains(text, n.asked[0].Tenant) {
		t.Errorf("scrape: %s", text)
	}
}

func TestTextForPrometheusHasAvisForm(t *testing.T) {
	_, _, admin, _, web, _ := measuring(t)
	got := admin.do("GET", "/api/analytics/prometheus-metrics/virtualservice", nil).Body.String()
	if want := "# Successfully gathered 1 metrics for virtualservice\navi_l7_client_avg_total_requests{uuid=\"" + web +
		"\", type=\"virtualservice\", tenant=\"admin\", name=\"web\"} 7.5\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got = admin.do("GET", "/api/analytics/prometheus-metrics/pool?tenant=blue", nil).Body.String()
	if !strings.Contains(got, `tenant="blue", server="10.0.0.1:80", name="servers"} 7.5`) ||
		strings.Contains(got, `tenant="admin"`) {
		t.Errorf("got %s", got)
	}
	got = admin.do("GET", "/api/analytics/prometheus-metrics/virtualservice?metric_id=l7_client.apdexr",
		nil).Body.String()
	if got != "# Successfully gathered 0 metrics for virtualservice\n" {
		t.Errorf("a value that is not known: %s", got)
	}
}

func TestPromQLAnswersAsPrometheusDoes(t *testing.T) {
	h, n, admin, _, _, _ := measuring(t)
	const path = "/api/weir/promql/api/v1/"
	got := admin.want(http.StatusOK, "GET", path+
		"query_range?query=up&start=1767323045.5&end=2026-01-02T03:05:05Z&step=1m", nil)
	if got["status"] != "success" || n.query.Start.UnixMilli() != 1767323045500 || n.query.Step != time.Minute {
		t.Errorf("got %v of %+v", got, n.query)
	}
	admin.header.Set("Content-Type", "application/x-www-form-urlencoded")
	admin.want(http.StatusOK, "POST", path+"query", "query=rate%28x%5B1m%5D%29&timeout=10s")
	if n.query.Text != "rate(x[1m])" || n.query.Timeout != 10*time.Second || !n.query.Stop.Equal(h.clock.now()) {
		t.Errorf("asked %+v", n.query)
	}
	if got = admin.want(http.StatusOK, "GET", path+"label/service/values?match[]=up&limit=5",
		nil); got["warnings"] == nil ||
		strings.Join(n.selection.Matches, " ") != "up service" || n.selection.Limit != 5 {
		t.Errorf("got %v of %+v", got, n.selection)
	}
	admin.want(http.StatusOK, "GET", path+"metadata?metric=up", nil)
	for status, failure := range map[int]error{400: &series.Refusal{Parameter: "query", Problem: "parse error"},
		429: series.ErrBusy, 503: fmt.Errorf("%w: the disk is full", series.ErrOpening)} {
		n.failure = failure
		answer := admin.want(status, "GET", path+"query?query=up", nil)
		again := admin.do("GET", path+"query?query=up", nil).Header().Get("Retry-After")
		if (again == "") != (status == 400) {
			t.Errorf("%v: Retry-After is %q", failure, again)
		}
		if answer["status"] != "error" || answer["errorType"] == "" || answer["error"] != failure.Error() {
			t.Errorf("%v: %v", failure, answer)
		}
	}
	admin.refused(http.StatusBadRequest, "step", "GET", path+"query_range?query=up&start=1&end=2", nil)
	admin.refused(http.StatusBadRequest, "start", "GET", path+"query_range?query=up&end=2&step=1", nil)
	admin.refused(http.StatusMethodNotAllowed, "not allowed", "POST", path+"metadata", nil)
}

func TestProgramsShowAUserTokenWithEachRequest(t *testing.T) {
	h, _, admin, _, _, _ := measuring(t)
	token := admin.want(http.StatusOK, "POST", "/api/user-token", schema.Object{"hours": 2})
	program := &client{h: h, header: http.Header{"Authorization": {"Bearer " + token["token"].(string)}}}
	if text := program.do("GET", "/metrics", nil).Body.String(); text != "weir_of{tenant_uuid=\"admin\"} 1\n" {
		t.Errorf("got %s", text)
	}
	h.clock.advance(3 * time.Hour)
	program.want(http.StatusUnauthorized, "GET", "/metrics", nil)
	program.header.Set("Authorization", "Bearer nonsense")
	program.want(http.StatusUnauthorized, "GET", "/metrics", nil)
	(&client{h: h, header: http.Header{}}).want(http.StatusUnauthorized, "GET", "/metrics", nil)
}

func TestMetricsOfTheControllerNeedNoObjectAndBelongToAdmin(t *testing.T) {
	_, n, admin, blue, _, _ := measuring(t)
	const query = "?metric_id=l7_client.avg_total_requests&limit=1&step=15"
	one := admin.want(http.StatusOK, "GET", "/api/analytics/metrics/controller/cluster-7"+query, nil)
	if one["entity_uuid"] != "controller" || one["metric_entity"] != "CONTROLLER_METRICS_ENTITY" {
		t.Errorf("%v", one)
	}
	if q := n.asked[0]; q.Kind != series.Controller || q.Tenant != "admin" || fmt.Sprint(q.UUIDs) != "[controller]" {
		t.Errorf("%+v", q)
	}
	if all := admin.want(http.StatusOK, "GET", "/api/analytics/metrics/controller"+query, nil); all["count"] != 1.0 {
		t.Errorf("%v", all)
	}
	if none := blue.want(http.StatusOK, "GET", "/api/analytics/metrics/controller"+query, nil); none["count"] != 0.0 {
		t.Errorf("%v", none)
	}
	blue.want(http.StatusNotFound, "GET", "/api/analytics/metrics/controller/cluster-7"+query, nil)
	got := admin.want(http.StatusOK, "POST", "/api/analytics/metrics/collection",
		schema.Object{"metric_requests": []any{
			schema.Object{"id": "one", "metric_entity": "CONTROLLER_METRICS_ENTITY", "limit": 1, "step": 15,
				"metric_id": "l7_client.avg_total_requests"}}})
	if !strings.Contains(fmt.Sprint(got), "controller:[") {
		t.Errorf("%v", got)
	}
}
