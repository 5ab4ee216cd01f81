package rest

import "strings"

// areas are paths with endpoints below them that are no object's. A pattern has "*" for one segment.
var areas = map[string]endpoint{
	"api/analytics/anomaly/*/*":          {tenants, methods{"GET": showAnomalies}},
	"api/analytics/healthscore/*":        {tenants, methods{"GET": showScores}},
	"api/analytics/healthscore/*/*":      {tenants, methods{"GET": showScore}},
	"api/analytics/metric_id":            {tenants, methods{"GET": listMetrics}},
	"api/analytics/metrics-options":      {tenants, methods{"GET": listMetrics}},
	"api/analytics/metrics/collection":   {tenants, methods{"POST": collectMetrics}},
	"api/analytics/metrics/*":            {tenants, methods{"GET": showMetricsOfAll}},
	"api/analytics/metrics/*/*":          {tenants, methods{"GET": showMetrics}},
	"api/analytics/prometheus-metrics/*": {tenants, methods{"GET": showMetricsAsText}},
	"metrics":                            {tenants, methods{"GET": exposeMetrics}},

	"api/macro": {tenants, methods{"POST": createMacro}},

	"api/weir/schema":   {users, methods{"GET": listSchemas}},
	"api/weir/schema/*": {users, methods{"GET": showSchema}},
	"api/weir/applied":  {tenants, methods{"GET": showApplied}},
	"api/weir/explain":  {tenants, methods{"GET": explain, "POST": explain}},

	"api/weir/explain/*": {tenants, methods{"GET": explainRecord}},

	promqlPath + "/query":          {tenants, methods{"GET": queryPromQL, "POST": queryPromQL}},
	promqlPath + "/query_range":    {tenants, methods{"GET": queryRange, "POST": queryRange}},
	promqlPath + "/labels":         {tenants, methods{"GET": promqlLabels, "POST": promqlLabels}},
	promqlPath + "/label/*/values": {tenants, methods{"GET": promqlLabelValues}},
	promqlPath + "/series":         {tenants, methods{"GET": promqlSeries, "POST": promqlSeries}},
	promqlPath + "/metadata":       {tenants, methods{"GET": promqlMetadata}},

	promqlPath + "/status/buildinfo": {users, methods{"GET": promqlBuild}},
	promqlPath + "/query_exemplars":  {tenants, methods{"GET": promqlExemplars, "POST": promqlExemplars}},
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
