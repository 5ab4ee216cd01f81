package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/weir-lb/weir/client"
)

const (
	metricsRate    = 400 // requests a second
	metricsCounted = 3000
)

// bearer sends the user token of a program, and the tenant that it asks for.
type bearer struct{ token, tenant string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	r.Header.Set("X-Avi-Tenant", b.tenant)
	return withoutTrust.RoundTrip(r)
}

var withoutTrust = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}

// token returns a user token of the administrator.
func (s *stage) token() string {
	s.Helper()
	var answer struct{ Token string }
	s.must(s.controller.Session.Post(s.ctx, "user-token", client.Object{"hours": 1}, &answer))
	return answer.Token
}

// prometheus is the client of Prometheus, at the controller.
func (s *stage) prometheus(token, tenant string) prometheus.API {
	s.Helper()
	made, err := api.NewClient(api.Config{Address: s.controller.URL + "/api/weir/promql",
		RoundTripper: bearer{token, tenant}})
	s.must(err)
	return prometheus.NewAPI(made)
}

// value is the only value of a query.
func (s *stage) value(from prometheus.API, query string) (float64, error) {
	found, _, err := from.Query(s.ctx, query, time.Now())
	if err != nil {
		return 0, err
	}
	vector, _ := found.(model.Vector)
	if len(vector) != 1 {
		return 0, fmt.Errorf("%s: %d values", query, len(vector))
	}
	return float64(vector[0].Value), nil
}

// page reads text of the API.
func (s *stage) page(token, tenant, path string) string {
	s.Helper()
	request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.controller.URL+path, nil)
	s.must(err)
	answer, err := bearer{token, tenant}.RoundTrip(request)
	s.must(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	s.must(err)
	if answer.StatusCode != http.StatusOK {
		s.Fatalf("%s: %s: %s", path, answer.Status, text)
	}
	return string(text)
}

func TestHistoryShowsTheLoadAndOutlivesTheController(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "web", "servers": serverList(nginx(t, s.lab, 1))})
	s.createVirtualService("web", "web", vip, tlsPort, plainPort)
	s.waitUp("web")
	token := s.token()
	from := s.prometheus(token, "admin")
	s.eventually("the history is open", func() error {
		_, err := s.value(from, "weir_metrics_collections_total or vector(1)")
		return err
	})
	s.load("--url", plainURL("/index.html"), "--connections", "4", "--count", fmt.Sprint(metricsCounted))
	s.eventually("the history has all requests", func() error {
		got, err := s.value(from, `increase(weir_service_requests_total{service="web"}[5m] anchored)`)
		if err != nil || got != metricsCounted {
			return fmt.Errorf("%v, %v", got, err)
		}
		return nil
	})
	s.checkAvi(token)
	s.checkPrometheus(from, token)
	s.checkCommand()
	s.checkTenants(token)
	s.checkRestart(from, s.prometheus(token, "*"))
}

// metricFound is a series in an answer about metrics.
type metricFound struct {
	Header struct{ Name, Units string }
	Data   []struct {
		Value  *float64
		IsNull bool `json:"is_null"`
	}
}

// newest is the last value; -1: there is none, or it is not known.
func (f metricFound) newest() float64 {
	if len(f.Data) == 0 || f.Data[len(f.Data)-1].Value == nil {
		return -1
	}
	return *f.Data[len(f.Data)-1].Value
}

// checkAvi asks as Avi's clients do.
func (s *stage) checkAvi(token string) {
	s.Helper()
	web, err := s.controller.Session.ByName(s.ctx, "virtualservice", "web")
	s.must(err)
	uuid := fmt.Sprint(web["uuid"])
	type found = metricFound
	asked := url.Values{"metric_id": {"l7_client.sum_total_responses,l7_client.avg_resp_5xx,l7_client.apdexr"},
		"step": {"300"}, "limit": {"1"}, "stop": {time.Now().UTC().Format(time.RFC3339)}}
	var single struct{ Series []found }
	s.must(s.controller.Session.Get(s.ctx, "analytics/metrics/virtualservice/"+uuid+"?"+asked.Encode(), &single))
	if len(single.Series) != 3 || single.Series[0].newest() != metricsCounted ||
		single.Series[0].Header.Units != "METRIC_COUNT" || single.Series[1].newest() != 0 ||
		single.Series[2].Data[0].Value != nil || !single.Series[2].Data[0].IsNull {
		s.Errorf("single: %+v", single)
	}
	var all struct{ Series map[string]map[string][]found }
	s.must(s.controller.Session.Post(s.ctx, "analytics/metrics/collection", client.Object{"metric_requests": []any{
		client.Object{"id": "services", "step": 300, "limit": 1, "entity_uuid": "*", "stop": asked.Get("stop"),
			"metric_entity": "VSERVER_METRICS_ENTITY", "metric_id": "l7_client.sum_total_responses"},
		client.Object{"id": "engines", "step": 300, "limit": 1, "entity_uuid": "*", "stop": asked.Get("stop"),
			"metric_entity": "SE_METRICS_ENTITY", "metric_id": "se_stats.avg_cpu_usage,se_stats.max_num_vs"},
	}}, &all))
	if got := all.Series["services"][uuid]; len(got) != 1 || got[0].newest() != metricsCounted {
		s.Errorf("collection: %+v", all)
	}
	for _, engine := range all.Series["engines"] {
		if len(engine) != 2 || engine[0].newest() <= 0 || engine[1].newest() != 1 {
			s.Errorf("engine: %+v", engine)
		}
	}
	text := s.page(token, "admin",
		"/api/analytics/prometheus-metrics/virtualservice?metric_id=l7_client.sum_total_responses")
	if want := fmt.Sprintf("# Successfully gathered 1 metrics for virtualservice\n"+
		"avi_l7_client_sum_total_responses{uuid=%q, type=\"virtualservice\", tenant=\"admin\", name=\"web\"} %d.0\n",
		uuid, metricsCounted); text != want {
		s.Errorf("got %s, want %s", text, want)
	}
	contains(s.T, s.page(token, "admin", "/api/analytics/prometheus-metrics/pool?realtime=true"), `server="127.`)
	err = s.controller.Session.Get(s.ctx, "analytics/metrics/virtualservice/"+uuid+"?metric_id=l7_client.nonsense", nil)
	if err == nil || !strings.Contains(err.Error(), "l7_client.nonsense") {
		s.Errorf("an unknown metric: %v", err)
	}
}

// checkPrometheus asks as Grafana and Prometheus do.
func (s *stage) checkPrometheus(from prometheus.API, token string) {
	s.Helper()
	now := time.Now()
	found, warnings, err := from.QueryRange(s.ctx, `sum by (service) (rate(weir_service_requests_total[1m]))`,
		prometheus.Range{Start: now.Add(-5 * time.Minute), End: now, Step: 15 * time.Second})
	if matrix, _ := found.(model.Matrix); err != nil || len(warnings) > 0 || len(matrix) != 1 {
		s.Errorf("range: %v, %v, %v", found, warnings, err)
	}
	names, _, err := from.LabelValues(s.ctx, "service", nil, now.Add(-time.Hour), now)
	if err != nil || fmt.Sprint(names) != "[web]" {
		s.Errorf("values of service: %v, %v", names, err)
	}
	labels, _, err := from.LabelNames(s.ctx, []string{`weir_service_failures_total`, `weir_engine_workers`},
		now.Add(-time.Hour), now)
	if err != nil || !strings.Contains(fmt.Sprint(labels), "engine") {
		s.Errorf("labels: %v, %v", labels, err)
	}
	series, _, err := from.Series(s.ctx, []string{`weir_service_responses_total`}, now.Add(-time.Hour), now)
	if err != nil || len(series) != 1 || series[0]["class"] != "2xx" {
		s.Errorf("series: %v, %v", series, err)
	}
	described, err := from.Metadata(s.ctx, "weir_service_requests_total", "")
	if err != nil || described["weir_service_requests_total"][0].Type != "counter" {
		s.Errorf("metadata: %v, %v", described, err)
	}
	_, _, err = from.Query(s.ctx, "sum(", now)
	var refused *prometheus.Error
	if !errors.As(err, &refused) || refused.Type != prometheus.ErrBadData ||
		!strings.Contains(refused.Msg, "parse error") {
		s.Errorf("a malformed query: %#v", err)
	}
	contains(s.T, s.page(token, "admin", "/metrics"), "# TYPE weir_service_requests_total counter",
		`weir_service_requests_total{service="web",tenant="admin",`, "weir_engine_resident_bytes{engine=\"engine-1\"")
}

// checkCommand runs `weir metrics` as an operator does.
func (s *stage) checkCommand() {
	s.Helper()
	run := s.commands()
	shown := run("metrics", "vs", "web", "l7_client.sum_total_responses", "weir.p99_total_time", "--last", "5m",
		"--step", "5m")
	contains(s.T, shown, "LAST 5m, EACH 5m", fmt.Sprint(metricsCounted))
	contains(s.T, run("metrics", "vs", "web"), "l7_client.avg_total_requests", "1/s", "█")
	contains(s.T, run("metrics", "engine", "engine-1"), "se_stats.avg_cpu_usage")
	contains(s.T, run("metrics", "pool", "web"), "l7_server.avg_total_requests")
	contains(s.T, run("metrics", "list"), "l4_client.avg_bandwidth", "bit/s")
	contains(s.T, run("metrics", "query", `increase(weir_service_responses_total[5m] anchored)`), "CLASS", "2xx",
		fmt.Sprint(metricsCounted))
}

// commands logs in, and returns a function that runs weir.
func (s *stage) commands() (run func(args ...string) string) {
	s.Helper()
	password, err := s.controller.Password()
	s.must(err)
	file := filepath.Join(s.dir, "password")
	s.must(os.WriteFile(file, []byte(password+"\n"), 0o600))
	run = func(args ...string) string {
		s.Helper()
		command := exec.CommandContext(s.ctx, weir(s.T), args...)
		command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(s.dir, "config"))
		out, err := command.CombinedOutput()
		if err != nil {
			s.Fatalf("weir %v: %v\n%s", args, err, out)
		}
		s.Logf("weir %s\n%s", strings.Join(args, " "), out)
		return string(out)
	}
	run("login", s.controller.URL, "--password-file", file, "--trust-on-first-use")
	return run
}

// checkTenants has another tenant ask.
func (s *stage) checkTenants(token string) {
	s.Helper()
	s.create("tenant", client.Object{"name": "red"})
	red := s.prometheus(token, "red")
	if got, err := s.value(red, `sum({__name__=~".+"})`); err == nil {
		s.Errorf("another tenant sees %v", got)
	}
	names, _, err := red.LabelValues(s.ctx, "service", nil, time.Now().Add(-time.Hour), time.Now())
	if err != nil || len(names) > 0 {
		s.Errorf("another tenant sees %v, %v", names, err)
	}
	if text := s.page(token, "red", "/metrics"); text != "" {
		s.Errorf("another tenant scrapes %s", text)
	}
	web, err := s.controller.Session.ByName(s.ctx, "virtualservice", "web")
	s.must(err)
	err = s.controller.Session.InTenant("red").Get(s.ctx,
		fmt.Sprintf("analytics/metrics/virtualservice/%v?metric_id=l7_client.avg_total_requests", web["uuid"]), nil)
	if !client.IsStatus(err, http.StatusNotFound) {
		s.Errorf("another tenant asks for the metrics of web: %v", err)
	}
	if got, err := s.value(s.prometheus(token, "*"), `count(weir_service_requests_total)`); err != nil || got != 1 {
		s.Errorf("all tenants: %v, %v", got, err)
	}
}

// checkRestart kills the controller under a steady load.
func (s *stage) checkRestart(from, fromAll prometheus.API) {
	s.Helper()
	peak := `max_over_time(rate(weir_service_requests_total[15s] anchored)[5m:15s])`
	load, err := s.lab.BeginLoad(s.ctx, append([]string{"--url", plainURL("/index.html"), "--connections", "4",
		"--requests-per-connection", "0", "--rate", fmt.Sprint(metricsRate)}, untilTold...)...)
	s.must(err)
	steady := func() error {
		got, err := s.value(from, `sum(rate(weir_service_requests_total[15s] anchored))`)
		if err != nil || got < metricsRate*0.95 || got > metricsRate*1.05 {
			return fmt.Errorf("%v a second, %v", got, err)
		}
		return nil
	}
	s.eventually("the rate of the load is there", steady)
	s.must(s.controller.Kill())
	s.must(s.controller.Restart(context.WithoutCancel(s.ctx)))
	s.eventually("there are two collections since the restart", func() error {
		got, err := s.value(fromAll,
			`weir_metrics_collections_total and resets(weir_metrics_collections_total[10m]) > 0`)
		if err != nil || got < 2 {
			return fmt.Errorf("%v, %v", got, err)
		}
		return nil
	})
	s.eventually("the rate of the load is there again", steady)
	highest, err := s.value(from, peak)
	s.must(err)
	// Between two collections come the counts of some seconds more or less than 15. What was counted before the restart
	// would be thousands of requests more.
	if highest > metricsRate*1.5 {
		s.Errorf("the restart shows a peak of %v requests a second, the load has %v", highest, metricsRate)
	}
	counted, err := s.value(from, `increase(weir_service_requests_total[1h] anchored)`)
	s.must(err)
	report, err := load.End()
	s.must(err)
	if most := float64(metricsCounted + report.Requests); counted < metricsCounted+
		float64(report.Requests)/2 || counted > most {
		s.Errorf("the history has %v requests, of %v", counted, most)
	}
}
