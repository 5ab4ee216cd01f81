package record

// causeNames are what failed, from number 1: the names of dataplane/telemetry/src/cause.rs, in their order.
var causeNames = [...]string{
	"client_tls",
	"client_accept_timeout",
	"client_source_untrusted",
	"client_proxy_header",
	"client_head_timeout",
	"client_body_timeout",
	"client_stalled",
	"client_aborted",
	"client_bad_request",
	"client_uri_too_long",
	"client_head_too_large",
	"client_body_too_large",
	"client_other_host",
	"client_unknown_host",
	"client_unsupported",
	"client_sessions",
	"client_address",
	"client_flood",
	"server_refused",
	"server_unreachable",
	"server_connect_timeout",
	"server_tls",
	"server_untrusted",
	"server_reset",
	"server_closed",
	"server_response_timeout",
	"server_bad_response",
	"server_head_too_large",
	"no_pool",
	"no_http2",
	"no_server",
	"local_resources",
	"engine_evicted",
	"engine_refused",
	"engine_sessions",
	"engine_memory",
	"deadline_exceeded",
	"client_denied",
	"client_request_rate",
	"client_certificate_missing",
	"client_certificate_expired",
	"client_certificate_untrusted",
	"client_certificate_revoked",
	"client_certificate_no_crl",
	"client_forged_field",
	"client_token_missing",
	"client_token_malformed",
	"client_token_untrusted",
	"client_token_expired",
	"client_token_for_others",
	"client_connection_rate",
	"client_connections",
	"client_network_denied",
	"client_network_rate",
	"script_failed",
	"internal",
}

// CauseName returns the name of a Cause; empty: nothing failed, or the data plane is newer.
func CauseName(cause uint16) string {
	if cause == 0 || int(cause) > len(causeNames) {
		return ""
	}
	return causeNames[cause-1]
}
