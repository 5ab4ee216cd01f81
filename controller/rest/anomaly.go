package rest

import (
	"cmp"
	"net/http"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/series"
)

// Habits are what is usual.
type Habits interface {
	// Band returns between what a metric usually was at a time, of an object or of a server of a pool. false: it is not
	// known.
	Band(uuid, server, metric string, at time.Time) (low, high float64, known bool)
	// Anomalies returns what is unusual about an object now, and about its servers.
	Anomalies(uuid string) []Anomaly
}

// Anomaly is a metric that is unlike its habit.
type Anomaly struct {
	Server string // of a pool; empty: it is about the whole object
	Metric string
	Text   string
	Since  time.Time
	High   bool // of high priority
}

// showAnomalies answers "GET /api/analytics/anomaly/<kind>/<uuid>": what is unusual now. With "server", only that of
// one server of a pool.
func showAnomalies(c *call) error {
	kind, err := metricKind(c.path[3])
	if err != nil {
		return err
	}
	server := cmp.Or(c.query.Get("server"), c.query.Get("obj_id"))
	if server != "" && kind != series.Pool {
		return &badQuery{"server", "only pools have servers"}
	}
	records, err := c.measured(kind, []string{c.path[4]})
	if err != nil {
		return err
	}
	results := []any{}
	for _, record := range records {
		if c.api.habits == nil {
			break
		}
		for _, one := range c.api.habits.Anomalies(record.UUID) {
			if server != "" && server != one.Server {
				continue
			}
			priority := "ANZ_PRIORITY_LOW"
			if one.High {
				priority = "ANZ_PRIORITY_HIGH"
			}
			result := schema.Object{"entity_uuid": record.UUID, "metric_entity": metricEntities[kind],
				"metric_id": one.Metric, "priority": priority, "reason": one.Text, "start": stamp(one.Since)}
			if one.Server != "" {
				addServer(result, one.Server)
			}
			c.addBand(result, record.UUID, one.Server, one.Metric, c.api.now())
			results = append(results, result)
		}
	}
	return c.reply(http.StatusOK, schema.Object{"count": len(results), "results": results})
}

// addBand adds between what a metric usually is at a time.
func (c *call) addBand(to schema.Object, uuid, server, metric string, at time.Time) {
	if c.api.habits == nil {
		return
	}
	if low, high, known := c.api.habits.Band(uuid, server, metric, at); known {
		to["prediction_interval_low"], to["prediction_interval_high"] = low, high
	}
}
