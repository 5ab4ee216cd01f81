package runtime

import (
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/schema"
)

// hostOf returns what the machine of an engine does. Rates are absent where there is one sample only, or where counts
// began again.
func hostOf(engine *fleet.Engine) schema.Object {
	now, then := engine.Host, engine.EarlierHost
	page := schema.Object{
		"memory_bytes": int64(now.GetMemoryBytes()), "memory_available_bytes": int64(now.GetMemoryAvailableBytes()),
		"disk_bytes": int64(now.GetDiskBytes()), "disk_free_bytes": int64(now.GetDiskFreeBytes()),
		"agent_rss_bytes": int64(now.GetAgentRssBytes()), "agent_cpu_us": int64(now.GetAgentCpuUs()),
		"listen_overflows": int64(now.GetListenOverflowsTotal()), "listen_drops": int64(now.GetListenDropsTotal()),
		"syn_cookies": int64(now.GetSynCookiesTotal()), "at": unixMs(now.GetUnixMs()),
		"tcp_sent_segments":          int64(now.GetTcpSentSegmentsTotal()),
		"tcp_retransmitted_segments": int64(now.GetTcpRetransmittedSegmentsTotal()),
	}
	if then == nil || now.GetUnixMs() <= then.GetUnixMs() {
		then = nil
	}
	if total := now.GetCpuTotalUs() - then.GetCpuTotalUs(); then != nil && now.GetCpuTotalUs() > then.GetCpuTotalUs() &&
		now.GetCpuBusyUs() >= then.GetCpuBusyUs() {
		page["cpu_percent"] = tenth(100 * float64(now.GetCpuBusyUs()-then.GetCpuBusyUs()) / float64(total))
	}
	earlier := map[string]*enginev1.NetworkInterface{}
	for _, each := range then.GetInterfaces() {
		earlier[each.GetName()] = each
	}
	interfaces := []any{}
	for _, each := range now.GetInterfaces() {
		seconds := float64(now.GetUnixMs()-then.GetUnixMs()) / 1000
		interfaces = append(interfaces, interfacePage(each, earlier[each.GetName()], seconds))
	}
	page["interfaces"] = interfaces
	return page
}

func interfacePage(now, then *enginev1.NetworkInterface, seconds float64) schema.Object {
	page := schema.Object{"name": now.GetName()}
	rates := schema.Object{}
	for _, counter := range []struct {
		name      string
		now, then uint64
	}{
		{"received_bytes", now.GetRxBytesTotal(), then.GetRxBytesTotal()},
		{"sent_bytes", now.GetTxBytesTotal(), then.GetTxBytesTotal()},
		{"received_packets", now.GetRxPacketsTotal(), then.GetRxPacketsTotal()},
		{"sent_packets", now.GetTxPacketsTotal(), then.GetTxPacketsTotal()},
		{"received_dropped", now.GetRxDroppedTotal(), then.GetRxDroppedTotal()},
		{"sent_dropped", now.GetTxDroppedTotal(), then.GetTxDroppedTotal()},
		{"received_errors", now.GetRxErrorsTotal(), then.GetRxErrorsTotal()},
		{"sent_errors", now.GetTxErrorsTotal(), then.GetTxErrorsTotal()},
	} {
		page[counter.name] = int64(counter.now)
		if then != nil && counter.now >= counter.then {
			rates[counter.name] = tenth(float64(counter.now-counter.then) / seconds)
		}
	}
	page["per_second"] = rates
	return page
}
