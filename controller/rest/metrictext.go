package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/controller/store"
)

const (
	textContent = "text/plain; version=0.0.4; charset=utf-8"

	textStep         = 5 * time.Minute
	textStepRealtime = 15 * time.Second
)

// exposeMetrics answers a scrape by Prometheus: "GET /metrics".
func exposeMetrics(c *call) error {
	content, text, err := c.api.metrics.Expose(c.r.Context(), c.sight(), c.r.Header.Get("Accept"))
	if err != nil {
		return err
	}
	return c.sendText(content, text)
}

func (c *call) sendText(content string, text []byte) error {
	c.w.Header().Set("Content-Type", content)
	c.w.Header().Set("Cache-Control", "no-store")
	c.send(http.StatusOK, text)
	return nil
}

// showMetricsAsText answers "GET /api/analytics/prometheus-metrics/<kind>": a line for each metric and object, in Avi's
// form, which has a comma and a space between labels, and always a decimal point. A value that is not known has no
// line.
func showMetricsAsText(c *call) error {
	kind, err := metricKind(c.path[3])
	if err != nil {
		return err
	}
	step := textStep
	if flag(c.query, "realtime") {
		step = textStepRealtime
	}
	now := c.api.now()
	ids := itemsOf(c.query.Get("metric_id"))
	if err := boundIDs(ids); err != nil {
		return err
	}
	if len(ids) == 0 {
		ids = c.countedOf(kind)
	}
	tenants, err := c.textTenants()
	if err != nil {
		return err
	}
	var requests []*metricRequest
	var questions []series.Question
	for _, tenant := range tenants {
		c.tenant = tenant
		asked := &metricRequest{kind: kind, ids: ids, start: now, stop: now, step: step}
		if asked.records, err = c.textRecords(kind); err != nil {
			return err
		}
		if len(asked.records) > 0 {
			requests, questions = append(requests, asked), append(questions, asked.textQuestions(tenant)...)
		}
	}
	if err := boundValues(requests...); err != nil {
		return err
	}
	lines, err := c.textOf(requests, questions)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("# Successfully gathered %d metrics for %s\n", len(lines), kind)
	return c.sendText(textContent, []byte(text+strings.Join(lines, "")))
}

// countedOf are the ids of all metrics that Weir counts of a kind of object.
func (c *call) countedOf(kind series.Kind) (ids []string) {
	for _, metric := range c.api.metrics.Catalog() {
		if !metric.Missing && slices.Contains(metric.Kinds, kind) {
			ids = append(ids, metric.ID)
		}
	}
	return ids
}

// textTenants are the tenants that the request names, or that of the request.
func (c *call) textTenants() ([]admit.Tenant, error) {
	var tenants []admit.Tenant
	for _, name := range itemsOf(c.query.Get("tenant")) {
		tenant, err := admit.TenantOf(c.view, c.who, name, "")
		if err == nil {
			err = c.needIn(tenant)
		}
		if err != nil {
			return nil, err
		}
		if !slices.Contains(tenants, tenant) { // one has a name and a uuid
			tenants = append(tenants, tenant)
		}
	}
	if len(tenants) == 0 {
		tenants = append(tenants, c.tenant)
	}
	return tenants, nil
}

func (c *call) textRecords(kind series.Kind) ([]*store.Record, error) {
	names, uuids := map[string]bool{}, map[string]bool{}
	for _, name := range itemsOf(c.query.Get("entity_name")) {
		names[name] = true
	}
	for _, uuid := range itemsOf(c.query.Get("entity_id")) {
		uuids[uuid] = true
	}
	all, err := c.measured(kind, nil)
	if err != nil || len(names)+len(uuids) == 0 {
		return all, err
	}
	return slices.DeleteFunc(all, func(record *store.Record) bool {
			return !names[record.Name] && !uuids[record.UUID]
		}),
		nil
}

// textQuestions are one for each metric, and those of pools one more, for each server by itself.
func (m *metricRequest) textQuestions(tenant admit.Tenant) []series.Question {
	questions := m.questions(tenant)
	if m.kind == series.Pool {
		for _, question := range questions {
			question.Server = series.EachServer
			questions = append(questions, question)
		}
	}
	return questions
}

// textOf returns the lines of all requests, whose questions follow each other. It asks for all at once: they share one
// place and one deadline.
func (c *call) textOf(requests []*metricRequest, questions []series.Question) (lines []string, err error) {
	if len(requests) == 0 {
		return nil, nil
	}
	answers, err := c.api.metrics.Ask(c.r.Context(), questions)
	if err != nil {
		return nil, err
	}
	each := len(answers) / len(requests)
	for _, asked := range requests {
		found := byObject(answers[:each])
		for _, record := range asked.records {
			for i, answer := range answers[:each] {
				lines = append(lines, c.textLines(asked.kind, record, answer.Metric.ID, found[i].of[record.UUID])...)
			}
		}
		answers = answers[each:]
	}
	return lines, nil
}

// textLines are the lines of one object and one metric.
func (c *call) textLines(kind series.Kind, record *store.Record, id string, found []series.Series) (lines []string) {
	for _, one := range found {
		if last := len(one.Points) - 1; last >= 0 && !one.Points[last].Null {
			lines = append(lines, c.textLine(kind, record, id, one.Server, one.Points[last].Value))
		}
	}
	return lines
}

func (c *call) textLine(kind series.Kind, record *store.Record, id, server string, value float64) string {
	tenant := record.Tenant
	if found, known := c.view.Get("tenant", tenant); known {
		tenant = found.Name
	}
	if server != "" {
		server = "server=" + quoted(server) + ", "
	}
	return fmt.Sprintf("avi_%s{uuid=%s, type=%s, tenant=%s, %sname=%s} %s\n", strings.ReplaceAll(id, ".", "_"),
		quoted(record.UUID), quoted(string(kind)), quoted(tenant), server, quoted(record.Name), withPoint(value))
}

func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

// withPoint writes a number with a decimal point.
func withPoint(value float64) string {
	text := strconv.FormatFloat(value, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// noSuchMetrics says that objects of a kind have no metrics.
type noSuchMetrics struct{ kind string }

func (e *noSuchMetrics) Error() string {
	return fmt.Sprintf("%s has no metrics: %v have", e.kind, series.Kinds)
}
