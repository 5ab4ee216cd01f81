package metrics

import "github.com/weir-lb/weir/controller/series"

const controller = series.Controller

// controllerAliases are those of the controller itself.
var controllerAliases = []alias{
	{controller, "controller_stats.avg_cpu_usage", percent,
		rate("weir_controller_host_cpu_busy_seconds_total").per("weir_controller_host_cpu_seconds_total").times(100),
		"CPU of the controller's machine in use, by all programs and the kernel"},
	{controller, "controller_stats.avg_mem_usage", percent,
		gauge("weir_controller_host_memory_used_bytes").times(100).perGauge(
			"weir_controller_host_memory_bytes").known(),
		"memory of the controller's machine that no program can get"},
	{controller, "controller_stats.avg_disk_usage", percent,
		gauge("weir_controller_disk_used_bytes").times(100).perGauge("weir_controller_disk_bytes").known(),
		"used space of the disk with the data of the controller"},
	{controller, "controller_stats.avg_num_ses", count, gauge("weir_controller_engines").known(), "engines that work"},
	{controller, "controller_stats.avg_num_virtualservices", count,
		gauge("weir_controller_virtual_services").known(), "virtual services"},
	{controller, "controller_stats.avg_num_active_vs", count,
		gauge("weir_controller_active_virtual_services").known(), "virtual services that an engine serves"},
	{controller, "controller_stats.avg_num_backend_servers", count, gauge("weir_controller_servers").known(),
		"servers of all pools"},
	{controller, "weir.avg_process_cpu_usage", percent, rate("weir_controller_cpu_seconds_total").times(100),
		"CPU time of the controller's process, of one core"},
	{controller, "weir.avg_process_mem", ofBytes, gauge("weir_controller_resident_bytes").known(),
		"memory of the controller's process"},
}
