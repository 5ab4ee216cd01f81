package rest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/logs/query"
)

// dimension tells the requests of a virtual service apart by a field of their records: the history of metrics has no
// such labels, since clients can invent any number of values.
type dimension struct {
	name  string // without dimensionPrefix
	field string // of records of requests
}

const dimensionPrefix = "METRICS_DIMENSION_"

// dimensions are those that records can answer. The first four are Avi's.
var dimensions = []dimension{
	{"URL", "uri_path"}, {"BROWSER", "client_browser"}, {"OS", "client_os"}, {"DEVTYPE", "client_device"},
	{"CLIENT_IP", "client_ip"}, {"USER_AGENT", "user_agent"}, {"STATUS", "response_code"}, {"METHOD", "method"},
	{"HOST", "host"}, {"TLS_VERSION", "ssl_version"}, {"SERVER", "server_name"}, {"SERVICE_ENGINE", "service_engine"},
}

// countable is a metric that can be counted in records.
type countable struct {
	where     []query.Expr // what holds for the requests that count
	perSecond bool         // otherwise in a step
}

func equal(field, value string) query.Expr   { return query.Compare(field, query.Eq, value) }
func differs(field, value string) query.Expr { return query.Compare(field, query.Ne, value) }

// countables are by id. Means and shares are not among them: the store adds up, and does not multiply by weights.
var countables = map[string]countable{
	"l7_client.avg_total_requests":     {nil, true},
	"l7_client.avg_complete_responses": {[]query.Expr{differs("response_class", "")}, true},
	"l7_client.sum_total_responses":    {[]query.Expr{differs("response_class", "")}, false},
	"l7_client.avg_resp_1xx":           {[]query.Expr{equal("response_class", "1xx")}, true},
	"l7_client.avg_resp_2xx":           {[]query.Expr{equal("response_class", "2xx")}, true},
	"l7_client.avg_resp_3xx":           {[]query.Expr{equal("response_class", "3xx")}, true},
	"l7_client.avg_resp_4xx":           {[]query.Expr{equal("response_class", "4xx")}, true},
	"l7_client.avg_resp_5xx":           {[]query.Expr{equal("response_class", "5xx")}, true},
	"l7_client.avg_resp_4xx_avi_errors": {
		[]query.Expr{equal("response_class", "4xx"), equal("local_response", query.True)}, true},
	"l7_client.avg_resp_5xx_avi_errors": {
		[]query.Expr{equal("response_class", "5xx"), equal("local_response", query.True)}, true},
	"l7_client.sum_get_reqs":   {[]query.Expr{equal("method", "GET")}, false},
	"l7_client.sum_post_reqs":  {[]query.Expr{equal("method", "POST")}, false},
	"l7_client.sum_other_reqs": {[]query.Expr{differs("method", "GET"), differs("method", "POST")}, false},
}

const (
	dimensionLimit = 10  // values of a dimension, unless the client chooses
	dimensionMost  = 100 // that it may choose
	// dimensionQueries bounds the objects × metrics of a request: each needs two queries of records.
	dimensionQueries = 20
)

// split is the part of a request for metrics that asks for a dimension.
type split struct {
	by    dimension
	limit int // of the values: the most frequent ones
	// over makes one value of all steps: "avg" or "sum"; empty: each step has its own.
	over string
}

// splitOf reads the dimension of a request; nil: there is none.
func splitOf(text func(string) string, kind series.Kind) (*split, error) {
	name := strings.ToUpper(strings.Trim(text("dimensions"), "[]"))
	if name == "" {
		for _, other := range []string{"dimension_aggregation", "dimension_limit", "dimension_filter_op"} {
			if text(other) != "" {
				return nil, &badQuery{other, "give dimensions, too"}
			}
		}
		return nil, nil
	}
	if kind != series.VirtualService {
		return nil, &badQuery{"dimensions",
			"only metrics of virtual services have dimensions: they come from records " +
				"of requests"}
	}
	at := slices.IndexFunc(dimensions, func(d dimension) bool {
		return d.name == strings.TrimPrefix(name, dimensionPrefix)
	})
	if at < 0 {
		return nil, &badQuery{"dimensions", fmt.Sprintf("records cannot answer %q: give one of %s", name, namesOf())}
	}
	if text("dimension_filter_op") != "" {
		return nil, &badQuery{"dimension_filter_op", "filters of a dimension are not known: use filter= of " +
			"/api/analytics/logs?type=1"}
	}
	asked := &split{by: dimensions[at]}
	switch over := strings.ToLower(text("dimension_aggregation")); over[strings.LastIndex(over, "_")+1:] {
	case "":
	case "avg", "mean":
		asked.over = "avg"
	case "sum":
		asked.over = "sum"
	default:
		return nil, &badQuery{"dimension_aggregation", fmt.Sprintf(
			"%q: give avg or sum, of the values of all steps", over)}
	}
	limit, err := whole(text("dimension_limit"), "dimension_limit", dimensionLimit)
	if err == nil && limit > dimensionMost {
		err = &badQuery{"dimension_limit", fmt.Sprintf("give at most %d", dimensionMost)}
	}
	asked.limit = limit
	return asked, err
}

func namesOf() string {
	var names []string
	for _, one := range dimensions {
		names = append(names, dimensionPrefix+one.name)
	}
	return strings.Join(names, ", ")
}

// alignSteps has the steps begin where those of records do: at multiples of the step since 1970.
func (m *metricRequest) alignSteps() {
	beyond := time.Duration(m.stop.UnixNano() % int64(m.step))
	m.start, m.stop = m.start.Add(-beyond), m.stop.Add(-beyond)
}

// askRecords answers a request with a dimension, if a role opens records of requests: the values are what clients sent.
func (c *call) askRecords(m *metricRequest) (answers []series.Answer, err error) {
	if err := c.need(need{access: admit.ReadAccess, resource: schema.TrafficResource}); err != nil {
		return nil, err
	}
	if c.api.logs == nil {
		return nil, &badQuery{"dimensions", "this controller keeps no records of requests: it runs with --logs memory"}
	}
	if queries := len(m.ids) * len(m.records); queries > dimensionQueries {
		return nil, &badQuery{"dimensions", fmt.Sprintf("objects × metrics are %d, and at most %d are answered by "+
			"dimension: name fewer", queries, dimensionQueries)}
	}
	for _, id := range m.ids {
		metric, err := c.countedMetric(id)
		if err != nil {
			return nil, err
		}
		answers = append(answers, series.Answer{Metric: metric})
	}
	for i, id := range m.ids {
		for _, record := range m.records {
			found, err := c.splitRecords(m, countables[id], record)
			if err != nil {
				return nil, err
			}
			answers[i].Series = append(answers[i].Series, found...)
		}
	}
	return answers, nil
}

// countedMetric finds a metric that records can answer.
func (c *call) countedMetric(id string) (series.Metric, error) {
	catalog := c.api.metrics.Catalog()
	at := slices.IndexFunc(catalog, func(metric series.Metric) bool { return metric.ID == id })
	if at < 0 {
		return series.Metric{}, &series.UnknownMetric{ID: id}
	}
	if _, counted := countables[id]; !counted {
		return series.Metric{}, &badQuery{"metric_id", fmt.Sprintf("%s cannot be counted in records: with dimensions, "+
			"give %s", id, strings.Join(slices.Sorted(maps.Keys(countables)), ", "))}
	}
	return catalog[at], nil
}

// splitRecords returns the series of the most frequent values of a dimension, the most frequent first.
func (c *call) splitRecords(m *metricRequest, what countable, of *store.Record) (all []series.Series, err error) {
	field := m.split.by.field
	where := append([]query.Expr{equal("virtualservice", of.UUID)}, what.where...)
	if query.Types[query.Requests][field] == query.Number { // a record without it has no value that could be named
		where = append(where, query.Compare(field, query.Ge, "0"))
	}
	asked := query.Query{Type: query.Requests, Scope: query.Scope{All: c.tenant.All, Tenant: c.tenant.UUID},
		From: m.start.Add(-m.step), To: m.stop, Where: query.All(where...),
		Facets: &query.Facets{Fields: []string{field}, Limit: m.split.limit}}
	answer, err := c.askWhole(asked)
	if err != nil || len(answer.Facets) == 0 {
		return nil, err
	}
	if answer.Facets[0].TooMany {
		return nil, &series.Refusal{Parameter: "dimensions", Problem: field +
			" has more values than can be counted at " +
			"once: ask for less time"}
	}
	var values []query.Expr
	for _, value := range answer.Facets[0].Values {
		values = append(values, query.Expr{Field: field, Op: query.Eq, Value: value.Value})
		one := series.Series{UUID: of.UUID, Dimension: value.Value, Points: c.emptySteps(m)}
		all = append(all, one)
	}
	if len(values) == 0 {
		return nil, nil
	}
	asked.Facets, asked.Where = nil, query.All(append(where, query.Expr{Or: values})...)
	asked.Histogram = &query.Histogram{Step: m.step, By: []string{field},
		Aggregates: []query.Aggregate{{Function: "sum", Field: query.WeightField}}}
	if answer, err = c.askWhole(asked); err != nil {
		return nil, err
	}
	for _, bucket := range answer.Buckets {
		at := slices.IndexFunc(all, func(one series.Series) bool { return one.Dimension == bucket.Values[0] })
		step := int(bucket.Start.Sub(asked.From) / m.step)
		if at < 0 || step < 0 || step >= len(all[at].Points) || bucket.Aggregates[0] == nil {
			continue
		}
		value := *bucket.Aggregates[0]
		if what.perSecond {
			value /= m.step.Seconds()
		}
		all[at].Points[step].Value, all[at].Points[step].Null = value, false
	}
	for i := range all {
		all[i].Points = m.split.joined(all[i].Points)
	}
	return all, nil
}

// askWhole asks the store, and takes no answer of a part of the time: what was not read would look like nothing.
func (c *call) askWhole(asked query.Query) (query.Answer, error) {
	checked, err := asked.Check()
	if err != nil {
		return query.Answer{}, err
	}
	answer, err := c.api.logs.Ask(c.r.Context(), checked)
	if err == nil && answer.PercentRemaining > 0 {
		err = series.ErrTimeout
	}
	return answer, err
}

// emptySteps are steps without requests. Of those before the oldest record, nothing is known.
func (c *call) emptySteps(m *metricRequest) (points []series.Point) {
	oldest := c.api.now().Add(-c.api.logs.Kept(query.Requests))
	for at := m.start; !at.After(m.stop); at = at.Add(m.step) {
		points = append(points, series.Point{At: at, Null: !at.After(oldest)})
	}
	return points
}

// joined makes one value of all steps, if that is asked for.
func (s *split) joined(points []series.Point) []series.Point {
	if s.over == "" {
		return points
	}
	one, known := series.Point{At: points[len(points)-1].At, Null: true}, 0
	for _, point := range points {
		if !point.Null {
			one.Value, one.Null, known = one.Value+point.Value, false, known+1
		}
	}
	if s.over == "avg" {
		one.Value /= float64(cmp.Or(known, 1))
	}
	return []series.Point{one}
}

// addTo says in the header of a series which value of the dimension it is about.
func (s *split) addTo(header schema.Object, value string) {
	header["dimension_data"] = []any{schema.Object{"dimension": dimensionPrefix + s.by.name, "dimension_id": value}}
}
