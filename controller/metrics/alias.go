package metrics

import (
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/series"
)

// This file, with alias_tls.go and alias_requests.go, is the only map from the ids of metrics in Avi's API to series of
// Weir. missing.go lists the ids that Weir does not count.

// alias is a metric of Avi's API, and how its value follows from series.
type alias struct {
	kind series.Kind
	id   string
	unit string
	is   expression
	text string
}

const (
	perSecond      = "PER_SECOND"
	bitsPerSecond  = "BITS_PER_SECOND"
	bytesPerSecond = "BYTES_PER_SECOND"
	count          = "METRIC_COUNT"
	milliseconds   = "MILLISECONDS"
	percent        = "PERCENT"
	ofBytes        = "BYTES"
)

const (
	service = series.VirtualService
	pool    = series.Pool
	engine  = series.Engine

	connections = "weir_service_connections_total"
	requests    = "weir_service_requests_total"
	received    = "weir_service_received_bytes_total"
	sent        = "weir_service_sent_bytes_total"
	open        = "weir_service_open_connections"
	openPeak    = "weir_service_open_connections_peak"
	responses   = "weir_service_responses_total"
	excluded    = "weir_service_excluded_responses_total"
	failures    = "weir_service_failures_total"
	handshakes  = "weir_service_tls_handshakes_total"
	resumed     = "weir_service_tls_resumptions_total"
	unsecured   = "weir_service_tls_failures_total"

	cacheLookups = "weir_service_cache_lookups_total"
	cacheHits    = "weir_service_cache_hits_total"

	atLimits = failures +
		`{cause=~"engine_refused|engine_evicted|engine_sessions|engine_memory|client_flood|client_sessions"}`
	limited   = "weir_service_limited_total"
	untrusted = failures + `{cause=~"client_source_untrusted|client_proxy_header"}`

	serverConnections = "weir_server_connections_total"
	serverRequests    = "weir_server_requests_total"
	serverFailures    = "weir_server_failures_total"
	serverResponses   = "weir_server_responses_total"
	serverExcluded    = "weir_server_excluded_responses_total"
	serverOpen        = "weir_server_open_connections"
	serverOpenPeak    = "weir_server_open_connections_peak"

	totalTimes    = "weir_service_total_seconds"
	responseTimes = "weir_service_response_seconds"
	answerTimes   = "weir_server_app_response_seconds"
)

func answered(class string) string { return responses + `{class="` + class + `"}` }

func serverAnswered(class string) string { return serverResponses + `{class="` + class + `"}` }

var aliases = slices.Concat(generalAliases, tlsAliases, requestAliases, hostAliases, apdexAliases, controllerAliases,
	scoreAliases(service, "weir_service_"), scoreAliases(pool, "weir_pool_"),
	scoreAliases(engine, "weir_engine_"), serverScores)

var generalAliases = []alias{
	{service, "l4_client.avg_bandwidth", bitsPerSecond, rate(received, sent).times(8), "bits from and to clients"},
	{service, "l4_client.avg_rx_bytes", bytesPerSecond, rate(received), "bytes from clients"},
	{service, "l4_client.avg_tx_bytes", bytesPerSecond, rate(sent), "bytes to clients"},
	{service, "l4_client.avg_new_established_conns", perSecond, rate(connections), "connections that clients opened"},
	{service, "l4_client.avg_complete_conns", perSecond, rate(connections).minusChange(open),
		"connections of clients that ended"},
	{service, "l4_client.sum_finished_conns", count, finished(), "connections of clients that ended in the step"},
	{service, "l4_client.max_open_conns", count, peak(openPeak), "most connections of clients open at once"},
	{service, "l4_client.avg_errored_connections", perSecond, rate(failures), "failures, of all causes"},
	{service, "l4_client.pct_connection_errors", percent, rate(failures).per(connections).times(100),
		"failures for each hundred connections of clients"},
	{service, "l4_client.avg_connections_dropped", perSecond, rate(atLimits),
		"clients sent away because an engine was full or a client exceeded a limit"},
	{service, "l4_client.avg_policy_drops", perSecond, rate(untrusted),
		"connections closed because weir_proxy_protocol_sources does not allow them"},
	{service, "l4_client.avg_dos_attacks", perSecond,
		rate(failures+`{cause=~"`+strings.Join(fleet.AttackCauses, "|")+`"}`, limited),
		"clients refused for what attackers do, or beyond limits of rates"},

	{service, "l7_client.avg_total_requests", perSecond, rate(requests), "requests"},
	{service, "l7_client.avg_complete_responses", perSecond, rate(responses), "responses"},
	{service, "l7_client.sum_total_responses", count, grown(responses), "responses in the step"},
	{service, "l7_client.avg_resp_1xx", perSecond, rate(answered("1xx")), "responses with a status of 1xx"},
	{service, "l7_client.avg_resp_2xx", perSecond, rate(answered("2xx")), "responses with a status of 2xx"},
	{service, "l7_client.avg_resp_3xx", perSecond, rate(answered("3xx")), "responses with a status of 3xx"},
	{service, "l7_client.avg_resp_4xx", perSecond, rate(answered("4xx")), "responses with a status of 4xx"},
	{service, "l7_client.avg_resp_5xx", perSecond, rate(answered("5xx")), "responses with a status of 5xx"},
	{service, "l7_client.avg_error_responses", perSecond, rate(answered("4xx"), answered("5xx")).minus(excluded),
		"responses with a status of 4xx or 5xx that the analytics profile does not exclude"},
	{service, "l7_client.pct_response_errors", percent,
		rate(answered("4xx"), answered("5xx")).minus(excluded).per(responses).times(100),
		"of all responses, those with 4xx or 5xx that the analytics profile does not exclude"},
	{service, "l7_client.pct_cache_hits", percent, rate(cacheHits).per(cacheLookups).times(100),
		"of the requests that the cache may answer, those that a stored response answered"},
	{service, "l7_client.max_concurrent_sessions", count, peak(openPeak),
		"most connections of clients open at once"},
	{service, "l7_client.avg_client_txn_latency", milliseconds, meanMs("total"),
		"mean time from the head of a request to the end of its response"},
	{service, "l7_client.avg_blocking_time", milliseconds, meanMs("wait"),
		"mean time until a request was handed to its server"},
	{service, "l7_client.avg_application_response_time", milliseconds, meanMs("app_response"),
		"mean time that servers needed for the head of the response, without the round trip"},
	{service, "l7_client.avg_server_rtt", milliseconds, meanMs("server_rtt"),
		"mean round trip to the server of a request"},
	{service, "l7_client.avg_client_data_transfer_time", milliseconds, meanMs("data_transfer"),
		"mean time from the head of the response to its end"},
	{service, "l7_client.avg_ssl_connections", perSecond, rate(handshakes), "TLS handshakes"},
	{service, "l7_client.avg_ssl_handshakes_new", perSecond, fresh(), "TLS handshakes that resumed no session"},
	{service, "l7_client.avg_ssl_handshakes_reused", perSecond, rate(resumed), "TLS handshakes that resumed a session"},
	{service, "l7_client.avg_ssl_failed_connections", perSecond, rate(unsecured), "TLS handshakes that failed"},
	{service, "l7_client.pct_ssl_failed_connections", percent, rate(unsecured).per(handshakes, unsecured).times(100),
		"of all TLS handshakes, those that failed"},
	{service, "weir.p50_total_time", milliseconds, quantileMs("0.5", totalTimes),
		"half of all requests took at most this long"},
	{service, "weir.p90_total_time", milliseconds, quantileMs("0.9", totalTimes),
		"90 % of all requests took at most this long"},
	{service, "weir.p95_total_time", milliseconds, quantileMs("0.95", totalTimes),
		"95 % of all requests took at most this long"},
	{service, "weir.p99_total_time", milliseconds, quantileMs("0.99", totalTimes),
		"99 % of all requests took at most this long"},

	{service, "weir.p50_response_time", milliseconds, quantileMs("0.5", responseTimes),
		"servers began half of all responses after at most this long"},
	{service, "weir.p95_response_time", milliseconds, quantileMs("0.95", responseTimes),
		"servers began 95 % of all responses after at most this long"},
	{service, "weir.p99_response_time", milliseconds, quantileMs("0.99", responseTimes),
		"servers began 99 % of all responses after at most this long"},

	{pool, "l4_server.avg_open_conns", count, gauge(serverOpen), "connections open to servers"},
	{pool, "l4_server.max_open_conns", count, peak(serverOpenPeak), "most connections open to servers at once"},
	{pool, "l4_server.avg_new_established_conns", perSecond, rate(serverConnections), "connections opened to servers"},
	{pool, "l4_server.avg_complete_conns", perSecond, rate(serverConnections).minusChange(serverOpen),
		"connections to servers that ended"},
	{pool, "l4_server.avg_errored_connections", perSecond, rate(serverFailures), "failures of servers"},
	{pool, "l4_server.pct_connection_errors", percent, rate(serverFailures).per(serverConnections).times(100),
		"failures of servers for each hundred connections to them"},
	{pool, "l4_server.avg_uptime", percent, gauge("weir_server_up").times(100).perGauge("weir_server_seen").known(),
		"share of the time, and of the engines, in which servers were up"},
	{pool, "l4_server.avg_health_status", percent,
		gauge("weir_server_up").times(100).perGauge("weir_server_seen").known(),
		"share of the time, and of the engines, in which servers were up"},
	{pool, "l4_server.avg_bandwidth", bitsPerSecond,
		rate("weir_server_received_bytes_total", "weir_server_sent_bytes_total").times(8), "bits from and to servers"},
	{pool, "l7_server.avg_total_requests", perSecond, rate(serverRequests), "requests to servers"},
	{pool, "l7_server.avg_complete_responses", perSecond, rate(serverResponses), "responses of servers"},
	{pool, "l7_server.avg_resp_2xx", perSecond, rate(serverAnswered("2xx")), "responses with a status of 2xx"},
	{pool, "l7_server.avg_resp_4xx", perSecond, rate(serverAnswered("4xx")), "responses with a status of 4xx"},
	{pool, "l7_server.avg_resp_5xx", perSecond, rate(serverAnswered("5xx")), "responses with a status of 5xx"},
	{pool, "l7_server.avg_error_responses", perSecond,
		rate(serverAnswered("4xx"), serverAnswered("5xx")).minus(serverExcluded),
		"responses with a status of 4xx or 5xx that the analytics profile does not exclude"},
	{pool, "l7_server.pct_response_errors", percent,
		rate(serverAnswered("4xx"), serverAnswered("5xx")).minus(serverExcluded).per(serverResponses).times(100),
		"of all responses of servers, those with 4xx or 5xx that the analytics profile does not exclude"},

	{engine, "se_stats.avg_cpu_usage", percent,
		rate("weir_engine_cpu_seconds_total").times(100).perGauge("weir_engine_workers").known(),
		"CPU time of the data plane, of the cores that its workers may use"},
	{engine, "se_stats.avg_mem_usage", percent,
		gauge("weir_engine_resident_bytes").times(100).perGauge("weir_engine_memory_bytes").known(),
		"memory of the data plane, of that of the machine"},
	{engine, "se_stats.avg_connections", count, gauge("weir_engine_open_connections").known(),
		"connections of clients that are open"},
	{engine, "se_stats.max_num_vs", count, peak("weir_engine_services").known(), "virtual services on the engine"},
	{engine, "se_stats.avg_bandwidth", bitsPerSecond,
		rate("weir_engine_received_bytes_total", "weir_engine_sent_bytes_total").times(8), "bits from and to clients"},
	{engine, "se_stats.avg_rx_bytes", bytesPerSecond, rate("weir_engine_received_bytes_total"), "bytes from clients"},
	{engine, "se_stats.avg_tx_bytes", bytesPerSecond, rate("weir_engine_sent_bytes_total"), "bytes to clients"},
}

// scoreAliases are the health scores of a kind of object.
func scoreAliases(kind series.Kind, prefix string) []alias {
	value := prefix + "health_score"
	return []alias{
		{kind, "healthscore.health_score_value", count, gauge(value).known(), "health score, 0 to 100"},
		{kind, "healthscore.performance_value", count, gauge(value + "_performance").known(),
			"how well clients are served, 0 to 100"},
		{kind, "healthscore.resources_penalty", count, penalty(value, "resources"),
			"what resources of engines cost the health score"},
		{kind, "healthscore.anomaly_penalty", count, penalty(value, "anomaly"),
			"what unusual metrics cost the health score"},
		{kind, "healthscore.security_penalty", count, penalty(value, "security"),
			"what weak TLS and attacks cost the health score"},
	}
}

// serverKind is the kind of servers here: in the API, a server is asked for with its pool.
const serverKind series.Kind = "server"

// serverScores are those of single servers, which have no penalties.
var serverScores = []alias{
	{serverKind, "healthscore.health_score_value", count, gauge("weir_server_health_score").known(),
		"health score, 0 to 100"},
	{serverKind, "healthscore.performance_value", count, gauge("weir_server_health_score").known(),
		"how well clients are served, 0 to 100"},
}

func finished() expression {
	e := rate(connections).minusChange(open)
	e.perStep = true
	return e
}

// fresh are the handshakes less those that resumed a session.
func fresh() expression {
	e := rate(handshakes)
	e.less = rates([]string{resumed})
	return e
}

// find returns the alias of an id, for a kind of object; nil: there is none.
func find(kind series.Kind, id string) *alias {
	for i := range aliases {
		if aliases[i].id == id && aliases[i].kind == kind {
			return &aliases[i]
		}
	}
	return nil
}
