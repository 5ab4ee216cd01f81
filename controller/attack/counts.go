package attack

import (
	"fmt"

	"github.com/weir-lb/weir/controller/fleet"
)

// counter says which counters of a virtual service count an attack, and what they count.
type counter struct {
	names []string
	what  string
}

func failures(what string, causes ...string) counter {
	of := counter{what: what}
	for _, cause := range causes {
		of.names = append(of.names, "errors_"+cause)
	}
	return of
}

func limited(what, by string) counter { return counter{[]string{fleet.LimitedPrefix + by}, what} }

// appError has no counter of its own.
const appError = "DOS_APP_ERROR"

// counters are those of each attack that engines count, besides appError.
var counters = map[string]counter{
	"DOS_HTTP_TIMEOUT": failures("requests that came too slowly", "client_head_timeout", "client_body_timeout"),
	"DOS_HTTP_ERROR": failures("malformed or too large requests", "client_bad_request", "client_uri_too_long",
		"client_head_too_large", "client_body_too_large", "client_unsupported", "client_forged_field", "client_flood"),
	"DOS_HTTP_ABORT": failures("requests whose clients went away", "client_aborted"),
	"DOS_SSL_ERROR":  {[]string{"tls_failures"}, "failed TLS handshakes"},
	"TCP_SLOW_AND_LOW": failures("connections that were closed because their clients neither sent nor took enough",
		"client_accept_timeout", "client_stalled", "engine_memory"),
	"POLICY_DROPS": failures("clients that policies sent away", "client_denied", "client_network_denied",
		"client_network_rate"),
	"DOS_CONN_RL_DROP":        limited("connections beyond the limit of all", "connections"),
	"DOS_CONN_IP_RL_DROP":     limited("connections beyond the limits of their clients", "client_connections"),
	"DOS_REQ_RL_DROP":         limited("requests beyond the limit of all", "requests"),
	"DOS_REQ_IP_RL_DROP":      limited("requests beyond the limits of their clients", "client_requests"),
	"DOS_REQ_URI_RL_DROP":     limited("requests beyond the limits of their paths", "path_requests"),
	"DOS_REQ_IP_URI_RL_DROP":  limited("requests beyond the limits of client and path", "client_path_requests"),
	"DOS_REQ_HDR_RL_DROP":     limited("requests beyond the limits of a header field or cookie", "field_requests"),
	"DOS_REQ_CUSTOM_RL_DROP":  limited("requests beyond the limits of scripts", "script_requests"),
	"DOS_REQ_IP_RL_DROP_BAD":  limited("requests of clients that failed too often", "client_failures"),
	"DOS_REQ_URI_RL_DROP_BAD": limited("requests for paths that failed too often", "path_failures"),
	"DOS_REQ_IP_URI_RL_DROP_BAD": limited("requests of clients that failed too often at the path",
		"client_path_failures"),
	"DOS_REQ_CIP_SCAN_UNKNOWN_RL_DROP": limited("requests of unknown clients beyond their limit", "unknown_clients"),
	"DOS_REQ_CIP_SCAN_BAD_RL_DROP":     limited("requests of bad clients beyond their limit", "bad_clients"),
	"DOS_REQ_URI_SCAN_UNKNOWN_RL_DROP": limited("requests for unknown paths beyond their limit", "unknown_paths"),
	"DOS_REQ_URI_SCAN_BAD_RL_DROP":     limited("requests for bad paths beyond their limit", "bad_paths"),
}

// countOf is what was counted of an attack.
func countOf(attack string, counted map[string]int64) (total int64) {
	if attack == appError {
		return fleet.ErrorsIn(counted)
	}
	for _, name := range counters[attack].names {
		total += counted[name]
	}
	return total
}

// amount says how much was counted of an attack.
func amount(count int64, attack string) string {
	if attack == appError {
		return fmt.Sprintf("%d responses with 5xx", count)
	}
	return fmt.Sprintf("%d %s", count, counters[attack].what)
}
