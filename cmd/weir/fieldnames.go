package main

import (
	"maps"
	"strconv"

	"github.com/weir-lb/weir/logs/query"
)

// fieldNames are the names of the web pages for fields of records that have another name in the API. Filters take both.
var fieldNames = map[string]string{
	"id":             "request_id",
	"service":        "vs_name",
	"engine":         "service_engine",
	"worker":         "vcpu_id",
	"reason":         "significant_log",
	"state":          "request_state",
	"client":         "client_ip",
	"client_port":    "client_src_port",
	"vip":            "vs_ip",
	"port":           "client_dest_port",
	"tls":            "ssl_version",
	"cipher":         "ssl_cipher",
	"group":          "ssl_group",
	"resumed":        "ssl_session_reused",
	"sni":            "sni_hostname",
	"client_subject": "ssl_client_subject",
	"client_fault":   "ssl_client_fault",
	"alert":          "ssl_alert",
	"server":         "server_name",
	"server_port":    "server_dest_port",
	"tried":          "servers_tried",
	"total":          "total_time",
	"status":         "response_code",
	"statuses":       "response_class",
	"server_status":  "server_response_code",
	"path":           "uri_path",
	"query":          "uri_query",
	"ua":             "user_agent",
	"user":           "user_id",
	"version":        "http_version",
	"local":          "local_response",
	"wait":           "wait_us",
	"app_response":   "app_response_time",
	"transfer":       "data_transfer_time",
	"sent":           "response_length",
	"received":       "request_length",
	"trace":          "trace_id",
	"grpc":           "grpc_status",
	"browser":        "client_browser",
	"os":             "client_os",
	"device":         "client_device",
	"source":         "source_ip",
	"filter":         "client_log_filter_name",
	"network_rule":   "network_security_policy_rule_name",
	"host_rule":      "vh_match_rule",
	"security_rule":  "http_security_policy_rule_name",
	"authn_rule":     "jwt_authn_rule_name",
	"authz_rule":     "jwt_authz_rule_name",
	"request_rule":   "http_request_policy_rule_name",
	"response_rule":  "http_response_policy_rule_name",
	"event":          "event_id",
	"type":           "obj_type",
	"object":         "obj_name",
	"uuid":           "obj_uuid",
	"text":           "event_description",
}

// bytesOfConnections are the names that mean other fields where the records are those of connections.
var bytesOfConnections = map[string]string{
	"received": "rx_bytes",
	"sent":     "tx_bytes",
}

// namesOf are the names of the web pages for fields of one kind of record.
func namesOf(kind string) map[string]string {
	names := maps.Clone(fieldNames)
	if kind == query.Connections {
		maps.Copy(names, bytesOfConnections)
	}
	maps.DeleteFunc(names, func(_, field string) bool {
		_, known := query.Types[kind][field]
		return !known
	})
	return names
}

// inField turns a value into that of the field: wait is in milliseconds, and its field in microseconds.
func inField(name, value string) string {
	if number, err := strconv.ParseFloat(value, 64); name == "wait" && err == nil {
		return strconv.FormatFloat(number*1000, 'f', -1, 64)
	}
	return value
}
