package metrics

const (
	nicReceived = "weir_engine_interface_received_bytes_total"
	nicSent     = "weir_engine_interface_sent_bytes_total"
)

// hostAliases are those of the machines of engines.
var hostAliases = []alias{
	{engine, "se_if.avg_bandwidth", bitsPerSecond, rate(nicReceived, nicSent).times(8),
		"bits that the network interfaces of the machine received and sent"},
	{engine, "se_if.avg_rx_bytes", bytesPerSecond, rate(nicReceived), "bytes that the network interfaces received"},
	{engine, "se_if.avg_tx_bytes", bytesPerSecond, rate(nicSent), "bytes that the network interfaces sent"},
	{engine, "se_if.avg_rx_pkts", perSecond, rate("weir_engine_interface_received_packets_total"),
		"packets that the network interfaces received"},
	{engine, "se_if.avg_tx_pkts", perSecond, rate("weir_engine_interface_sent_packets_total"),
		"packets that the network interfaces sent"},
	{engine, "se_if.avg_rx_pkts_dropped", perSecond, rate("weir_engine_interface_received_dropped_total"),
		"received packets that were dropped"},
	{engine, "se_if.avg_tx_pkts_dropped", perSecond, rate("weir_engine_interface_sent_dropped_total"),
		"packets that were dropped instead of sent"},
	{engine, "se_stats.avg_disk1_usage", percent,
		gauge("weir_engine_disk_used_bytes").times(100).perGauge("weir_engine_disk_bytes").known(),
		"used space of the disk with the state of the agent"},
	{engine, "se_stats.avg_ingress_latency", milliseconds,
		rate("weir_engine_batch_seconds_sum").per("weir_engine_batches_total").times(1000),
		"mean time that a worker needed for a batch of events, from when they were ready"},
	{engine, "se_stats.avg_worst_ingress_latency", milliseconds, peak("weir_engine_batch_seconds_peak").times(1000),
		"longest time that a worker needed for a batch of events"},
	{engine, "weir.avg_host_cpu_usage", percent,
		rate("weir_engine_host_cpu_busy_seconds_total").per("weir_engine_host_cpu_seconds_total").times(100),
		"CPU of the machine in use, by all programs and the kernel"},
	{engine, "weir.avg_host_mem_usage", percent,
		gauge("weir_engine_host_memory_used_bytes").times(100).perGauge("weir_engine_host_memory_bytes").known(),
		"memory of the machine that no program can get"},
	{engine, "weir.avg_agent_cpu_usage", percent, rate("weir_engine_agent_cpu_seconds_total").times(100),
		"CPU time of the agent, of one core"},
	{engine, "weir.avg_agent_mem", ofBytes, gauge("weir_engine_agent_resident_bytes").known(),
		"memory of the agent"},
	{engine, "weir.pct_tcp_retransmits", percent, rate("weir_engine_tcp_retransmitted_segments_total").
		per("weir_engine_tcp_sent_segments_total").times(100),
		"segments of TCP that the machine sent again, of those that it sent"},
	{engine, "weir.avg_listen_overflows", perSecond, rate("weir_engine_listen_overflows_total"),
		"connections that found the queue of a listener full"},
	{engine, "weir.avg_syn_cookies", perSecond, rate("weir_engine_syn_cookies_total"),
		"SYN cookies sent, because a queue of connections was full"},
}
