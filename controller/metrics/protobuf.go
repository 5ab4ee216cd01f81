package metrics

import (
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"google.golang.org/protobuf/proto"

	"github.com/weir-lb/weir/controller/series"
)

// protobufs are the newest values of the series that a client sees, in Prometheus' protobuf format, in the order of the
// families.
func (c *collector) protobufs(sight series.Sight) []*dto.MetricFamily {
	metrics := map[string][]*dto.Metric{}
	c.shown(sight, func(g *group, e *entry) {
		if g.entries[summaryOf(e.name)] != nil {
			return // the histogram has the sum
		}
		metrics[e.name] = append(metrics[e.name], e.protobuf(g))
	})
	var all []*dto.MetricFamily
	for _, f := range families {
		if len(metrics[f.name]) == 0 {
			continue
		}
		slices.SortFunc(metrics[f.name], func(a, b *dto.Metric) int {
			return slices.CompareFunc(a.Label, b.Label, func(a, b *dto.LabelPair) int {
				return strings.Compare(a.GetValue(), b.GetValue())
			})
		})
		name, help, sort := f.name, f.text, protobufTypes[f.sort]
		if summary := summaryOf(name); summary != "" {
			name, sort, help = summary, dto.MetricType_SUMMARY, strings.TrimPrefix(help, "sum of ")
		}
		all = append(all, &dto.MetricFamily{Name: &name, Help: &help, Type: &sort, Metric: metrics[f.name]})
	}
	return all
}

var protobufTypes = map[string]dto.MetricType{"counter": dto.MetricType_COUNTER, "gauge": dto.MetricType_GAUGE,
	"histogram": dto.MetricType_HISTOGRAM}

func (e *entry) protobuf(g *group) *dto.Metric {
	made := &dto.Metric{}
	e.labels.Range(func(l labels.Label) {
		if l.Name != labels.MetricName {
			made.Label = append(made.Label, &dto.LabelPair{Name: proto.String(l.Name), Value: proto.String(l.Value)})
		}
	})
	switch {
	case e.sort == times:
		made.Histogram = protobufHistogram(e.histogram)
	case summaryOf(e.name) != "":
		made.Summary = &dto.Summary{SampleSum: &e.value}
		if count := countOf(g, e); count != nil {
			made.Summary.SampleCount = proto.Uint64(uint64(count.value))
		}
	case e.sort == counter:
		made.Counter = &dto.Counter{Value: &e.value}
	default:
		made.Gauge = &dto.Gauge{Value: &e.value}
	}
	return made
}

func protobufHistogram(h *histogram.Histogram) *dto.Histogram {
	made := &dto.Histogram{SampleCount: &h.Count, SampleSum: &h.Sum, Schema: &h.Schema, ZeroThreshold: &h.ZeroThreshold,
		ZeroCount: &h.ZeroCount, PositiveDelta: h.PositiveBuckets}
	for _, span := range h.PositiveSpans {
		made.PositiveSpan = append(made.PositiveSpan,
			&dto.BucketSpan{Offset: proto.Int32(span.Offset), Length: proto.Uint32(span.Length)})
	}
	if len(made.PositiveSpan) == 0 { // an empty span tells that it is a native histogram
		made.PositiveSpan = []*dto.BucketSpan{{Offset: proto.Int32(0), Length: proto.Uint32(0)}}
	}
	return made
}
