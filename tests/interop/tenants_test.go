package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/weir-lb/weir/client"
)

// asOtherTenant asks, as a user who may enter the tenant blue only, for everything that the controller knows about the
// virtual service "web" of the tenant admin. Nothing of it may be in an answer.
func (m *measured) asOtherTenant() {
	_, err := m.controller.Session.Create(m.Context(), "user", client.Object{"name": "ann", "username": "ann",
		"password": m.password, "access": []any{client.Object{"tenant_ref": "/api/tenant?name=blue"}}})
	must(m.T, err)
	ann, err := client.Login(m.Context(), client.Credentials{URL: m.controller.URL, Username: "ann",
		Password: m.password,
		Tenant:   "blue", Fingerprint: m.controller.Session.Saved().Fingerprint})
	must(m.T, err)
	var answer struct{ Token string }
	must(m.T, ann.Post(m.Context(), "user-token", client.Object{"hours": 1}, &answer))
	reader := asTenant{m, answer.Token}
	all := url.QueryEscape(`{__name__=~".+"}`)
	web := url.QueryEscape(`{__name__=~".+",service="web"} or {__name__=~".+",tenant_uuid="admin"} or {uuid="` +
		m.web + `"}`)
	promql := "/api/weir/promql/api/v1/"
	for _, path := range []string{
		"/api/virtualservice", "/api/virtualservice-inventory", "/api/pool-inventory", "/api/vsvip-inventory",
		"/api/analytics/metrics/virtualservice?metric_id=l4_client.avg_bandwidth",
		"/api/analytics/metrics/virtualservice?metric_id=l4_client.avg_bandwidth&entity_uuid=*",
		"/api/analytics/metrics/serviceengine?metric_id=se_stats.avg_bandwidth",
		"/api/analytics/metrics/controller?metric_id=controller_stats.avg_num_active_vs",
		"/api/analytics/prometheus-metrics/virtualservice", "/api/analytics/prometheus-metrics/pool",
		"/api/analytics/prometheus-metrics/serviceengine", "/api/analytics/prometheus-metrics/controller",
		"/api/analytics/prometheus-metrics/virtualservice?entity_name=web",
		"/api/analytics/prometheus-metrics/virtualservice?entity_id=" + m.web,
		"/metrics", "/api/analytics/healthscore/virtualservice", "/api/analytics/healthscore/serviceengine",
		promql + "query?query=" + all, promql + "query?query=" + web, promql + "query?query=count(" +
			all + ")by(service)",
		promql + "series?match[]=" + all, promql + "labels", promql + "label/service/values", promql +
			"label/uuid/values",
		promql + "label/engine/values", promql + "label/server/values?match[]=" + url.QueryEscape(`{service="web"}`),
		"/api/analytics/logs?type=0", "/api/analytics/logs?type=1", "/api/analytics/logs?type=2",
		"/api/analytics/logs?type=2&filter=" + url.QueryEscape(`co(all,"web")`),
		"/api/analytics/logs?type=2&groupby=obj_name", "/api/analytics/logs?type=2&source=memory",
	} {
		reader.seesNothing(path, http.StatusOK)
	}
	for _, path := range []string{
		"/api/virtualservice/" + m.web, "/api/virtualservice/" + m.web + "/runtime",
		"/api/virtualservice-inventory/" + m.web, "/api/weir/live?topics=vs:" + m.web,
		"/api/analytics/metrics/virtualservice/" + m.web + "?metric_id=l4_client.avg_bandwidth",
		"/api/analytics/metrics/virtualservice?metric_id=l4_client.avg_bandwidth&entity_uuid=" + m.web,
		"/api/analytics/healthscore/virtualservice/" + m.web,
	} {
		reader.seesNothing(path, http.StatusNotFound)
	}
	for _, path := range []string{"/api/audit", "/api/user",
		"/api/analytics/prometheus-metrics/virtualservice?tenant=admin",
		"/api/analytics/prometheus-metrics/virtualservice?tenant=blue,admin", "/api/virtualservice?tenant=admin"} {
		reader.seesNothing(path, http.StatusForbidden)
	}
	reader.entersNoOther("/metrics", "/api/weir/live?topics=overview", promql+"query?query=1",
		"/api/analytics/logs?type=2")
	reader.streamsNothing()
	reader.collectsNothing()
}

// asTenant is a user of the tenant blue.
type asTenant struct {
	*measured
	token string
}

func (r asTenant) do(method, path, tenant, body string) *http.Response {
	r.Helper()
	request, err := http.NewRequestWithContext(r.Context(), method, r.controller.URL+path, strings.NewReader(body))
	must(r.T, err)
	answer, err := asking{r.token, tenant}.RoundTrip(request)
	must(r.T, err)
	return answer
}

// holdsNothing looks for what belongs to the tenant admin.
func (r asTenant) holdsNothing(what, text string) {
	r.Helper()
	for _, hidden := range []string{r.web, `"web"`, ownLoopback(3), `tenant="admin"`} {
		if strings.Contains(text, hidden) {
			r.Errorf("%s shows %s: %.300s", what, hidden, text)
		}
	}
}

func (r asTenant) seesNothing(path string, status int) {
	r.Helper()
	answer := r.do(http.MethodGet, path, "blue", "")
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(r.T, err)
	if answer.StatusCode != status {
		r.Errorf("%s: %s, not %d: %.300s", path, answer.Status, status, text)
	}
	r.holdsNothing(path, strings.ReplaceAll(string(text), path, ""))
}

func (r asTenant) entersNoOther(paths ...string) {
	r.Helper()
	for _, path := range paths {
		for _, tenant := range []string{"admin", "*"} {
			answer := r.do(http.MethodGet, path, tenant, "")
			answer.Body.Close()
			if answer.StatusCode != http.StatusForbidden {
				r.Errorf("%s in the tenant %s: %s", path, tenant, answer.Status)
			}
		}
	}
}

// streamsNothing reads the first event about all that a tenant can watch without naming an object.
func (r asTenant) streamsNothing() {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), measuredPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		r.controller.URL+"/api/weir/live?topics=overview,engines,vs:"+r.shop, nil)
	must(r.T, err)
	answer, err := asking{r.token, "blue"}.RoundTrip(request)
	must(r.T, err)
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Buffer(nil, 4<<20); lines.Scan(); {
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is {
			continue
		}
		r.holdsNothing("the stream", data)
		var event struct {
			Engines []struct {
				Name   string
				Points []any
			}
			Services []struct{ Name string } `json:"virtual_services"`
		}
		must(r.T, json.Unmarshal([]byte(data), &event))
		if len(event.Engines) != 1 || event.Engines[0].Name != "engine-1" || len(event.Engines[0].Points) > 0 {
			r.Errorf("engines in the stream: %+v", event.Engines)
		}
		if len(event.Services) != 1 || event.Services[0].Name != "shop" {
			r.Errorf("its own virtual service in the stream: %+v", event.Services)
		}
		return
	}
	r.Errorf("the stream has no event: %s, %v", answer.Status, lines.Err())
}

func (r asTenant) collectsNothing() {
	r.Helper()
	for uuid, status := range map[string]int{"*": http.StatusOK, r.web: http.StatusNotFound, r.shop: http.StatusOK} {
		body := fmt.Sprintf(`{"metric_requests":[{"entity_uuid":%q,"metric_entity":"VSERVER_METRICS_ENTITY",`+
			`"metric_id":"l4_client.avg_bandwidth","step":300,"limit":1}]}`, uuid)
		answer := r.do(http.MethodPost, "/api/analytics/metrics/collection", "blue", body)
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		must(r.T, err)
		if answer.StatusCode != status {
			r.Errorf("a collection about %s: %s: %s", uuid, answer.Status, text)
		}
		r.holdsNothing("a collection", string(text))
	}
}
