package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/series"
)

// family is the series of one name.
type family struct{ name, sort, text string }

// families are the names of all series. docs/metrics.md has the same table.
var families = []family{
	{"weir_service_connections_total", "counter", "connections of clients"},
	{"weir_service_http2_connections_total", "counter", "connections of clients that speak HTTP/2"},
	{"weir_service_http2_requests_total", "counter", "requests over HTTP/2"},
	{"weir_service_requests_total", "counter", "requests"},
	{"weir_service_grpc_calls_total", "counter", "requests that are gRPC calls"},
	{"weir_service_websockets_total", "counter", "requests that became WebSockets"},
	{"weir_service_responses_total", "counter", "responses, by class of their status"},
	{"weir_service_local_responses_total", "counter", "responses that an engine made itself"},
	{"weir_service_local_responses_by_class_total", "counter",
		"responses that an engine made itself, by class of their status"},
	{"weir_service_requests_by_method_total", "counter", "requests, by method"},
	{"weir_service_reselects_total", "counter", "requests that went to another server after a response"},
	{"weir_service_client_aborts_total", "counter", "clients that left before they had their response"},
	{"weir_service_failures_total", "counter", "failures, by cause (docs/operating.md, Counters)"},
	{"weir_service_received_bytes_total", "counter", "bytes from clients"},
	{"weir_service_sent_bytes_total", "counter", "bytes to clients"},
	{"weir_service_received_datagrams_total", "counter", "datagrams from clients"},
	{"weir_service_sent_datagrams_total", "counter", "datagrams to clients"},
	{"weir_service_tls_handshakes_total", "counter", "TLS handshakes with clients, by what they agreed on"},
	{"weir_service_tls13_handshakes_total", "counter", "TLS handshakes with clients, of version 1.3"},
	{"weir_service_tls_resumptions_total", "counter", "TLS handshakes that resumed a session"},
	{"weir_service_tls_failures_total", "counter", "TLS handshakes that failed"},
	{"weir_service_tls_failures_by_reason_total", "counter", "TLS handshakes that failed, by the reason"},
	{"weir_service_open_connections", "gauge", "connections of clients that are open"},
	{"weir_service_open_connections_peak", "gauge", "most connections of clients open at once, between two samples"},
	{"weir_service_open_http2_connections", "gauge", "connections of HTTP/2 that are open"},
	{"weir_service_open_http2_connections_peak", "gauge",
		"most connections of HTTP/2 open at once, between two samples"},
	{"weir_service_open_http2_requests", "gauge", "requests over HTTP/2 in progress"},
	{"weir_service_open_http2_requests_peak", "gauge",
		"most requests over HTTP/2 in progress at once, between two samples"},
	{"weir_service_open_websockets", "gauge", "WebSockets that are open"},
	{"weir_service_open_websockets_peak", "gauge", "most WebSockets open at once, between two samples"},
	{"weir_service_timed_requests_total", "counter", "requests with times: those that a server answered to the end"},
	{"weir_service_total_seconds", "histogram", "time from the head of a request to the end of its response"},
	{"weir_service_response_seconds", "histogram",
		"time from when a request was with its server to the head of the response"},
	{"weir_service_total_seconds_sum", "counter",
		"sum of the times from the heads of requests to the ends of responses"},
	{"weir_service_wait_seconds_sum", "counter", "sum of the times until requests were handed to servers"},
	{"weir_service_response_seconds_sum", "counter", "sum of the times from then to the heads of responses"},
	{"weir_service_server_rtt_seconds_sum", "counter", "sum of the round trips to the servers of requests"},
	{"weir_service_app_response_seconds_sum", "counter", "sum of the times that servers needed for heads of responses"},
	{"weir_service_data_transfer_seconds_sum", "counter", "sum of the times from heads of responses to their ends"},
	{"weir_service_client_rtt_seconds_sum", "counter", "sum of the round trips to clients, of some connections"},
	{"weir_service_timed_clients_total", "counter", "connections of clients whose round trip was measured"},
	{"weir_service_apdex_points_total", "counter",
		"sum of the Apdex of responses: 1 for a satisfied client, 1/2 for one that tolerates the time"},
	{"weir_service_apdex_judged_total", "counter", "responses in the sum of the Apdex"},
	{"weir_service_connection_apdex_points_total", "counter", "sum of the Apdex of connections, by their round trips"},
	{"weir_service_connection_apdex_judged_total", "counter", "connections in the sum of the Apdex"},
	{"weir_server_connect_seconds_sum", "counter", "sum of the times that connects to a server took"},
	{"weir_server_app_response_seconds_sum", "counter", "sum of the times that a server needed itself"},
	{"weir_server_timed_requests_total", "counter", "requests to a server with times"},
	{"weir_server_check_seconds", "gauge", "time that the last checks by health monitors took"},
	{"weir_server_apdex_points_total", "counter", "sum of the Apdex of requests to a server"},
	{"weir_server_apdex_judged_total", "counter", "requests in the sum of the Apdex"},
	{"weir_service_health_score", "gauge", "health score of a virtual service, 0 to 100"},
	{"weir_service_health_score_performance", "gauge",
		"performance of a virtual service, 0 to 100: part of its health score"},
	{"weir_service_health_score_resources_penalty", "gauge",
		"what the resources of engines cost the health score of a virtual service"},
	{"weir_service_health_score_anomaly_penalty", "gauge",
		"what unusual metrics cost the health score of a virtual service"},
	{"weir_service_health_score_security_penalty", "gauge",
		"what weak TLS and attacks cost the health score of a virtual service"},
	{"weir_pool_health_score", "gauge", "health score of a pool, 0 to 100"},
	{"weir_pool_health_score_performance", "gauge", "performance of a pool, 0 to 100: part of its health score"},
	{"weir_pool_health_score_resources_penalty", "gauge",
		"what the resources of engines cost the health score of a pool"},
	{"weir_pool_health_score_anomaly_penalty", "gauge", "what unusual metrics cost the health score of a pool"},
	{"weir_pool_health_score_security_penalty", "gauge", "what weak TLS and attacks cost the health score of a pool"},
	{"weir_server_health_score", "gauge", "health score of a server, 0 to 100"},
	{"weir_server_connections_total", "counter", "connections to a server"},
	{"weir_server_http2_connections_total", "counter", "connections to a server that speak HTTP/2"},
	{"weir_server_requests_total", "counter", "requests to a server"},
	{"weir_server_failures_total", "counter", "failures of a server"},
	{"weir_server_reused_total", "counter", "requests on a connection that had served another one"},
	{"weir_server_received_bytes_total", "counter", "bytes from a server"},
	{"weir_server_sent_bytes_total", "counter", "bytes to a server"},
	{"weir_server_responses_total", "counter", "responses of a server, by the class of their status"},
	{"weir_server_open_connections", "gauge", "connections to a server that are open"},
	{"weir_server_open_connections_peak", "gauge", "most connections to a server open at once, between two samples"},
	{"weir_server_up", "gauge",
		"share of the engines that find the server up; of server=\"*\", how many servers are up"},
	{"weir_server_seen", "gauge", "1 if an engine has the server; of server=\"*\", how many servers engines have"},
	{"weir_engine_health_score", "gauge", "health score of an engine, 0 to 100"},
	{"weir_engine_health_score_performance", "gauge", "performance of an engine, 0 to 100: part of its health score"},
	{"weir_engine_health_score_resources_penalty", "gauge",
		"what the resources of engines cost the health score of an engine"},
	{"weir_engine_health_score_anomaly_penalty", "gauge", "what unusual metrics cost the health score of an engine"},
	{"weir_engine_health_score_security_penalty", "gauge",
		"what weak TLS and attacks cost the health score of an engine"},
	{"weir_engine_cpu_seconds_total", "counter", "CPU time of the data plane"},
	{"weir_engine_connections_total", "counter", "connections of clients, of all virtual services"},
	{"weir_engine_requests_total", "counter", "requests, of all virtual services"},
	{"weir_engine_received_bytes_total", "counter", "bytes from clients, of all virtual services"},
	{"weir_engine_sent_bytes_total", "counter", "bytes to clients, of all virtual services"},
	{"weir_engine_open_connections", "gauge", "connections of clients that are open"},
	{"weir_engine_resident_bytes", "gauge", "memory of the data plane"},
	{"weir_engine_memory_bytes", "gauge", "memory of the machine"},
	{"weir_engine_workers", "gauge", "workers of the data plane, each of which can use one core"},
	{"weir_engine_services", "gauge", "virtual services on the engine"},
	{"weir_engine_batches_total", "counter", "batches of events that workers of the data plane handled"},
	{"weir_engine_batch_seconds_sum", "counter", "sum of the times that workers needed for batches of events"},
	{"weir_engine_batch_seconds_peak", "gauge", "longest time that a worker needed for a batch of events"},
	{"weir_engine_host_cpu_busy_seconds_total", "counter", "CPU time of the machine, of all programs and the kernel"},
	{"weir_engine_host_cpu_seconds_total", "counter", "CPU time of the machine, with idle time"},
	{"weir_engine_host_memory_used_bytes", "gauge", "memory of the machine that no program can get"},
	{"weir_engine_host_memory_bytes", "gauge", "memory of the machine"},
	{"weir_engine_disk_used_bytes", "gauge", "used space of the disk with the state of the agent"},
	{"weir_engine_disk_bytes", "gauge", "size of the disk with the state of the agent"},
	{"weir_engine_agent_cpu_seconds_total", "counter", "CPU time of the agent"},
	{"weir_engine_agent_resident_bytes", "gauge", "memory of the agent"},
	{"weir_engine_interface_received_bytes_total", "counter", "bytes that a network interface received"},
	{"weir_engine_interface_sent_bytes_total", "counter", "bytes that a network interface sent"},
	{"weir_engine_interface_received_packets_total", "counter", "packets that a network interface received"},
	{"weir_engine_interface_sent_packets_total", "counter", "packets that a network interface sent"},
	{"weir_engine_interface_received_dropped_total", "counter",
		"received packets that a network interface, or the kernel behind it, dropped"},
	{"weir_engine_interface_sent_dropped_total", "counter", "packets that were dropped instead of sent"},
	{"weir_engine_interface_errors_total", "counter", "packets with errors, received or sent"},
	{"weir_engine_listen_overflows_total", "counter", "connections that found the queue of a listener full"},
	{"weir_engine_listen_drops_total", "counter", "connections that the kernel dropped at a listener"},
	{"weir_engine_syn_cookies_total", "counter", "SYN cookies sent, because a queue of connections was full"},
	{"weir_controller_host_cpu_busy_seconds_total", "counter",
		"CPU time of the controller's machine, without idle time"},
	{"weir_controller_host_cpu_seconds_total", "counter", "CPU time of the controller's machine, with idle time"},
	{"weir_controller_cpu_seconds_total", "counter", "CPU time of the controller's process"},
	{"weir_controller_resident_bytes", "gauge", "memory of the controller's process"},
	{"weir_controller_host_memory_used_bytes", "gauge", "memory of the controller's machine that no program can get"},
	{"weir_controller_host_memory_bytes", "gauge", "memory of the controller's machine"},
	{"weir_controller_disk_used_bytes", "gauge", "used space of the disk with the data of the controller"},
	{"weir_controller_disk_bytes", "gauge", "size of the disk with the data of the controller"},
	{"weir_controller_engines", "gauge", "engines that work"},
	{"weir_controller_virtual_services", "gauge", "virtual services"},
	{"weir_controller_active_virtual_services", "gauge", "virtual services that an engine serves"},
	{"weir_controller_servers", "gauge", "servers of all pools"},
	{"weir_metrics_collections_total", "counter", "collections of metrics since the controller began"},
}

// Metadata describes the series of a name, or of all names, as Prometheus does.
func (*History) Metadata(name string) (series.Found, error) {
	type description struct {
		Type string `json:"type"`
		Help string `json:"help"`
		Unit string `json:"unit"`
	}
	all := map[string][]description{}
	for _, f := range families {
		if name == "" || name == f.name {
			all[f.name] = []description{{Type: f.sort, Help: f.text}}
		}
	}
	data, err := json.Marshal(all)
	return series.Found{Data: data}, err
}

// Expose writes the newest values of a tenant's series (empty: of all) in the text format of Prometheus. It has no
// histograms, which that format would give other buckets. Errors: series.ErrBusy, ErrTimeout.
func (h *History) Expose(ctx context.Context, tenant string) ([]byte, error) {
	leave, err := h.places.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	h.collector.mu.Lock()
	defer h.collector.mu.Unlock()
	lines := map[string][]string{}
	for _, g := range h.collector.groups {
		if g.idle || g.ended || tenant != "" && tenant != g.of.tenantUUID {
			continue
		}
		for _, e := range g.entries {
			if e.sort != times && !e.absent && !e.labels.IsEmpty() {
				lines[e.name] = append(lines[e.name], e.exposed())
			}
		}
	}
	var text []byte
	for _, f := range families {
		if len(lines[f.name]) == 0 {
			continue
		}
		slices.Sort(lines[f.name])
		text = fmt.Appendf(text, "# HELP %s %s\n# TYPE %s %s\n%s", f.name, f.text, f.name, f.sort,
			strings.Join(lines[f.name], ""))
	}
	return text, nil
}
