package metrics

import (
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet"
)

// machine adds up what the machine of an engine counted since the collector began. The counts of the kernel begin again
// with the machine, those of an interface with the interface, and those of the agent with the agent.
type machine struct {
	last *enginev1.HostSample
	ever map[string]float64 // by the name of the series and the interface
}

// hostCounts are the counters of a sample, by the name of the series. of is the interface.
func hostCounts(sample *enginev1.HostSample, take func(name, of string, value float64)) {
	take("weir_engine_host_cpu_busy_seconds_total", "", float64(sample.GetCpuBusyUs())/1e6)
	take("weir_engine_host_cpu_seconds_total", "", float64(sample.GetCpuTotalUs())/1e6)
	take("weir_engine_agent_cpu_seconds_total", "", float64(sample.GetAgentCpuUs())/1e6)
	take("weir_engine_listen_overflows_total", "", float64(sample.GetListenOverflowsTotal()))
	take("weir_engine_listen_drops_total", "", float64(sample.GetListenDropsTotal()))
	take("weir_engine_syn_cookies_total", "", float64(sample.GetSynCookiesTotal()))
	take("weir_engine_tcp_sent_segments_total", "", float64(sample.GetTcpSentSegmentsTotal()))
	take("weir_engine_tcp_retransmitted_segments_total", "", float64(sample.GetTcpRetransmittedSegmentsTotal()))
	for _, each := range sample.GetInterfaces() {
		of := each.GetName()
		take("weir_engine_interface_received_bytes_total", of, float64(each.GetRxBytesTotal()))
		take("weir_engine_interface_sent_bytes_total", of, float64(each.GetTxBytesTotal()))
		take("weir_engine_interface_received_packets_total", of, float64(each.GetRxPacketsTotal()))
		take("weir_engine_interface_sent_packets_total", of, float64(each.GetTxPacketsTotal()))
		take("weir_engine_interface_received_dropped_total", of, float64(each.GetRxDroppedTotal()))
		take("weir_engine_interface_sent_dropped_total", of, float64(each.GetTxDroppedTotal()))
		take("weir_engine_interface_errors_total", of, float64(each.GetRxErrorsTotal()+each.GetTxErrorsTotal()))
	}
}

// host takes what is known of the machine of an engine.
func (r *readings) host(engine *fleet.Engine) {
	sample, m := engine.Host, &r.group.machine
	if sample == nil {
		return
	}
	then := map[string]float64{}
	hostCounts(m.last, func(name, of string, value float64) { then[name+"/"+of] = value })
	if m.ever == nil {
		m.ever = map[string]float64{}
	}
	hostCounts(sample, func(name, of string, value float64) {
		key := name + "/" + of
		before, known := then[key]
		if known && value < before { // the machine, the agent or the interface has begun again
			before = 0
		}
		if known && m.last != nil { // otherwise nobody knows when it was counted
			m.ever[key] += value - before
		}
		if of == "" {
			r.total(name, m.ever[key])
		} else {
			r.total(name, m.ever[key], "interface", of)
		}
	})
	m.last = sample
	r.gauge("weir_engine_host_memory_used_bytes", used(sample.GetMemoryBytes(), sample.GetMemoryAvailableBytes()))
	r.gauge("weir_engine_host_memory_bytes", float64(sample.GetMemoryBytes()))
	r.gauge("weir_engine_disk_used_bytes", used(sample.GetDiskBytes(), sample.GetDiskFreeBytes()))
	r.gauge("weir_engine_disk_bytes", float64(sample.GetDiskBytes()))
	r.gauge("weir_engine_agent_resident_bytes", float64(sample.GetAgentRssBytes()))
}

func used(all, free uint64) float64 { return float64(all - min(free, all)) }

// loop takes how long the workers of an engine needed for batches of events.
func (r *readings) loop(engine *fleet.Engine, o *odometer) {
	r.total("weir_engine_batches_total", float64(o.batchesEver))
	r.total("weir_engine_batch_seconds_sum", float64(o.readyTicksEver)/ticksPerSecond)
	longest := uint64(0)
	for _, worker := range engine.Sample.GetWorkerCounters() {
		longest = max(longest, worker.GetLongestTicks())
	}
	r.peak("weir_engine_batch_seconds_peak", float64(longest)/ticksPerSecond)
}

const ticksPerSecond = 1 << 20 // see Histogram in the contract
