package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	promapi "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage"
)

// prometheus is the client of Prometheus, with which Grafana's data source shares its requests.
func (m *measured) prometheus(tenant string) promapi.API {
	m.Helper()
	made, err := api.NewClient(api.Config{Address: m.controller.URL + "/api/weir/promql",
		RoundTripper: asking{m.token, tenant}})
	must(m.T, err)
	return promapi.NewAPI(made)
}

func TestClientsOfPrometheusReadTheHistory(t *testing.T) {
	m := measure(t)
	t.Run("another tenant", func(t *testing.T) { m.with(t).asOtherTenant() })
	t.Run("Grafana's data source", func(t *testing.T) { m.with(t).asGrafana() })
	t.Run("lint", func(t *testing.T) { m.with(t).lint() })
	t.Run("Avi's text", func(t *testing.T) { m.with(t).aviText() })
	t.Run("scrapes", func(t *testing.T) { m.with(t).scrapes() })
	t.Run("native histograms", func(t *testing.T) { m.with(t).nativeHistograms() })
	t.Run("avisdk", func(t *testing.T) { m.with(t).runPython(withAviSDK(t), "analytics.py") })
	t.Run("Datadog", func(t *testing.T) { m.with(t).runPython(withDatadog(t), "datadog.py") })
}

func (m *measured) with(t *testing.T) *measured {
	copied := *m
	copied.T = t
	return &copied
}

// asGrafana asks what the data source asks when it is saved, when a panel is edited, and when it is drawn.
func (m *measured) asGrafana() {
	ctx, from, now := m.Context(), m.prometheus("admin"), time.Now()
	build, err := from.Buildinfo(ctx)
	if err != nil || !strings.HasPrefix(build.Version, "3.") {
		m.Errorf("build: %+v, %v", build, err)
	}
	found, warnings, err := from.Query(ctx, "1+1", now)
	if scalar, is := found.(*model.Scalar); err != nil || len(warnings) > 0 || !is || scalar.Value != 2 {
		m.Errorf("test of the data source: %v, %v, %v", found, warnings, err)
	}
	found, _, err = from.QueryRange(ctx,
		`histogram_quantile(0.99, sum by (service) (rate(weir_service_total_seconds[5m])))`,
		promapi.Range{Start: now.Add(-5 * time.Minute), End: now.Add(time.Minute), Step: 15 * time.Second})
	if matrix, is := found.(model.Matrix); err != nil || !is {
		m.Errorf("quantile: %v, %v", matrix, err)
	}
	names, _, err := from.LabelNames(ctx, nil, now.Add(-time.Hour), now)
	if err != nil || !slices.Contains(names, "service") || !slices.Contains(names, "__name__") {
		m.Errorf("labels: %v, %v", names, err)
	}
	services, _, err := from.LabelValues(ctx, "service", []string{`weir_service_requests_total`},
		now.Add(-time.Hour), now)
	if err != nil || fmt.Sprint(services) != "[web]" {
		m.Errorf("services: %v, %v", services, err)
	}
	metrics, _, err := from.LabelValues(ctx, "__name__", nil, now.Add(-time.Hour), now)
	if err != nil || !slices.Contains(metrics, "weir_service_requests_total") {
		m.Errorf("metrics: %v, %v", metrics, err)
	}
	series, _, err := from.Series(ctx, []string{`{__name__=~"weir_service_.*",service="web"}`},
		now.Add(-time.Hour), now)
	if err != nil || len(series) < 10 {
		m.Errorf("series: %v, %v", series, err)
	}
	described, err := from.Metadata(ctx, "", "")
	if err != nil || described["weir_service_total_seconds"][0].Type != "histogram" {
		m.Errorf("metadata: %v", err)
	}
	_, err = from.QueryExemplars(ctx, "weir_service_requests_total", now.Add(-time.Hour), now)
	var refused *promapi.Error
	if !errors.As(err, &refused) || refused.Type != promapi.ErrBadData ||
		!strings.Contains(refused.Msg, "no exemplars") {
		m.Errorf("exemplars: %v", err)
	}
	if _, _, err = from.Query(ctx, `rate(weir_service_requests_total)`, now); !errors.As(err, &refused) ||
		refused.Type != promapi.ErrBadData {
		m.Errorf("an instant vector where a range is needed: %v", err)
	}
}

// lint checks the page for Prometheus as promtool does.
func (m *measured) lint() {
	content, text := m.page("*", "/metrics", "text/plain")
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil || content != "text/plain; version=0.0.4; charset=utf-8" {
		m.Fatalf("%s: %v", content, err)
	}
	for _, problem := range problems {
		m.Errorf("%s: %s", problem.Metric, problem.Text)
	}
	families := parsed(m.T, text)
	for name, of := range families {
		if of.GetHelp() == "" || of.GetType() == dto.MetricType_UNTYPED {
			m.Errorf("%s has no help or no type", name)
		}
	}
	wait := families["weir_service_wait_seconds"]
	if wait.GetType() != dto.MetricType_SUMMARY || len(wait.GetMetric()) != 2 ||
		wait.GetMetric()[0].GetSummary().GetSampleCount() < measuredRequests {
		m.Errorf("the sum of times: %v", wait)
	}
}

func parsed(t *testing.T, text []byte) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	must(t, err)
	return families
}

// aviLine is a line of Avi's text: a comma and a space between labels, and always a decimal point.
var aviLine = regexp.MustCompile(
	`^avi_[a-z0-9]+_[a-z0-9_]+\{uuid="[^"]+", type="[a-z]+", tenant="[^"]+", (server="[^"]+", )?name="[^"]+"\} -?[0-9]+\.[0-9]+$`)

// aviText checks the text that exporters for Avi read, byte for byte.
func (m *measured) aviText() {
	for _, kind := range []string{"virtualservice", "pool", "serviceengine", "controller"} {
		_, text := m.page("admin", "/api/analytics/prometheus-metrics/"+kind+"?tenant=admin,blue&realtime=true", "*/*")
		first, rest, _ := strings.Cut(string(text), "\n")
		lines := strings.Split(strings.TrimSuffix(rest, "\n"), "\n")
		if first != fmt.Sprintf("# Successfully gathered %d metrics for %s", len(lines), kind) || len(lines) < 5 {
			m.Errorf("%s: the first line of %d is %q", kind, len(lines), first)
		}
		for _, line := range lines {
			if !aviLine.MatchString(line) || !strings.Contains(line, fmt.Sprintf(`type="%s"`, kind)) {
				m.Errorf("%s: the line %q", kind, line)
			}
		}
		parsed(m.T, text)
		_, text = m.page("admin", "/api/analytics/prometheus-metrics/"+kind+"?metric_id="+
			url.QueryEscape(strings.Join(exported, ",")), "*/*")
		parsed(m.T, text)
	}
}

// exported are some ids that public exporters ask for, of each family. Weir does not count all of them.
var exported = []string{"dns_client.avg_udp_passthrough_resp_time", "l4_client.avg_bandwidth",
	"l7_client.avg_frustrated_responses", "l7_client.pct_waf_attacks", "l7_server.avg_error_responses",
	"l4_server.avg_pool_open_conns", "se_stats.avg_packet_buffer_large_usage", "se_if.avg_connection_table_usage",
	"controller_stats.avg_disk_write_bytes", "healthscore.health_score_value"}

// scraped are the series that a scrape manager got.
type scraped struct {
	mu         sync.Mutex
	floats     map[string]float64
	histograms map[string]*histogram.Histogram
}

type scrapedAppender struct {
	storage.AppenderV2
	*scraped
}

func (s *scraped) AppenderV2(context.Context) storage.AppenderV2 { return scrapedAppender{scraped: s} }

func (s scrapedAppender) Append(_ storage.SeriesRef, of labels.Labels, _, _ int64, value float64,
	h *histogram.Histogram,
	_ *histogram.FloatHistogram, _ storage.AppendV2Options) (storage.SeriesRef, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := of.Get(labels.MetricName) + " " + of.Get("job") + " " + of.Get("service") + of.Get("name")
	if h != nil {
		s.histograms[name] = h
	} else {
		s.floats[name] = value
	}
	return 0, nil
}

func (scrapedAppender) Commit() error   { return nil }
func (scrapedAppender) Rollback() error { return nil }

const scrapeConfig = `
scrape_configs:
  - job_name: weir
    scheme: https
    scrape_interval: 1s
    scrape_timeout: 1s
    scrape_native_histograms: true
    authorization: {credentials: TOKEN}
    tls_config: {insecure_skip_verify: true}
    http_headers: {X-Avi-Tenant: {values: ["*"]}}
    static_configs: [{targets: ["TARGET"]}]
  - job_name: avi
    scheme: https
    scrape_interval: 1s
    scrape_timeout: 1s
    metrics_path: /api/analytics/prometheus-metrics/virtualservice
    params: {tenant: ["admin,blue"], realtime: ["true"]}
    authorization: {credentials: TOKEN}
    tls_config: {insecure_skip_verify: true}
    static_configs: [{targets: ["TARGET"]}]
`

// scrapes has Prometheus' own scrape manager read both pages.
func (m *measured) scrapes() {
	target := strings.TrimPrefix(m.controller.URL, "https://")
	loaded, err := config.Load(strings.NewReplacer("TOKEN", m.token, "TARGET", target).Replace(scrapeConfig),
		slog.New(slog.DiscardHandler))
	must(m.T, err)
	into := &scraped{floats: map[string]float64{}, histograms: map[string]*histogram.Histogram{}}
	manager, err := scrape.NewManager(&scrape.Options{}, promslog.NewNopLogger(), nil, nil, into,
		prometheus.NewRegistry())
	must(m.T, err)
	must(m.T, manager.ApplyConfig(loaded))
	groups := map[string][]*targetgroup.Group{}
	for _, job := range []string{"weir", "avi"} {
		groups[job] = []*targetgroup.Group{{Source: job,
			Targets: []model.LabelSet{{model.AddressLabel: model.LabelValue(target)}}}}
	}
	updates := make(chan map[string][]*targetgroup.Group, 1)
	updates <- groups
	ended := make(chan error, 1)
	go func() { ended <- manager.Run(updates) }()
	defer func() {
		manager.Stop()
		must(m.T, <-ended)
	}()
	m.eventually("both pages are scraped", func() error {
		into.mu.Lock()
		defer into.mu.Unlock()
		if into.floats["up weir "] != 1 || into.floats["up avi "] != 1 {
			return fmt.Errorf("up: %v, %v", into.floats["up weir "], into.floats["up avi "])
		}
		return nil
	})
	into.mu.Lock()
	defer into.mu.Unlock()
	if got := into.floats["weir_service_requests_total weir web"]; got < measuredRequests {
		m.Errorf("requests of web: %v", got)
	}
	if h := into.histograms["weir_service_total_seconds weir shop"]; h == nil || h.Count < measuredRequests ||
		h.Validate() != nil {
		m.Errorf("native histogram of shop: %v", h)
	}
	if _, has := into.floats["avi_l4_client_max_open_conns avi web"]; !has {
		m.Errorf("the page for Avi has no l4_client.max_open_conns of web")
	}
}

func (m *measured) nativeHistograms() {
	const accepts = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7," +
		"text/plain;version=0.0.4;q=0.3"
	content, text := m.page("admin", "/metrics", accepts)
	if !strings.HasPrefix(content, "application/vnd.google.protobuf") {
		m.Fatalf("got %s", content)
	}
	decoder := expfmt.NewDecoder(bytes.NewReader(text), expfmt.FmtProtoDelim)
	for {
		var of dto.MetricFamily
		if err := decoder.Decode(&of); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			m.Fatal(err)
		}
		if of.GetName() == "weir_service_total_seconds" {
			h := of.GetMetric()[0].GetHistogram()
			if of.GetType() != dto.MetricType_HISTOGRAM || len(of.GetMetric()) != 1 || h.GetSchema() != 3 ||
				h.GetSampleCount() < measuredRequests || len(h.GetPositiveSpan()) == 0 {
				m.Errorf("got %v", &of)
			}
			return
		}
	}
	m.Error("there is no weir_service_total_seconds")
}
