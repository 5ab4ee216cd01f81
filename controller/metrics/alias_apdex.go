package metrics

// apdexAliases are those of satisfaction, and of the times that it goes by.
var apdexAliases = []alias{
	{service, "l7_client.apdexr", count, apdex("weir_service_apdex"),
		"satisfaction of clients with the time of responses, 0 to 100; failed responses count nothing"},
	{service, "l4_client.apdexc", count, apdex("weir_service_connection_apdex"),
		"satisfaction of clients with the round trip, 0 to 100; failures count nothing"},
	{service, "l7_client.avg_client_rtt", milliseconds, meanRTTMs(), "mean round trip to clients, of some connections"},
	{service, "l4_client.avg_total_rtt", milliseconds, meanRTTMs(), "mean round trip to clients, of some connections"},

	{pool, "l7_server.apdexr", count, apdex("weir_server_apdex"),
		"satisfaction with the time that servers need, 0 to 100; failed requests count nothing"},
	{pool, "l7_server.avg_application_response_time", milliseconds, serverMeanMs(),
		"mean time that servers needed, without the round trip"},
	{pool, "l7_server.avg_resp_latency", milliseconds, serverMeanMs(),
		"mean time that servers needed, without the round trip"},
	{pool, "weir.p50_app_response_time", milliseconds, quantileMs("0.5", answerTimes),
		"servers needed at most this long for half of all answers, without the round trip"},
	{pool, "weir.p95_app_response_time", milliseconds, quantileMs("0.95", answerTimes),
		"servers needed at most this long for 95 % of all answers, without the round trip"},
	{pool, "weir.p99_app_response_time", milliseconds, quantileMs("0.99", answerTimes),
		"servers needed at most this long for 99 % of all answers, without the round trip"},
	{pool, "l4_server.avg_total_rtt", milliseconds,
		rate("weir_server_connect_seconds_sum").per(serverConnections).times(1000),
		"mean time that connects to servers took, which is their round trip"},
	{pool, "weir.avg_check_time", milliseconds,
		gauge("weir_server_check_seconds").times(1000).perGauge("weir_server_seen").known(),
		"mean time that checks by health monitors took"},
	{pool, "l4_server.avg_rx_bytes", bytesPerSecond, rate("weir_server_received_bytes_total"), "bytes from servers"},
	{pool, "l4_server.avg_tx_bytes", bytesPerSecond, rate("weir_server_sent_bytes_total"), "bytes to servers"},
}

func apdex(series string) expression {
	return rate(series + "_points_total").per(series + "_judged_total").times(100)
}

func meanRTTMs() expression {
	return rate("weir_service_client_rtt_seconds_sum").per("weir_service_timed_clients_total").times(1000)
}

func serverMeanMs() expression {
	return rate("weir_server_app_response_seconds_sum").per("weir_server_timed_requests_total").times(1000)
}
