// Package story tells one record of a request or a connection: a sentence for each stage of its way. It is pure.
package story

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/logs/query"
)

// Stage is a part of the way of a request.
type Stage struct {
	Name string `json:"name"` // client, engine, tls, request, rules, pool, server, response, times, why
	Text string `json:"text"`
}

// Tell returns the stages of a record. fields has the fields of the record by name; kind is query.Requests or
// query.Connections.
func Tell(kind string, fields map[string]string) []Stage {
	r := told(fields)
	if r["lost_reason"] != "" {
		return []Stage{{"why", r.lost(kind)}}
	}
	var stages []Stage
	add := func(name, text string) {
		if text != "" {
			stages = append(stages, Stage{name, text})
		}
	}
	add("client", r.client())
	add("engine", r.engine())
	add("tls", r.tls())
	if kind == query.Requests {
		add("request", r.request())
	}
	add("rules", r.rules())
	add("pool", r.pool())
	add("server", r.server())
	if kind == query.Requests {
		add("response", r.response())
	} else {
		add("connection", r.connection())
	}
	add("times", r.times())
	add("why", r.why())
	return stages
}

type told map[string]string

func (r told) lost(kind string) string {
	what := "requests"
	if kind == query.Connections {
		what = "connections"
	}
	return fmt.Sprintf("%s stood for %s %s, and are missing: %s.", count(r["lost"], "record"), r["weight"], what,
		r["lost_reason"])
}

// count is a number and a noun, in the plural unless it is one.
func count(number, noun string) string {
	if number != "1" {
		noun += "s"
	}
	return number + " " + noun
}

func (r told) client() string {
	text := fmt.Sprintf("%s connected to %s, the virtual service %s", r.address("client_ip", "client_src_port"),
		r.address("vs_ip", "client_dest_port"), r.named("vs_name", "virtualservice"))
	if source := r["source_ip"]; source != "" && source != r["client_ip"] {
		text += ", through " + source + " (PROXY protocol)"
	}
	if rtt := r.took("client_rtt"); rtt != "" {
		text += "; its round trip took " + rtt
		if age, _ := strconv.Atoi(r["client_rtt_age_ms"]); age > 1000 {
			text += fmt.Sprintf(", as measured %d s before", age/1000)
		}
	}
	return text + "."
}

func (r told) engine() string {
	return fmt.Sprintf("Worker %s of the engine %s took it.", r["vcpu_id"],
		r.named("service_engine", "service_engine_uuid"))
}

func (r told) tls() string {
	var parts []string
	if r["ssl_version"] != "" {
		parts = append(parts, strings.Join(present(r["ssl_version"], r["ssl_cipher"], r["ssl_group"]), ", "))
	}
	if r["sni_hostname"] != "" {
		parts = append(parts, "for the name "+r["sni_hostname"])
	}
	if r["ssl_session_reused"] == query.True {
		parts = append(parts, "with a session of an earlier handshake")
	}
	if r["ssl_client_subject"] != "" {
		parts = append(parts, "the client showed a certificate of "+r["ssl_client_subject"])
	}
	if r["ssl_client_fault"] != "" {
		parts = append(parts, "which is not good: "+r["ssl_client_fault"])
	}
	if r["ssl_alert"] != "" {
		parts = append(parts, "failed: "+r["ssl_alert"])
	}
	if r["client_cipher_list"] != "" {
		parts = append(parts, "the client offered "+r["client_cipher_list"])
	}
	if parts == nil {
		return ""
	}
	return "TLS: " + strings.Join(parts, "; ") + "."
}

func present(all ...string) (some []string) {
	for _, one := range all {
		if one != "" {
			some = append(some, one)
		}
	}
	return some
}

func (r told) request() string {
	if r["method"] == "" {
		return ""
	}
	target := r["uri_path"]
	if r["uri_query"] != "" {
		target += "?" + r["uri_query"]
	}
	text := fmt.Sprintf("%s %s of %s, HTTP/%s, %s bytes", r["method"], target, orNone(r["host"]), r["http_version"],
		r["request_length"])
	if r["protocol"] != "" {
		text += ", " + r["protocol"]
	}
	if r["user_agent"] != "" {
		text += ", by " + r["user_agent"]
	}
	return text + "."
}

// rules names the rules that acted.
func (r told) rules() string {
	var parts []string
	for _, of := range []struct{ field, list string }{
		{"network_security_policy_rule_name", "of the network security policy"}, {"vh_match_rule", "of vh_matches"},
		{"http_security_policy_rule_name", "of HTTP security"}, {"http_request_policy_rule_name", "of requests"},
		{"http_response_policy_rule_name", "of responses"}, {"jwt_authn_rule_name", "of authentication"},
		{"jwt_authz_rule_name", "of authorization"},
	} {
		if r[of.field] != "" {
			parts = append(parts, r[of.field]+" ("+of.list+")")
		}
	}
	if parts == nil {
		return ""
	}
	return "Rules that acted: " + strings.Join(parts, "; ") + "."
}

func orNone(text string) string {
	if text == "" {
		return "no host"
	}
	return text
}

func (r told) pool() string {
	if r["pool"] == "" {
		return "No pool was asked."
	}
	text := "The pool is " + r.named("pool_name", "pool")
	if r["persistence_used"] == query.True {
		text += "; the client returned to its server"
	}
	return text + "."
}

func (r told) server() string {
	if r["server_name"] == "" {
		return ""
	}
	text := "The server is " + r.address("server_ip", "server_dest_port")
	if name := r["server_name"]; r["server_ip"] != "" && !strings.HasPrefix(name, r["server_ip"]+":") &&
		!strings.HasPrefix(name, "["+r["server_ip"]) {
		text += " (" + name + ")"
	}
	switch {
	case r["server_connection_reused"] == query.True:
		text += ", over a connection that had served before"
	case r["connect_us"] != "":
		text += ", connected in " + duration(r["connect_us"])
	}
	if r["servers_tried"] != "" && r["servers_tried"] != "1" {
		text += ", the last of " + count(r["servers_tried"], "server") + " that were tried"
	}
	if code := r["server_response_code"]; code != "" && code != "0" {
		text += "; it answered " + code
	}
	return text + "."
}

func (r told) response() string {
	if r["response_code"] == "0" || r["response_code"] == "" {
		return "The client got no response."
	}
	text := fmt.Sprintf("The client got %s, %s bytes", r["response_code"], r["response_length"])
	if r["local_response"] == query.True {
		text += ", from the engine itself"
	}
	return text + "."
}

func (r told) connection() string {
	return fmt.Sprintf("The client sent %s bytes and got %s.", r["rx_bytes"], r["tx_bytes"])
}

func (r told) times() string {
	var parts []string
	for _, part := range []struct{ field, name string }{
		{"client_rtt", "client RTT"}, {"wait", "wait"}, {"server_rtt", "server RTT"},
		{"app_response_time", "app response"}, {"data_transfer_time", "transfer"},
	} {
		if took := r.took(part.field); took != "" {
			parts = append(parts, part.name+" "+took)
		}
	}
	text := "It took " + duration(r["total_time_us"]) + " in all"
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text + "."
}

func (r told) why() string {
	var text string
	switch r["class"] {
	case query.Significant:
		text = "It is significant: " + strings.ReplaceAll(r["significant_log"], " ", ", ")
		if r["request_state"] != "" {
			text += " (" + r["request_state"] + ")"
		}
	case query.Filtered:
		text = "It is kept for " + r.wish()
	default:
		text = "It is kept because all requests were"
	}
	if weight := r["weight"]; weight != "1" && weight != "" {
		text += "; it stands for " + weight
	}
	if r["cut"] != "" {
		text += "; it has only the beginning of " + strings.ReplaceAll(r["cut"], " ", ", ")
	}
	return text + "."
}

// wish is what wanted a record of class Filtered.
func (r told) wish() string {
	switch {
	case r["client_log_filter_name"] != "":
		return "the filter " + r["client_log_filter_name"]
	case r["datascript_log"] != "":
		return "what a DataScript has logged"
	}
	return "a rule with log: true"
}

func (r told) named(name, uuid string) string {
	if r[name] != "" {
		return r[name]
	}
	return r[uuid]
}

func (r told) address(host, port string) string {
	switch {
	case r[host] == "":
		return "an unknown address"
	case strings.Contains(r[host], ":"):
		return "[" + r[host] + "]:" + r[port]
	}
	return r[host] + ":" + r[port]
}

func (r told) took(field string) string {
	if r[field+"_us"] == "" {
		return ""
	}
	return duration(r[field+"_us"])
}

// duration writes microseconds as a reader wants them.
func duration(micros string) string {
	number, err := strconv.ParseFloat(micros, 64)
	switch {
	case err != nil:
		return "an unknown time"
	case number < 1_000:
		return micros + " µs"
	case number < 1_000_000:
		return strconv.FormatFloat(number/1_000, 'f', 1, 64) + " ms"
	}
	return strconv.FormatFloat(number/1_000_000, 'f', 2, 64) + " s"
}
