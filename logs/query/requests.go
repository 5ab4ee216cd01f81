package query

import (
	"maps"
	"strconv"
)

// Requests and Connections are the records of data planes. Their fields have the names of Avi's logs; times there are
// in milliseconds. Fields that end with _us are Weir's, in microseconds.
const (
	Requests    = "requests"
	Connections = "connections"
)

// WeightField says how many requests or connections a record stands for.
const WeightField = "weight"

// WeightOf is how many requests or connections a record with this weight stands for. A record stands at least for its
// own: one without a weight, or with one of 0, counts as one.
func WeightOf(weight string) uint64 {
	number, err := strconv.ParseUint(weight, 10, 64)
	if err != nil {
		return 1
	}
	return max(1, number)
}

// Classes of records, the values of class.
const (
	Significant = "significant"
	Filtered    = "filtered"
	Every       = "all"
)

// shared are the fields that requests and connections have.
var shared = Fields{
	"request_id": Text, "log_id": Number, "virtualservice": Text, "vs_name": Text, "tenant": Text,
	"service_engine": Text, "service_engine_uuid": Text, "vcpu_id": Number,
	"class": Text, WeightField: Number, "significant_log": Words, "client_log_filter_name": Names, "udf": Boolean,
	"network_security_policy_rule_name": Names,
	"lost":                              Number, "lost_reason": Text, "cut": Words,
	"client_ip": Text, "client_src_port": Number, "source_ip": Text, "vs_ip": Text, "client_dest_port": Number,
	"client_rtt": Number, "client_rtt_us": Number, "client_rtt_age_ms": Number,
	"ssl_version": Text, "ssl_cipher": Text, "ssl_group": Text, "ssl_session_reused": Boolean, "sni_hostname": Text,
	"ssl_alert": Text, "client_cipher_list": Words, "ssl_client_subject": Text, "ssl_client_fault": Text,
	"pool": Text, "pool_name": Text, "server_ip": Text, "server_name": Text, "server_dest_port": Number,
	"server_conn_src_ip": Text, "server_src_port": Number, "servers_tried": Number,
	"request_state": Text, "conn_est_time_be": Number, "connect_us": Number,
	"server_rtt": Number, "server_rtt_us": Number, "total_time": Number, "total_time_us": Number,
	"start_timestamp": Text,
}

// ofRequests are the other fields of requests.
var ofRequests = Fields{
	"method": Text, "http_version": Text, "host": Text, "uri_path": Text, "uri_query": Text, "user_agent": Text,
	"referer": Text, "xff": Text, "protocol": Text, "user_id": Text,
	"client_browser": Text, "client_os": Text, "client_device": Text,
	"response_code": Number, "server_response_code": Number, "grpc_status": Number, "response_class": Text,
	"response_content_type": Text, "datascript_log": Text,
	"local_response": Boolean, "server_connection_reused": Boolean, "persistence_used": Boolean,
	"request_length": Number, "response_length": Number, "server_response_length": Number,
	"cache_hit": Boolean, "cacheable": Boolean, "compression": Text, "compression_percentage": Number,
	"wait_us": Number, "app_response_time": Number, "app_response_time_us": Number, "data_transfer_time": Number,
	"data_transfer_time_us": Number, "response_time_first_byte": Number, "response_time_last_byte": Number,
	"vh_match_rule": Names, "http_security_policy_rule_name": Names, "http_request_policy_rule_name": Names,
	"http_response_policy_rule_name": Names,
	"jwt_authn_rule_name":            Names, "jwt_authz_rule_name": Names,
	"trace_id": Text, "span_id": Text, "weir_span_id": Text, "trace_sampled": Boolean,
	"all_request_headers": Text, "all_response_headers": Text,
}

// ofConnections are the other fields of connections.
var ofConnections = Fields{
	"protocol": Text, "rx_bytes": Number, "tx_bytes": Number, "server_rx_bytes": Number, "connection_ended": Boolean,
}

func both(a, b Fields) Fields {
	fields := maps.Clone(a)
	maps.Copy(fields, b)
	return fields
}
