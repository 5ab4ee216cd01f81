package story

import (
	"strings"
	"testing"

	"github.com/weir-lb/weir/logs/query"
)

func TestTellsARequestAConnectionAndAGap(t *testing.T) {
	request := map[string]string{
		"client_ip": "2001:db8::1", "client_src_port": "40001", "source_ip": "192.0.2.1", "vs_ip": "203.0.113.9",
		"client_dest_port": "443", "vs_name": "shop", "client_rtt_us": "15000", "client_rtt_age_ms": "2500",
		"service_engine": "engine-4", "vcpu_id": "1", "ssl_version": "TLSv1.3", "ssl_cipher": "TLS_AES_128_GCM_SHA256",
		"ssl_session_reused": "true", "sni_hostname": "shop.example", "method": "POST", "uri_path": "/pay",
		"uri_query": "a=1", "host": "shop.example", "http_version": "1.1", "request_length": "200", "pool": "pool-1",
		"pool_name": "shop", "server_ip": "10.0.0.7", "server_dest_port": "8080", "server_name": "web-7",
		"connect_us": "400", "servers_tried": "2", "response_code": "504", "response_length": "90",
		"local_response": "true", "server_response_code": "0", "total_time_us": "2013000", "wait_us": "200",
		"class": "significant", "significant_log": "ADF_RESPONSE_CODE_5XX SERVER_RESPONSE_TIMEOUT",
		"request_state": "server_response_timeout", "weight": "7", "cut": "referer user_agent",
		"http_security_policy_rule_name": "let in", "http_request_policy_rule_name": "add field, to blue",
	}
	connection := map[string]string{
		"client_ip": "192.0.2.7", "client_src_port": "1", "source_ip": "192.0.2.7", "vs_ip": "203.0.113.9",
		"client_dest_port": "443", "virtualservice": "virtualservice-1", "service_engine_uuid": "se-1", "vcpu_id": "0",
		"ssl_alert": "handshake failure", "client_cipher_list": "A B", "rx_bytes": "10", "tx_bytes": "7",
		"total_time_us": "900", "class": "filtered", "weight": "1", "network_security_policy_rule_name": "insiders",
	}
	gap := map[string]string{"lost": "1", "weight": "50", "lost_reason": "no room"}
	for want, got := range map[string][]Stage{
		`client: [2001:db8::1]:40001 connected to 203.0.113.9:443, the virtual service shop, through 192.0.2.1 (PROXY protocol); its round trip took 15.0 ms, as measured 2 s before.
engine: Worker 1 of the engine engine-4 took it.
tls: TLS: TLSv1.3, TLS_AES_128_GCM_SHA256; for the name shop.example; with a session of an earlier handshake.
request: POST /pay?a=1 of shop.example, HTTP/1.1, 200 bytes.
rules: Rules that acted: let in (of HTTP security); add field, to blue (of requests).
pool: The pool is shop.
server: The server is 10.0.0.7:8080 (web-7), connected in 400 µs, the last of 2 servers that were tried.
response: The client got 504, 90 bytes, from the engine itself.
times: It took 2.01 s in all: client RTT 15.0 ms, wait 200 µs.
why: It is significant: ADF_RESPONSE_CODE_5XX, SERVER_RESPONSE_TIMEOUT (server_response_timeout); it stands for 7; it has only the beginning of referer, user_agent.`: Tell(query.Requests, request),
		`client: 192.0.2.7:1 connected to 203.0.113.9:443, the virtual service virtualservice-1.
engine: Worker 0 of the engine se-1 took it.
tls: TLS: failed: handshake failure; the client offered A B.
rules: Rules that acted: insiders (of the network security policy).
pool: No pool was asked.
connection: The client sent 10 bytes and got 7.
times: It took 900 µs in all.
why: It is kept for a rule with log: true.`: Tell(query.Connections, connection),
		`why: 1 record stood for 50 requests, and are missing: no room.`: Tell(query.Requests, gap),
	} {
		var lines []string
		for _, stage := range got {
			lines = append(lines, stage.Name+": "+stage.Text)
		}
		if told := strings.Join(lines, "\n"); told != want {
			t.Errorf("got\n%s\nwant\n%s", told, want)
		}
	}
}
