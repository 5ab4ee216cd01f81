package metrics

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/weir-lb/weir/controller/series"
)

// Expose writes the newest values of the series that a client sees, for a scrape by Prometheus. Clients that accept
// protobuf get native histograms; text has none, because its histograms have other buckets. Errors: series.ErrBusy,
// ErrTimeout.
func (h *History) Expose(ctx context.Context, sight series.Sight, accepted string) (content string, text []byte,
	err error) {
	leave, err := h.places.enter(ctx)
	if err != nil {
		return "", nil, err
	}
	defer leave()
	format := expfmt.NegotiateAccept(http.Header{"Accept": {accepted}}, expfmt.FmtText, expfmt.FmtProtoDelim)
	h.collector.mu.Lock()
	defer h.collector.mu.Unlock()
	if format.FormatType() == expfmt.TypeProtoDelim {
		text, err = h.collector.asProtobuf(sight)
		return string(format), text, err
	}
	return string(expfmt.FmtText), h.collector.asText(sight), nil
}

// shown calls show with each series that has a value now, of those that a client sees.
func (c *collector) shown(sight series.Sight, show func(*group, *entry)) {
	for _, g := range c.groups {
		if g.idle || g.ended || sight.Tenant != "" && sight.Tenant != g.of.tenantUUID {
			continue
		}
		for _, e := range g.entries {
			if !e.absent && !e.labels.IsEmpty() && sees(sight, e.name) {
				show(g, e)
			}
		}
	}
}

func (c *collector) asText(sight series.Sight) (text []byte) {
	lines := map[string][]string{}
	c.shown(sight, func(g *group, e *entry) {
		if e.sort == times {
			return
		}
		line := e.exposed(e.name, e.value)
		if count := countOf(g, e); count != nil {
			line += e.exposed(summaryOf(e.name)+"_count", count.value)
		}
		lines[e.name] = append(lines[e.name], line)
	})
	for _, f := range families {
		if len(lines[f.name]) == 0 {
			continue
		}
		slices.Sort(lines[f.name])
		name, sort, help := f.name, f.sort, f.text
		if summary := summaryOf(name); summary != "" {
			name, sort, help = summary, "summary", strings.TrimPrefix(help, "sum of ")
		}
		text = fmt.Appendf(text, "# HELP %s %s\n# TYPE %s %s\n%s", name, help, name, sort,
			strings.Join(lines[f.name], ""))
	}
	return text
}

// counts are the series with the number of times in a sum.
var counts = map[string]string{
	"weir_service_total_seconds_sum":         "weir_service_timed_requests_total",
	"weir_service_wait_seconds_sum":          "weir_service_timed_requests_total",
	"weir_service_response_seconds_sum":      "weir_service_timed_requests_total",
	"weir_service_server_rtt_seconds_sum":    "weir_service_timed_requests_total",
	"weir_service_app_response_seconds_sum":  "weir_service_timed_requests_total",
	"weir_service_data_transfer_seconds_sum": "weir_service_timed_requests_total",
	"weir_service_client_rtt_seconds_sum":    "weir_service_timed_clients_total",
	"weir_server_connect_seconds_sum":        "weir_server_connections_total",
	"weir_server_app_response_seconds_sum":   "weir_server_timed_requests_total",
	"weir_engine_batch_seconds_sum":          "weir_engine_batches_total",
}

// summaryOf is the name of the summary that a sum of times belongs to; empty: the series is no such sum.
func summaryOf(name string) string {
	if counts[name] == "" {
		return ""
	}
	return strings.TrimSuffix(name, "_sum")
}

// countOf is the number of times in a sum; nil: the series is no sum.
func countOf(g *group, e *entry) *entry { return g.entries[counts[e.name]] }

// escapes are what the text format wants in the values of labels.
var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// exposed is a value with the labels of a series, as a line of the text format of Prometheus.
func (e *entry) exposed(name string, value float64) string {
	var line strings.Builder
	line.WriteString(name)
	between := "{"
	e.labels.Range(func(l labels.Label) {
		if l.Name != labels.MetricName {
			line.WriteString(between + l.Name + `="` + escapes.Replace(l.Value) + `"`)
			between = ","
		}
	})
	if between == "," {
		line.WriteString("}")
	}
	line.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
	return line.String()
}

func (c *collector) asProtobuf(sight series.Sight) ([]byte, error) {
	var out bytes.Buffer
	encoder := expfmt.NewEncoder(&out, expfmt.FmtProtoDelim)
	for _, f := range c.protobufs(sight) {
		if err := encoder.Encode(f); err != nil {
			return nil, fmt.Errorf("%s as protobuf: %w", f.GetName(), err)
		}
	}
	return out.Bytes(), nil
}
