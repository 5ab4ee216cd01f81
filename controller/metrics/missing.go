package metrics

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/series"
)

// missing are ids of Avi's API that Weir does not count, by the kind of object. Their values are null, and never 0: a
// client that scales by them must not take 0 for an answer.
var missing = map[series.Kind]string{
	service: `
l4_client.avg_lossy_connections l4_client.avg_rx_pkts l4_client.avg_tx_pkts
l4_client.avg_dos_bandwidth l4_client.max_num_active_se l4_client.avg_half_open_conns
l7_client.avg_page_load_time
l7_client.avg_waf_attacks l7_client.avg_waf_matched l7_client.avg_waf_rejected
l4_server.avg_total_rtt l4_server.apdexc l7_server.avg_resp_latency l7_server.avg_application_response_time
l7_server.apdexr l7_server.avg_complete_responses l7_server.avg_resp_4xx l7_server.avg_resp_5xx
l7_server.pct_response_errors
vs_scaleout_stats.sum_flow_probe_rqs_sent vs_scaleout_stats.sum_flow_probe_rqs_rcvd
vs_scaleout_stats.sum_flow_created_by_probe_rsp vs_scaleout_stats.sum_num_vs_pkts_punted
vs_scaleout_stats.sum_vs_flows_local vs_scaleout_stats.sum_vs_flows_remote`,
	pool: `
l4_server.apdexc vm_stats.avg_cpu_usage vm_stats.avg_mem_usage vm_stats.avg_net_usage`,
	engine: `
se_stats.avg_connection_mem_usage se_stats.avg_packet_buffer_usage se_stats.pct_syn_cache_usage
se_stats.avg_persistent_table_usage se_stats.avg_dynamic_mem_usage se_stats.avg_ssl_session_cache_usage
se_stats.pct_connections_dropped se_if.avg_rx_pkts_dropped_non_vs`,
	controller: `
controller_stats.avg_num_service_cores controller_stats.avg_total_se_throughput`,
}

// avi_ids.txt has ids that exporters of others ask for. If one were unknown, they would get no answer at all.
//
//go:embed avi_ids.txt
var aviIDs string

// familyKinds are the kinds of object that have the metrics of a family: what stands before the dot of their ids.
var familyKinds = map[string][]series.Kind{
	"l4_client": {service}, "l7_client": {service}, "dns_client": {service}, "dns_server": {service},
	"l4_server": {service, pool}, "l7_server": {service, pool}, "se_if": {engine}, "se_stats": {engine},
	"controller_stats": {series.Controller},
}

// Catalog lists all metrics, sorted by id.
func Catalog() []series.Metric {
	byID := map[string]*series.Metric{}
	add := func(id string, kind series.Kind, of series.Metric) {
		if byID[id] == nil {
			of.ID = id
			byID[id] = &of
		}
		byID[id].Kinds = append(byID[id].Kinds, kind)
	}
	for _, a := range aliases {
		if a.kind == serverKind {
			continue // pools have it
		}
		add(a.id, a.kind, series.Metric{Unit: a.unit, Text: a.text})
	}
	for _, kind := range series.Kinds {
		for id := range strings.FieldsSeq(missing[kind]) {
			add(id, kind, series.Metric{Missing: true, Unit: count, Text: "Weir does not count this"})
		}
	}
	for id := range strings.FieldsSeq(aviIDs) {
		family, _, _ := strings.Cut(id, ".")
		for _, kind := range familyKinds[family] {
			if known := byID[id]; known == nil || !slices.Contains(known.Kinds, kind) {
				add(id, kind, series.Metric{Missing: true, Unit: count, Text: "Weir does not count this"})
			}
		}
	}
	var all []series.Metric
	for _, metric := range byID {
		all = append(all, *metric)
	}
	slices.SortFunc(all, func(a, b series.Metric) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// isKnown tells whether an object of any kind has a metric with this id.
func isKnown(id string) bool {
	return slices.Contains(strings.Fields(aviIDs), id) || slices.ContainsFunc(series.Kinds,
		func(kind series.Kind) bool {
			return find(kind, id) != nil || slices.Contains(strings.Fields(missing[kind]), id)
		})
}
