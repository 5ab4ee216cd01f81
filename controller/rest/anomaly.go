package rest

import (
	"net/http"
	"time"

	"github.com/weir-lb/weir/controller/schema"
)

// Habits are what is usual.
type Habits interface {
	// Band returns between what a metric of an object usually was at a time. false: it is not known.
	Band(uuid, metric string, at time.Time) (low, high float64, known bool)
	// Anomalies returns what is unusual about an object now.
	Anomalies(uuid string) []Anomaly
}

// Anomaly is a metric that is unlike its habit.
type Anomaly struct {
	Metric string
	Text   string
	Since  time.Time
	High   bool // of high priority
}

// showAnomalies answers "GET /api/analytics/anomaly/<kind>/<uuid>": what is unusual now.
func showAnomalies(c *call) error {
	kind, err := metricKind(c.path[3])
	if err != nil {
		return err
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
			priority := "ANZ_PRIORITY_LOW"
			if one.High {
				priority = "ANZ_PRIORITY_HIGH"
			}
			result := schema.Object{"entity_uuid": record.UUID, "metric_entity": metricEntities[kind],
				"metric_id": one.Metric, "priority": priority, "reason": one.Text, "start": stamp(one.Since)}
			c.addBand(result, record.UUID, one.Metric, c.api.now())
			results = append(results, result)
		}
	}
	return c.reply(http.StatusOK, schema.Object{"count": len(results), "results": results})
}

// addBand adds between what a metric usually is at a time.
func (c *call) addBand(to schema.Object, uuid, metric string, at time.Time) {
	if c.api.habits == nil {
		return
	}
	if low, high, known := c.api.habits.Band(uuid, metric, at); known {
		to["prediction_interval_low"], to["prediction_interval_high"] = low, high
	}
}
