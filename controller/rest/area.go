package rest

import (
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// areas are paths with endpoints below them that are no object's. A pattern has "*" for one segment.
var areas = map[string]endpoint{
	"api/analytics/anomaly/*/*":          {tenants, measures, methods{"GET": showAnomalies}},
	"api/analytics/healthscore/*":        {tenants, measures, methods{"GET": showScores}},
	"api/analytics/healthscore/*/*":      {tenants, measures, methods{"GET": showScore}},
	"api/analytics/metric_id":            {tenants, nothing, methods{"GET": listMetrics}},
	"api/analytics/metrics-options":      {tenants, nothing, methods{"GET": listMetrics}},
	"api/analytics/metrics/collection":   {tenants, saidInside, methods{"POST": collectMetrics}},
	"api/analytics/metrics/*":            {tenants, measures, methods{"GET": showMetricsOfAll}},
	"api/analytics/metrics/*/*":          {tenants, measures, methods{"GET": showMetrics}},
	"api/analytics/prometheus-metrics/*": {tenants, measures, methods{"GET": showMetricsAsText}},
	"metrics":                            {tenants, measuresSome, methods{"GET": exposeMetrics}},

	"api/macro": {tenants, saidInside, methods{"POST": createMacro}},

	"api/weir/permission": {users, nil, methods{"GET": listPermissions}},
	"api/weir/schema":     {users, nil, methods{"GET": listSchemas}},
	"api/weir/schema/*":   {users, nil, methods{"GET": showSchema}},
	"api/weir/applied":    {tenants, follows, methods{"GET": showApplied}},
	"api/weir/explain":    {tenants, readsOf("virtualservice"), methods{"GET": explain, "POST": explain}},

	"api/weir/explain/*": {tenants, reads(schema.TrafficResource), methods{"GET": explainRecord}},

	promqlPath + "/query":          {tenants, measuresSome, methods{"GET": queryPromQL, "POST": queryPromQL}},
	promqlPath + "/query_range":    {tenants, measuresSome, methods{"GET": queryRange, "POST": queryRange}},
	promqlPath + "/labels":         {tenants, measuresSome, methods{"GET": promqlLabels, "POST": promqlLabels}},
	promqlPath + "/label/*/values": {tenants, measuresSome, methods{"GET": promqlLabelValues}},
	promqlPath + "/series":         {tenants, measuresSome, methods{"GET": promqlSeries, "POST": promqlSeries}},
	promqlPath + "/metadata":       {tenants, nothing, methods{"GET": promqlMetadata}},

	promqlPath + "/status/buildinfo": {users, nil, methods{"GET": promqlBuild}},
	promqlPath + "/query_exemplars":  {tenants, nothing, methods{"GET": promqlExemplars, "POST": promqlExemplars}},
}

const promqlPath = "api/weir/promql/api/v1"

// area returns the endpoint of a path in an area. One without "*" counts before one with it.
func (c *call) area() (endpoint, bool) {
	if found, ok := areas[strings.Join(c.path, "/")]; ok {
		return found, true
	}
	for pattern, found := range areas {
		if strings.Contains(pattern, "*") && fits(strings.Split(pattern, "/"), c.path) {
			return found, true
		}
	}
	return endpoint{}, false
}

func fits(pattern, path []string) bool {
	if len(pattern) != len(path) {
		return false
	}
	for i, segment := range pattern {
		if segment != "*" && segment != path[i] {
			return false
		}
	}
	return true
}

// isPromQL tells whether the client expects answers in the form of Prometheus.
func (c *call) isPromQL() bool { return strings.HasPrefix(strings.Join(c.path, "/"), promqlPath) }
