package rest

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/controller/store"
)

const (
	defaultStep  = 5 * time.Second
	defaultLimit = 60
	longestStep  = 24 * time.Hour

	idsMax    = 200     // of metrics in a request
	valuesMax = 500_000 // in an answer: of all steps, objects and metrics, whether anything is known of them or not
)

// metricRequest is a request for the values of metrics of some objects.
type metricRequest struct {
	kind        series.Kind
	ids         []string
	pool        string // uuid: the numbers are of this pool, and not of the virtual service
	server      string
	start, stop time.Time // of the first value and of the last
	step        time.Duration
	padded      bool   // null where nothing is known
	split       *split // nil: each series is about all requests
	records     []*store.Record
}

// metricRequest reads the fields of a request. Avi's clients send numbers and flags as JSON or as text.
func (c *call) metricRequest(kind series.Kind, fields schema.Object) (*metricRequest, error) {
	text := func(name string) string {
		if value, has := fields[name]; has && value != nil {
			return strings.TrimSpace(fmt.Sprint(value))
		}
		return ""
	}
	if text("order_by") != "" {
		return nil, &badQuery{"order_by",
			"series are in the order of metric_id, and values of a dimension begin with the " +
				"most frequent"}
	}
	for _, name := range []string{"serviceengine_uuid", "se_uuid"} {
		if value := text(name); value != "" && value != "*" && kind != series.Engine {
			return nil, &badQuery{name, "Weir keeps no metrics of one object on one engine"}
		}
	}
	asked := &metricRequest{kind: kind, ids: itemsOf(text("metric_id")), server: cmp.Or(text("server"), text("obj_id")),
		padded: !isFalse(text("pad_missing_data"))}
	if len(asked.ids) == 0 {
		return nil, &badQuery{"metric_id", "name at least one metric: GET /api/analytics/metric_id lists all"}
	}
	if err := boundIDs(asked.ids); err != nil {
		return nil, err
	}
	if pool := text("pool_uuid"); pool != "" && pool != "*" {
		asked.kind, asked.pool = series.Pool, pool
	}
	if asked.server != "" && asked.kind != series.Pool {
		return nil, &badQuery{"obj_id", "only pools have servers: give pool_uuid, too"}
	}
	var err error
	if asked.split, err = splitOf(text, asked.kind); err != nil {
		return nil, err
	}
	if err := asked.readTimes(text, c.api.now()); err != nil {
		return nil, err
	}
	if asked.split != nil {
		asked.alignSteps()
	}
	return asked, nil
}

func boundIDs(ids []string) error {
	if len(ids) > idsMax {
		return &badQuery{"metric_id", fmt.Sprintf("there are %d; give at most %d", len(ids), idsMax)}
	}
	return nil
}

// boundValues refuses requests that ask for too many values together, before any are collected. A request without
// objects counts as one with one, because each of its metrics is asked for all the same.
func boundValues(requests ...*metricRequest) error {
	values := 0
	for _, m := range requests {
		values += m.steps() * len(m.ids) * max(1, len(m.records))
	}
	if values > valuesMax {
		return &series.Refusal{Parameter: "limit", Problem: fmt.Sprintf(
			"steps × objects × metrics are %d, and at most "+
				"%d are answered: give a smaller limit, a later start, a longer step, fewer objects or fewer metrics",
			values, valuesMax)}
	}
	return nil
}

func (m *metricRequest) steps() int { return int(m.stop.Sub(m.start)/m.step) + 1 }

func isFalse(text string) bool {
	switch strings.ToLower(text) {
	case "false", "0", "no":
		return true
	}
	return false
}

func (m *metricRequest) readTimes(text func(string) string, now time.Time) (err error) {
	step, err := whole(text("step"), "step", int(defaultStep.Seconds()))
	if err != nil {
		return err
	}
	m.step = min(max(time.Duration(step)*time.Second, defaultStep), longestStep)
	limit, err := whole(text("limit"), "limit", 0)
	if err != nil {
		return err
	}
	// Only whole steps by default, so that each client gets the same values.
	m.stop = now.Truncate(m.step)
	if given := text("stop"); given != "" {
		if m.stop, err = parseTime("stop", given, now); err != nil {
			return err
		}
	}
	begin := text("start")
	if begin == "" {
		if limit == 0 {
			limit = defaultLimit
		}
		return m.begin("limit", limit)
	}
	from, err := parseTime("start", begin, now)
	if err != nil {
		return err
	}
	steps := int(m.stop.Sub(from) / m.step)
	if limit > 0 {
		steps = min(steps, limit)
	}
	if steps < 1 {
		return &badQuery{"start", "is less than one step before the stop"}
	}
	return m.begin("start", steps)
}

// begin sets the start to a number of steps before the stop. parameter is the one that the number comes from.
func (m *metricRequest) begin(parameter string, steps int) error {
	if steps > series.StepsMax {
		return &badQuery{parameter, fmt.Sprintf(
			"gives %d values for a series, and the limit is %d: ask for less time, "+
				"or for longer steps", steps, series.StepsMax)}
	}
	m.start = m.stop.Add(-time.Duration(steps-1) * m.step)
	return nil
}

func whole(text, name string, otherwise int) (int, error) {
	if text == "" {
		return otherwise, nil
	}
	value, err := strconv.ParseFloat(text, 64) // 300.0 in JSON
	if err != nil || value < 1 || value > 1e9 {
		return 0, &badQuery{name, fmt.Sprintf("%q is not a whole number above 0", text)}
	}
	return int(value), nil
}

// parseTime reads a time as clients of Avi write it, or a number of seconds before now: -3600.
func parseTime(name, text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05"} {
		if at, err := time.Parse(layout, strings.ReplaceAll(text, " +", "+")); err == nil {
			return at.UTC(), nil
		}
	}
	if at, err := time.Parse(time.RFC3339Nano, strings.Replace(text, " ", "+", 1)); err == nil { // "+" not escaped
		return at.UTC(), nil
	}
	if seconds, err := strconv.Atoi(text); err == nil && seconds <= 0 {
		return now.Add(time.Duration(seconds) * time.Second), nil
	}
	return time.Time{}, &badQuery{name, fmt.Sprintf("%q is no time: give one as 2026-11-22T04:00:00Z", text)}
}

// questions are one for each metric.
func (m *metricRequest) questions(tenant admit.Tenant) (questions []series.Question) {
	of := series.Question{Kind: m.kind, Tenant: ownTenant(tenant), Server: m.server, Start: m.start, Stop: m.stop,
		Step: m.step}
	for _, record := range m.records {
		of.UUIDs = append(of.UUIDs, record.UUID)
	}
	for _, id := range m.ids {
		of.Metric = id
		questions = append(questions, of)
	}
	return questions
}

// ownTenant is the uuid of the tenant whose series a request sees; empty: all.
func ownTenant(tenant admit.Tenant) string {
	if tenant.All {
		return ""
	}
	return tenant.UUID
}
