package schema

import (
	"errors"
	"strings"
	"testing"
)

func TestRefusesWithTheFieldAndWhatToDo(t *testing.T) {
	server := func(rest string) string {
		return `{"name":"p","servers":[{"ip":{"addr":"10.0.0.1","type":"V4"}},` + rest + `]}`
	}
	bgp := func(settings, peers string) string {
		if !strings.Contains(settings, "ibgp") {
			settings += `"ibgp":true,`
		}
		return `{"name":"v","bgp_profile":{"local_as":65000,` + settings + `"peers":[` + peers + `]}}`
	}
	for _, c := range []struct{ kind, body, want string }{
		{"pool", `{`, `pool: the body is not JSON: unexpected EOF`},
		{"pool", `[]`, `pool: the body is not a JSON object`},
		{"pool", `{"name":"p"} {}`, `pool: the body goes on after its JSON object`},
		{"pool", `{"unheard_of":` + strings.Repeat(`[`, 40) + strings.Repeat(`]`, 40) + `}`,
			`pool: the body is nested deeper than 32 levels`},
		{"pool", `{}`, `pool: name: is required`},
		{"pool", `{"name":null}`, `pool: name: is required`},
		{"pool", `{"name":""}`, `pool: name: is required`},
		{"pool", `{"name":{}}`, `pool: name: must be a text, not an object`},
		{"pool", `{"name":"p","enabled":"maybe"}`, `pool: enabled: "maybe" is not true or false`},
		{"pool", `{"name":"p","enabled":1}`, `pool: enabled: 1 is not true or false`},
		{"pool", `{"name":"p","default_server_port":"http"}`,
			`pool: default_server_port: "http" is not a whole number`},
		{"pool", `{"name":"p","default_server_port":80.5}`, `pool: default_server_port: 80.5 is not a whole number`},
		{"pool", `{"name":"p","default_server_port":1e99}`, `pool: default_server_port: 1e99 is not a whole number`},
		{"pool", `{"name":"p","default_server_port":70000}`,
			`pool: default_server_port: 70000 is out of range; give 1 to 65535`},
		{"pool", `{"name":"p","request_queue_depth":-1}`,
			`pool: request_queue_depth: -1 is out of range; give 0 to 4294967295`},
		{"pool", `{"name":"p","lb_algorithm":"ROUND"}`, `pool: lb_algorithm: "ROUND" is unknown; give one of ` +
			`LB_ALGORITHM_LEAST_CONNECTIONS, LB_ALGORITHM_ROUND_ROBIN, LB_ALGORITHM_FASTEST_RESPONSE, LB_ALGORITHM_CONSISTENT_HASH, ` +
			`LB_ALGORITHM_LEAST_LOAD, LB_ALGORITHM_FEWEST_SERVERS, LB_ALGORITHM_RANDOM, LB_ALGORITHM_FEWEST_TASKS, ` +
			`LB_ALGORITHM_NEAREST_SERVER, LB_ALGORITHM_CORE_AFFINITY, LB_ALGORITHM_TOPOLOGY`},
		{"pool", `{"name":"p","servers":{}}`, `pool: servers: must be a list, not an object`},
		{"pool", `{"name":"p","servers":[80]}`,
			`pool: servers[0]: must be an object, not 80: give its fields, such as servers[0].ip.addr`},
		{"pool", server(`null`),
			`pool: servers[1]: must be an object, not null: give its fields, such as servers[1].ip.addr`},
		{"pool", server(`{}`), `pool: servers[1].ip: is required`},
		{"pool", server(`{"ip":{"type":"V4"}}`), `pool: servers[1].ip.addr: is required`},
		{"pool", server(`{"ip":{"addr":"10.0.0.2","type":"V4"},"port":-1}`),
			`pool: servers[1].port: -1 is out of range; give 0, or 1 to 65535`},
		{"pool", server(`{"ip":{"addr":"10.0.0.2","type":"V6"}}`),
			`pool: servers[1].ip.addr: "10.0.0.2" is not an IPv6 address`},
		{"pool", server(`{"ip":{"addr":"origin","type":"V4"}}`),
			`pool: servers[1].ip.addr: "origin" is not an IPv4 address`},
		{"pool", server(`{"ip":{"addr":"10.0.0.1","type":"V4"},"port":80}`),
			`pool: servers[1]: 10.0.0.1:80 is already servers[0]`},
		{"pool", `{"name":"p","health_monitor_refs":["/api/pool/pool-1"]}`,
			`pool: health_monitor_refs[0]: "/api/pool/pool-1" refers to a pool; give a healthmonitor`},
		{"pool", `{"name":"p","health_monitor_refs":["https://"]}`,
			`pool: health_monitor_refs[0]: "https://" is not a reference; give /api/healthmonitor/<uuid> or /api/healthmonitor?name=<name>`},
		{"pool",
			`{"name":"p","lb_algorithm":"LB_ALGORITHM_CONSISTENT_HASH","lb_algorithm_hash":"LB_ALGORITHM_CONSISTENT_HASH_CUSTOM_HEADER"}`,
			`pool: lb_algorithm_consistent_hash_hdr: is required by lb_algorithm_hash LB_ALGORITHM_CONSISTENT_HASH_CUSTOM_HEADER`},

		{"pool", `{"name":"p","server_name":"10.0.0.1"}`, `pool: server_name: "10.0.0.1" is not a host name`},
		{"pool", `{"name":"p","domain_name":["shop.example","a b"]}`, `pool: domain_name[1]: "a b" is not a host name`},

		{"pool",
			`{"name":"p","server_reselect":{"enabled":true,"svr_resp_code":{"ranges":[{"begin":500,"end":500},{"begin":504,"end":502}]}}}`,
			`pool: server_reselect.svr_resp_code.ranges[1].end: 502 is before begin 504`},
		{"networkprofile", proxied(
			`{"ip_addr":{"addr":"10.0.0.0"},"mask":8}, {"ip_addr":{"addr":"lb.example"},"mask":8}`),
			`networkprofile: profile.tcp_proxy_profile.weir_proxy_protocol_sources[1].ip_addr.addr: "lb.example" is a DNS name; ` +
				`give an IPv4 or IPv6 address`},
		{"healthmonitor",
			`{"name":"h","type":"HEALTH_MONITOR_WEIR_GRPC","weir_grpc_monitor":{"tls":true,"server_name":"10.0.0.1"}}`,
			`healthmonitor: weir_grpc_monitor.server_name: "10.0.0.1" is not a host name`},
		{"networkprofile", proxied(`{"ip_addr":{"addr":"10.0.0.0"},"mask":33}`),
			`networkprofile: profile.tcp_proxy_profile.weir_proxy_protocol_sources[0].mask: 33 is longer than the 32 bits of 10.0.0.0`},

		{"applicationprofile",
			`{"name":"a","type":"APPLICATION_PROFILE_TYPE_SSL","tcp_app_profile":{"weir_alpn_protocols":["h2",""]}}`,
			`applicationprofile: tcp_app_profile.weir_alpn_protocols[1]: "" is not the name of a protocol: it must have 1 to 255 bytes`},

		{"applicationpersistenceprofile", `{"name":"p","persistence_type":"PERSISTENCE_TYPE_HTTP_COOKIE"}`,
			`applicationpersistenceprofile: http_cookie_persistence_profile: is required by PERSISTENCE_TYPE_HTTP_COOKIE; give {} for the defaults`},
		{"applicationpersistenceprofile",
			`{"name":"p","persistence_type":"PERSISTENCE_TYPE_HTTP_COOKIE","http_cookie_persistence_profile":{"cookie_name":"a;b"}}`,
			`applicationpersistenceprofile: http_cookie_persistence_profile.cookie_name: has more than letters, digits, - and _, or more than 128 of them`},
		{"pool", failing(`"redirect":{"host":"a.test"}`), `pool: fail_action.redirect: is for FAIL_ACTION_HTTP_REDIRECT`},
		{"pool", failing(`"local_rsp":{}`), `pool: fail_action.local_rsp: is for FAIL_ACTION_HTTP_LOCAL_RSP`},
		{"poolgroup", failing(`"backup_pool":{"backup_pool_ref":"/api/pool/pool-1"}`),
			`poolgroup: fail_action.backup_pool: is for FAIL_ACTION_BACKUP_POOL`},
		{"pool", failing(`"type":"FAIL_ACTION_HTTP_LOCAL_RSP","redirect":{"host":"a.test"}`),
			`pool: fail_action.redirect: is for FAIL_ACTION_HTTP_REDIRECT`},
		{"pkiprofile", `{"name":"p"}`, `pkiprofile: ca_certs: is empty; give at least one certificate of an authority`},
		{"pkiprofile", `{"name":"p","crl_check":true,"ca_certs":[{"certificate":"c"}]}`,
			`pkiprofile: crl_check: needs crls: without a list of its issuer, every certificate is refused`},
		{"pkiprofile", `{"name":"p","allow_pki_errors":["ALLOW_ALL_ERRORS"],"ca_certs":[{"certificate":"c"}]}`,
			`pkiprofile: allow_pki_errors: cannot be ALLOW_ALL_ERRORS: a certificate that cannot be verified says nothing; ` +
				`allow_invalid_client_cert of a virtual service lets its clients in, as clients without one`},
		{"applicationprofile", `{"name":"a","type":"APPLICATION_PROFILE_TYPE_HTTP","http_profile":{
			"ssl_client_certificate_action":{"headers":[{"request_header":"Host",
			"request_header_value":"HTTP_POLICY_VAR_SSL_CLIENT_SUBJECT"}]}}}`,
			`applicationprofile: http_profile.ssl_client_certificate_action.headers[0].request_header: ` +
				`Host cannot be changed: use rewrite_url_action.host_hdr of a request rule`},
		{"applicationprofile", `{"name":"a","type":"APPLICATION_PROFILE_TYPE_HTTP","http_profile":{
			"ssl_client_certificate_action":{"headers":[{"request_header":"X-Client",
			"request_header_value":"HTTP_POLICY_VAR_CLIENT_IP"}]}}}`,
			`applicationprofile: http_profile.ssl_client_certificate_action.headers[0].request_header_value: ` +
				`HTTP_POLICY_VAR_CLIENT_IP says nothing about TLS: use HTTP_POLICY_VAR_SSL_*, or an hdr_action of an HTTP policy`},
		{"pkiprofile", `{"name":"p","ca_certs":[{"certificate":"root"}]}`,
			`pkiprofile: ca_certs[0].certificate: holds no certificate; give PEM`},

		{"healthmonitor", `{"name":"m"}`, `healthmonitor: type: is required`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_HTTP","https_monitor":{}}`,
			`healthmonitor: http_monitor: is required by type HEALTH_MONITOR_HTTP`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_DNS"}`,
			`healthmonitor: dns_monitor: is required by type HEALTH_MONITOR_DNS`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_SCTP"}`,
			`healthmonitor: type: HEALTH_MONITOR_SCTP is refused: engines do not speak SCTP`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_GSLB"}`,
			`healthmonitor: type: HEALTH_MONITOR_GSLB is refused: Weir serves no sites`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_DNS","dns_monitor":{"query_name":"a..b"}}`,
			`healthmonitor: dns_monitor.query_name: "a..b" is not a name in DNS`},
		{"healthmonitor",
			`{"name":"m","type":"HEALTH_MONITOR_DNS","dns_monitor":{"query_name":"a","record_type":"DNS_RECORD_AXFR"}}`,
			`healthmonitor: dns_monitor.record_type: DNS_RECORD_AXFR is not a type that a monitor can ask for`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_EXTERNAL",
			"external_monitor":{"command_code":"echo","command_parameters":"'open"}}`,
			`healthmonitor: external_monitor.command_parameters: has a ' without its end`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_EXTERNAL",
			"external_monitor":{"command_code":"echo","command_variables":"A=1 2=b"}}`,
			`healthmonitor: external_monitor.command_variables: the word 2 is not NAME=value`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_RADIUS"}`,
			`healthmonitor: radius_monitor: is required by type HEALTH_MONITOR_RADIUS`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_RADIUS","radius_monitor":{"username":"u","password":"` +
			strings.Repeat("x", 129) + `","shared_secret":"s"}}`,
			`healthmonitor: radius_monitor.password: is longer than 128 bytes`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_HTTP","http_monitor":{"auth_type":"AUTH_NTLM"}}`,
			`healthmonitor: authentication: is required by http_monitor.auth_type`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_TCP","authentication":{"username":"u"}}`,
			`healthmonitor: authentication.password: is required`},
		{"healthmonitor",
			`{"name":"m","type":"HEALTH_MONITOR_POP3","authentication":{"username":"u\r\nDELE 1","password":"p"}}`,
			`healthmonitor: authentication.username: has a line break or a zero byte`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_FTP","ftp_monitor":{"filename":"a\nDELE b"}}`,
			`healthmonitor: ftp_monitor.filename: has a line break or a zero byte`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_SMTP","smtp_monitor":{"sender_id":"a@b.test"}}`,
			`healthmonitor: smtp_monitor.recipients_ids: is empty: a mail has recipients`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_SMTPS","smtps_monitor":{"mail_data":"hi"}}`,
			`healthmonitor: smtps_monitor.sender_id: is missing: a mail has a sender`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_IMAP","imap_monitor":{"folder":"INBOX"}}`,
			`healthmonitor: authentication: is required by imap_monitor.folder`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_LDAPS",
			"ldaps_monitor":{"base_dn":"dc=a","ssl_attributes":{"server_name":"10.0.0.1"}}}`,
			`healthmonitor: ldaps_monitor.ssl_attributes.server_name: "10.0.0.1" is not a host name`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_TCP","send_interval":3}`,
			`healthmonitor: receive_timeout: is longer than send_interval; give at most that`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_HTTP","http_monitor":{"http_response_code":["200"]}}`,
			`healthmonitor: http_monitor.http_response_code[0]: "200" is unknown; give one of HTTP_ANY, HTTP_1XX, HTTP_2XX, HTTP_3XX, HTTP_4XX, HTTP_5XX`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_HTTP","http_monitor":{"http_response_code":[]}}`,
			`healthmonitor: http_monitor.http_response_code: is empty; give at least one`},
		{"healthmonitor",
			`{"name":"m","type":"HEALTH_MONITOR_HTTP","http_monitor":{"maintenance_code":[500,501,502,503,504]}}`,
			`healthmonitor: http_monitor.maintenance_code: has 5 items; give at most 4`},
		{"healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_HTTP","http_monitor":{"maintenance_code":[99]}}`,
			`healthmonitor: http_monitor.maintenance_code[0]: 99 is out of range; give 101 to 599`},

		{"virtualservice", `{"name":"v","vsvip_ref":"vsvip-1"}`,
			`virtualservice: services: is empty; give at least one port`},
		{"virtualservice", `{"name":"v","services":[{"port":80}]}`, `virtualservice: vsvip_ref: is required`},
		{"virtualservice", `{"name":"v","max_cps_per_client":5}`,
			`virtualservice: max_cps_per_client: 5 is out of range; give 0, or 10 to 1000`},
		{"virtualservice", `{"name":"v","vsvip_ref":"vsvip-1","services":[{"port":90,"port_range_end":80}]}`,
			`virtualservice: services[0].port_range_end: 80 is before port 90`},
		{"virtualservice",
			`{"name":"v","vsvip_ref":"vsvip-1","services":[{"port":80,"port_range_end":90},{"port":85}]}`,
			`virtualservice: services[1].port: 85 is already in services[0]`},

		{"vsvip", `{"name":"v","vip":[{}]}`, `vsvip: vip[0].ip_address: is required`},
		{"vsvip", `{"name":"v","vip":[{"ip_address":{"addr":"a.example","type":"DNS"}}]}`,
			`vsvip: vip[0].ip_address.addr: "a.example" is a DNS name; give an IPv4 or IPv6 address`},
		{"vsvip", `{"name":"v","vip":[{"ip_address":{"addr":"10.0.0.256"}}]}`,
			`vsvip: vip[0].ip_address.addr: "10.0.0.256" is neither an address nor a host name`},
		{"vsvip", `{"name":"v","vip":[{"ip6_address":{"addr":"10.0.0.1","type":"V4"}}]}`,
			`vsvip: vip[0].ip6_address.type: V4 is not an IPv6 address; give V6`},
		{"vsvip",
			`{"name":"v","vip":[{"vip_id":1,"ip_address":{"addr":"10.0.0.1","type":"V4"}},{"vip_id":"1","ip_address":{"addr":"10.0.0.2","type":"V4"}}]}`,
			`vsvip: vip[1].vip_id: "1" is already the id of vip[0]`},

		{"applicationprofile",
			`{"name":"a","type":"APPLICATION_PROFILE_TYPE_HTTP","http_profile":{"xff_alternate_name":"X Forwarded"}}`,
			`applicationprofile: http_profile.xff_alternate_name: "X Forwarded" is not a header name`},
		{"networkprofile", `{"name":"n"}`, `networkprofile: profile: is required`},
		{"networkprofile",
			`{"name":"n","profile":{"type":"PROTOCOL_TYPE_TCP_PROXY","tcp_proxy_profile":{"idle_connection_timeout":4}}}`,
			`networkprofile: profile.tcp_proxy_profile.idle_connection_timeout: 4 is out of range; give 0, or 5 to 14400`},
		{"sslprofile", `{"name":"s","accepted_versions":[]}`,
			`sslprofile: accepted_versions: is empty; give at least one version`},
		{"sslprofile", `{"name":"s","accepted_versions":[{"type":"SSL_VERSION_TLS1_2"},{"type":"SSL_VERSION_TLS1_2"}]}`,
			`sslprofile: accepted_versions[1]: SSL_VERSION_TLS1_2 is there twice`},
		{"sslprofile", `{"name":"s","accepted_ciphers":"","ciphersuites":""}`,
			`sslprofile: accepted_ciphers: is empty, as are cipher_enums and ciphersuites; give at least one cipher`},
		{"serviceenginegroup", `{"name":"g","min_scaleout_per_vs":5}`,
			`serviceenginegroup: min_scaleout_per_vs: is more than max_scaleout_per_vs`},
		{"serviceenginegroup", `{"name":"g","min_se":11}`, `serviceenginegroup: min_se: is more than max_se`},
		{"serviceenginegroup", `{"name":"g","min_cpu_usage":60,"max_cpu_usage":60}`,
			`serviceenginegroup: min_cpu_usage: is not less than max_cpu_usage`},
		{"analyticsprofile", `{"name":"a","apdex_rtt_tolerated_factor":"much"}`,
			`analyticsprofile: apdex_rtt_tolerated_factor: "much" is not a number`},
		{"analyticsprofile", `{"name":"a","apdex_rtt_tolerated_factor":"NaN"}`,
			`analyticsprofile: apdex_rtt_tolerated_factor: "NaN" is not a number`},
		{"vrfcontext", `{"name":"v","gateway_mon":[{}]}`, `vrfcontext: gateway_mon[0].gateway_ip: is required`},
		{"vrfcontext", `{"name":"v","internal_gateway_monitor":{"gateway_monitor_interval":99}}`,
			`vrfcontext: internal_gateway_monitor.gateway_monitor_interval: 99 is out of range; give 100 to 60000`},
		{"vrfcontext", bgp(``, `{"remote_as":65000}`),
			`vrfcontext: bgp_profile.peers[0].peer_ip: is required, or peer_ip6`},
		{"vrfcontext", bgp(``, `{"peer_ip":{"addr":"2001:db8::1"}}`),
			`vrfcontext: bgp_profile.peers[0].peer_ip.type: V6 does not fit; give V4`},
		{"vrfcontext", bgp(``, `{"peer_ip6":{"addr":"router.example"}}`),
			`vrfcontext: bgp_profile.peers[0].peer_ip6.type: DNS does not fit; give V6`},
		{"vrfcontext", bgp(``, `{"peer_ip":{"addr":"10.0.0.1"},"subnet":{"ip_addr":{"addr":"10.0.1.0"},"mask":24}}`),
			`vrfcontext: bgp_profile.peers[0].subnet: 10.0.1.0/24 does not contain 10.0.0.1`},
		{"vrfcontext", bgp(``, `{"peer_ip":{"addr":"10.0.0.1"}},{"peer_ip":{"addr":"10.0.0.1"}}`),
			`vrfcontext: bgp_profile.peers[1]: 10.0.0.1 is already peers[0]`},
		{"vrfcontext", bgp(``, `{"peer_ip":{"addr":"10.0.0.1"},"remote_as":65001}`),
			`vrfcontext: bgp_profile.peers[0].remote_as: 65001 is another system than the engines' 65000; give that, or ibgp false`},
		{"vrfcontext", bgp(`"ibgp":false,`, `{"peer_ip":{"addr":"10.0.0.1"}}`),
			`vrfcontext: bgp_profile.peers[0].remote_as: is required by ibgp false`},
		{"vrfcontext", bgp(`"ibgp":false,`, `{"peer_ip":{"addr":"10.0.0.1"},"remote_as":65000}`),
			`vrfcontext: bgp_profile.peers[0].remote_as: 65000 is the system of the engines too; give another, or ibgp true`},
		{"serviceenginegroup", `{"name":"g","auto_rebalance":true,"auto_rebalance_criteria":["SE_AUTO_REBALANCE_PPS"]}`,
			`serviceenginegroup: auto_rebalance_criteria[0]: engines do not count packets: take CPU, MBPS, OPEN_CONNS or CPS`},
		{"serviceenginegroup",
			`{"name":"g","auto_rebalance":true,"auto_rebalance_criteria":["SE_AUTO_REBALANCE_CPU","SE_AUTO_REBALANCE_CPS"],
			"auto_rebalance_capacity_per_se":[100]}`,
			`serviceenginegroup: auto_rebalance_criteria[1]: say in auto_rebalance_capacity_per_se[1] how much of it one engine can take`},
		{"cloudconnectoruser", `{"name":"root"}`,
			`cloudconnectoruser: private_key: is empty, and so is password: give one of them`},
		{"vrfcontext", bgp(``, `{"peer_ip":{"addr":"10.0.0.1"},"md5_secret":"`+strings.Repeat("x", 81)+`"}`),
			`vrfcontext: bgp_profile.peers[0].md5_secret: is longer than 80 bytes`},
		{"vrfcontext", bgp(``, `{"peer_ip":{"addr":"10.0.0.1"},"hold_time":9,"keepalive_interval":9}`),
			`vrfcontext: bgp_profile.peers[0].keepalive_interval: 9 is not less than hold_time 9`},
		{"vrfcontext", bgp(`"hold_time":60,`, ``),
			`vrfcontext: bgp_profile.keepalive_interval: is not less than hold_time`},
		{"vrfcontext", bgp(`"community":["65000:1","65536:1"],`, ``),
			`vrfcontext: bgp_profile.community[1]: "65536:1" is not a community; ` +
				`give two numbers of 0 to 65535 as 65000:100, or one of internet, no-export, no-advertise, local-AS`},
		{"vrfcontext", bgp(`"ip_communities":[{"ip_begin":{"addr":"10.0.0.2"},"ip_end":{"addr":"10.0.0.1"}}],`, ``),
			`vrfcontext: bgp_profile.ip_communities[0].ip_end: 10.0.0.1 does not come after ip_begin 10.0.0.2`},
		{"vrfcontext", `{"name":"v","bgp_profile":{"ibgp":true}}`, `vrfcontext: bgp_profile.local_as: is required`},
		{"vrfcontext", `{"name":"v","bfd_profile":{"minrx":40}}`,
			`vrfcontext: bfd_profile.minrx: 40 is out of range; give 50 to 4000000`},
		{"user", `{"full_name":"Bob"}`, `user: username: is required`},
	} {
		k := kindByName[c.kind]
		o, err := k.Decode([]byte(c.body))
		if err == nil {
			k.Fill(o)
			err = k.Check(o)
		}
		var problem *FieldError
		if !errors.As(err, &problem) || err.Error() != c.want {
			t.Errorf("%s %s\n got %v\nwant %s", c.kind, c.body, err, c.want)
		}
	}
}

// failing is a pool, or a pool group, with these fields of a fail action.
func failing(fields string) string { return `{"name":"p","fail_action":{` + fields + `}}` }

// proxied is a network profile that accepts PROXY headers from these subnets.
func proxied(sources string) string {
	return `{"name":"n","profile":{"type":"PROTOCOL_TYPE_TCP_PROXY","tcp_proxy_profile":{"weir_proxy_protocol_sources":[` +
		sources + `]}}}`
}
