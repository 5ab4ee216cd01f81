package rest

import (
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/controller/store"
)

// metricFound is the answer to one question, by the uuid of the object.
type metricFound struct {
	metric series.Metric
	of     map[string][]series.Series
}

func byObject(answers []series.Answer) []metricFound {
	all := make([]metricFound, len(answers))
	for i, answer := range answers {
		of := make(map[string][]series.Series, len(answer.Series))
		for _, one := range answer.Series {
			of[one.UUID] = append(of[one.UUID], one)
		}
		all[i] = metricFound{answer.Metric, of}
	}
	return all
}

// page is the answer about one object.
func (m *metricRequest) page(c *call, record *store.Record, answers []metricFound) schema.Object {
	return schema.Object{
		"entity_uuid": record.UUID, "metric_entity": metricEntities[m.kind], "metric_id": strings.Join(m.ids, ","),
		"start": stamp(m.start), "stop": stamp(m.stop), "step": int64(m.step.Seconds()),
		"limit":  int64(m.steps()),
		"series": m.seriesOf(c, record, answers),
	}
}

// seriesOf are the series of one object, in the order of the metrics. A metric without any has a series of nulls,
// unless it is asked for by a dimension: then no request has a value of it.
func (m *metricRequest) seriesOf(c *call, record *store.Record, answers []metricFound) []any {
	list := []any{}
	for _, answer := range answers {
		found := answer.of[record.UUID]
		if len(found) == 0 && m.split == nil {
			found = []series.Series{m.nothing(record)}
		}
		for _, one := range found {
			list = append(list, m.oneSeries(c, record, answer.metric, one))
		}
	}
	return list
}

func (m *metricRequest) nothing(record *store.Record) series.Series {
	none := series.Series{UUID: record.UUID}
	for at := m.start; !at.After(m.stop); at = at.Add(m.step) {
		none.Points = append(none.Points, series.Point{At: at, Null: true})
	}
	return none
}

func (m *metricRequest) oneSeries(c *call, record *store.Record, metric series.Metric,
	one series.Series) schema.Object {
	header := schema.Object{
		"name": metric.ID, "units": metric.Unit, "entity_uuid": record.UUID, "tenant_uuid": record.Tenant,
		"metric_description": metric.Text, "metrics_min_scale": 0.0, "derivation_data": schema.Object{},
		"statistics": statistics(one.Points),
	}
	if m.kind == series.Pool {
		header["pool_uuid"] = record.UUID
	}
	if one.Server != "" {
		addServer(header, one.Server)
	}
	if m.split != nil {
		m.split.addTo(header, one.Dimension)
	}
	data := []any{}
	for _, point := range one.Points {
		item := schema.Object{"timestamp": stamp(point.At), "value": point.Value, "num_samples": int64(1)}
		if point.Null {
			item["value"], item["is_null"], item["num_samples"] = nil, true, int64(0)
		}
		if m.split == nil {
			c.addBand(item, record.UUID, one.Server, metric.ID, point.At.Add(-m.step/2))
		}
		if !point.Null || m.padded {
			data = append(data, item)
		}
	}
	return schema.Object{"header": header, "data": data}
}

// addServer says which server of a pool something is about.
func addServer(to schema.Object, server string) {
	to["server"], to["obj_id"], to["obj_id_type"] = server, server, "METRICS_OBJ_TYPE_SERVER"
}

// statistics sum up the values that are known.
func statistics(points []series.Point) schema.Object {
	var least, most, last series.Point
	sum, samples := 0.0, 0
	for _, point := range points {
		if point.Null {
			continue
		}
		if samples == 0 || point.Value < least.Value {
			least = point
		}
		if samples == 0 || point.Value > most.Value {
			most = point
		}
		last, sum, samples = point, sum+point.Value, samples+1
	}
	if samples == 0 {
		return schema.Object{"num_samples": int64(0)}
	}
	mean, trend := sum/float64(samples), 0.0
	if mean != 0 {
		trend = (last.Value - mean) / mean
	}
	return schema.Object{
		"min": least.Value, "max": most.Value, "min_ts": stamp(least.At), "max_ts": stamp(most.At), "mean": mean,
		"sum": sum, "num_samples": int64(samples), "last_sample": last.Value, "trend": trend,
	}
}
