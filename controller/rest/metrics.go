package rest

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/controller/store"
)

// Metrics is the history of numbers. Errors: *series.UnknownMetric, *series.Refusal, series.ErrOpening, ErrBusy,
// ErrTimeout.
type Metrics interface {
	Catalog() []series.Metric
	Ask(ctx context.Context, questions []series.Question) ([]series.Answer, error)
	Query(ctx context.Context, query series.Query) (series.Found, error)
	LabelNames(ctx context.Context, selection series.Selection) (series.Found, error)
	LabelValues(ctx context.Context, name string, selection series.Selection) (series.Found, error)
	Series(ctx context.Context, selection series.Selection) (series.Found, error)
	Metadata(name string) (series.Found, error)
	// Language is the version of Prometheus whose PromQL queries are in: 3.15.0.
	Language() string
	// Expose returns the newest values in a format of Prometheus, as far as the client sees them. accepted is the
	// header Accept of the client, and content the Content-Type of the answer.
	Expose(ctx context.Context, sight series.Sight, accepted string) (content string, text []byte, err error)
}

// metricEntities are the names of kinds in requests and answers about metrics.
var metricEntities = map[series.Kind]string{
	series.VirtualService: "VSERVER_METRICS_ENTITY",
	series.Pool:           "POOL_METRICS_ENTITY",
	series.Engine:         "SE_METRICS_ENTITY",
	series.Controller:     "CONTROLLER_METRICS_ENTITY",
}

// entityTypes are the names of kinds in the list of metrics.
var entityTypes = map[series.Kind]string{
	series.VirtualService: "virtualservice", series.Pool: "pool", series.Engine: "serviceengine",
	series.Controller: "cluster",
}

// listMetrics lists the ids of metrics: "GET /api/analytics/metric_id".
func listMetrics(c *call) error {
	results := []schema.Object{}
	for _, metric := range c.api.metrics.Catalog() {
		entities := []any{}
		for _, kind := range metric.Kinds {
			entities = append(entities, entityTypes[kind])
		}
		results = append(results, schema.Object{"name": metric.ID, "entity_types": entities,
			"metric_units": metric.Unit,
			"description":  metric.Text, "weir_counted": !metric.Missing})
	}
	return c.reply(http.StatusOK, schema.Object{"count": len(results), "results": results})
}

// showMetrics answers "GET /api/analytics/metrics/<kind>/<uuid>".
func showMetrics(c *call) error {
	pages, err := c.metricPages(c.path[4])
	if err != nil {
		return err
	}
	if len(pages) == 0 { // "*" in a tenant without such objects
		title := "Controller"
		if of, isKind := schema.Lookup(c.path[3]); isKind {
			title = of.Title
		}
		return &admit.NotFound{Title: title}
	}
	return c.reply(http.StatusOK, pages[0])
}

// showMetricsOfAll answers "GET /api/analytics/metrics/<kind>", with entity_uuid for some objects.
func showMetricsOfAll(c *call) error {
	pages, err := c.metricPages(c.query.Get("entity_uuid"))
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, schema.Object{"count": len(pages), "results": pages})
}

// metricPages are the answers about the objects with these uuids, separated by commas; none: about all.
func (c *call) metricPages(uuids string) ([]schema.Object, error) {
	kind, err := metricKind(c.path[3])
	if err != nil {
		return nil, err
	}
	fields := requestOf(c.query)
	if c.query.Get("metric_id") == "" && kind != series.Controller {
		fields["metric_id"] = scoreIDs[0] // get_healthscore of the Python SDK names none
	}
	asked, err := c.metricRequest(kind, fields)
	if err != nil {
		return nil, err
	}
	answers, err := c.askMetrics(asked, uuids)
	if err != nil {
		return nil, err
	}
	pages, found := []schema.Object{}, byObject(answers)
	for _, record := range asked.records {
		pages = append(pages, asked.page(c, record, found))
	}
	return pages, nil
}

// askMetrics asks for the values of objects.
func (c *call) askMetrics(asked *metricRequest, uuids string) (answers []series.Answer, err error) {
	if err := c.measure(asked, uuids); err != nil {
		return nil, err
	}
	if err := boundValues(asked); err != nil {
		return nil, err
	}
	if asked.split != nil {
		return c.askRecords(asked)
	}
	return c.api.metrics.Ask(c.r.Context(), asked.questions(c.tenant))
}

// measure finds the objects of a request: those of a pool, if the request names one.
func (c *call) measure(asked *metricRequest, uuids string) (err error) {
	asked.records, err = c.measured(asked.kind, itemsOf(cmp.Or(asked.pool, uuids)))
	return err
}

func metricKind(name string) (series.Kind, error) {
	if kind := series.Kind(name); slices.Contains(series.Kinds, kind) {
		return kind, nil
	}
	return "", &noSuchMetrics{name}
}

// measured returns objects of a kind that belong to the tenant of the request; of none named, or "*", all. A tenant
// does not see numbers of objects of others, not even of those of admin that it sees.
func (c *call) measured(kind series.Kind, uuids []string) ([]*store.Record, error) {
	if err := c.need(need{access: admit.ReadAccess, resource: measuredBy(kind)}); err != nil {
		return nil, err
	}
	if kind == series.Controller {
		return c.measuredController(), nil
	}
	of, _ := schema.Lookup(string(kind))
	if len(uuids) == 0 || slices.Equal(uuids, []string{"*"}) {
		return slices.DeleteFunc(slices.Clone(c.view.List(string(kind))),
			func(record *store.Record) bool { return !c.owns(record) }), nil
	}
	var found []*store.Record
	for _, uuid := range uuids {
		record, err := admit.Find(c.view, c.tenant, of, uuid)
		if err != nil {
			return nil, err
		}
		if !c.owns(record) {
			return nil, &admit.NotFound{Title: of.Title}
		}
		found = append(found, record)
	}
	return found, nil
}

// owns tells whether an object belongs to the tenant of the request.
func (c *call) owns(record *store.Record) bool { return c.tenant.All || record.Tenant == c.tenant.UUID }

// measuredController stands for the controller, whatever uuid a client knows it by. It belongs to the tenant admin, as
// engines do.
func (c *call) measuredController() []*store.Record {
	self := &store.Record{Kind: string(series.Controller), UUID: series.ControllerUUID, Name: c.api.cluster.node,
		Tenant: admit.AdminTenant}
	if !c.owns(self) {
		return nil
	}
	return []*store.Record{self}
}

// requestOf turns a query into the fields that an item of a collection has.
func requestOf(query url.Values) schema.Object {
	request := schema.Object{}
	for name, values := range query {
		request[name] = strings.Join(values, ",")
	}
	return request
}

// itemsOf returns the items of a list that is separated by commas, each once.
func itemsOf(text string) (items []string) {
	has := map[string]bool{}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" && !has[item] {
			has[item] = true
			items = append(items, item)
		}
	}
	return items
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05+00:00") }
