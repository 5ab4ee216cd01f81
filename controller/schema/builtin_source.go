package schema

// builtinSources is what an operator would have sent to make the built-in objects, by kind.
var builtinSources = map[string][]Object{
	"tenant":           {{"name": "admin"}},
	"cloud":            {{"name": "Default-Cloud", "vtype": "CLOUD_NONE"}},
	"vrfcontext":       {{"name": "global", "system_default": true}, {"name": "management", "system_default": true}},
	"analyticsprofile": {{"name": "System-Analytics-Profile"}},
	"serviceenginegroup": {
		{"name": "Default-Group"},
	},
	"applicationpersistenceprofile": {
		{
			"name": "System-Persistence-Http-Cookie", "persistence_type": "PERSISTENCE_TYPE_HTTP_COOKIE",
			"http_cookie_persistence_profile": map[string]any{"always_send_cookie": false},
		},
		{"name": "System-Persistence-Client-IP", "persistence_type": "PERSISTENCE_TYPE_CLIENT_IP_ADDRESS", "ip_persistence_profile": map[string]any{}},
	},
	"sslprofile": {
		sslProfile("System-Standard", "SSL_PROFILE_TYPE_APPLICATION", standardCiphers),
		sslProfile("System-Standard-PFS", "SSL_PROFILE_TYPE_APPLICATION", pfsCiphers),
		sslProfile("System-Standard-Portal", "SSL_PROFILE_TYPE_SYSTEM", portalCiphers),
	},
	"sslkeyandcertificate": {
		certificateOrder("System-Default-Cert", "SSL_CERTIFICATE_TYPE_VIRTUALSERVICE", "System Default Cert", rsaKey),
		certificateOrder("System-Default-Cert-EC", "SSL_CERTIFICATE_TYPE_VIRTUALSERVICE", "System Default EC Cert", ecKey),
		certificateOrder("System-Default-Portal-Cert", "SSL_CERTIFICATE_TYPE_SYSTEM", "System Default Portal Cert", rsaKey),
		certificateOrder("System-Default-Portal-Cert-EC256", "SSL_CERTIFICATE_TYPE_SYSTEM", "System Default Portal EC Cert", ecKey),
		certificateOrder("System-Default-Secure-Channel-Cert", "SSL_CERTIFICATE_TYPE_SYSTEM", "System Default Secure Channel Cert", rsaKey),
	},
	"networkprofile": {
		networkProfile("System-TCP-Proxy", Object{"type": "PROTOCOL_TYPE_TCP_PROXY", "tcp_proxy_profile": Object{}}),
		networkProfile("System-TCP-Fast-Path", Object{"type": "PROTOCOL_TYPE_TCP_FAST_PATH", "tcp_fast_path_profile": Object{}}),
		networkProfile("System-UDP-Fast-Path", Object{"type": "PROTOCOL_TYPE_UDP_FAST_PATH", "udp_fast_path_profile": Object{}}),
		networkProfile("System-UDP-Per-Pkt", Object{
			"type": "PROTOCOL_TYPE_UDP_FAST_PATH", "udp_fast_path_profile": Object{"per_pkt_loadbalance": true},
		}),
		networkProfile("System-UDP-No-Snat", Object{
			"type": "PROTOCOL_TYPE_UDP_FAST_PATH", "udp_fast_path_profile": Object{"snat": false},
		}),
	},
	"applicationprofile": {
		{"name": "System-HTTP", "type": "APPLICATION_PROFILE_TYPE_HTTP", "http_profile": Object{}},
		{"name": "System-Secure-HTTP", "type": "APPLICATION_PROFILE_TYPE_HTTP", "http_profile": secureHTTP(Object{})},
		{
			"name": "System-Secure-HTTP-VDI", "type": "APPLICATION_PROFILE_TYPE_HTTP",
			"http_profile": secureHTTP(Object{"client_body_timeout": int64(0), "max_keepalive_requests": int64(0)}),
		},
		{"name": "System-L4-Application", "type": "APPLICATION_PROFILE_TYPE_L4", "tcp_app_profile": Object{}},
		{"name": "System-SSL-Application", "type": "APPLICATION_PROFILE_TYPE_SSL", "tcp_app_profile": Object{}},
		{"name": "System-DNS", "type": "APPLICATION_PROFILE_TYPE_DNS", "dns_service_profile": Object{}},
		{"name": "System-Syslog", "type": "APPLICATION_PROFILE_TYPE_SYSLOG"},
	},
	"healthmonitor": {
		{"name": "System-TCP", "type": "HEALTH_MONITOR_TCP", "tcp_monitor": Object{}},
		{
			"name": "System-HTTP", "type": "HEALTH_MONITOR_HTTP",
			"http_monitor": Object{"http_request": "HEAD / HTTP/1.0", "http_response_code": []any{"HTTP_2XX", "HTTP_3XX"}},
		},
		{
			"name": "System-HTTPS", "type": "HEALTH_MONITOR_HTTPS",
			"https_monitor": Object{
				"http_request": "HEAD / HTTP/1.0", "http_response_code": []any{"HTTP_2XX", "HTTP_3XX"},
				"ssl_attributes": Object{},
			},
		},
		{"name": "System-Ping", "type": "HEALTH_MONITOR_PING"},
	},
	"systemconfiguration": {{
		"portal_configuration": Object{"sslkeyandcertificate_refs": []any{
			"/api/sslkeyandcertificate?name=System-Default-Portal-Cert",
			"/api/sslkeyandcertificate?name=System-Default-Portal-Cert-EC256",
		}},
		"secure_channel_configuration": Object{"sslkeyandcertificate_refs": []any{
			"/api/sslkeyandcertificate?name=System-Default-Secure-Channel-Cert",
		}},
	}},
	"user": {{
		"name": "admin", "full_name": "System Administrator", "email": "", "is_superuser": true,
		"access": []any{Object{"tenant_ref": "/api/tenant/admin", "all_tenants": true}},
	}},
}

// The cipher lists of the built-in SSL profiles, in the language of openssl.
const (
	pfsCiphers = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256:" +
		"ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA384:ECDHE-RSA-AES128-SHA256:" +
		"ECDHE-RSA-AES256-SHA384:ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES128-SHA:ECDHE-RSA-AES256-SHA"
	standardCiphers = pfsCiphers +
		":AES128-GCM-SHA256:AES256-GCM-SHA384:AES128-SHA256:AES256-SHA256:AES128-SHA:AES256-SHA:DES-CBC3-SHA"
	portalCiphers = "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256:" +
		"ECDHE-RSA-AES128-GCM-SHA256"
)

func sslProfile(name, kind, ciphers string) Object {
	return Object{"name": name, "type": kind, "accepted_ciphers": ciphers}
}

func networkProfile(name string, profile Object) Object {
	return Object{"name": name, "profile": profile}
}

var (
	rsaKey = Object{"algorithm": "SSL_KEY_ALGORITHM_RSA", "rsa_params": Object{"key_size": "SSL_KEY_2048_BITS"}}
	ecKey  = Object{"algorithm": "SSL_KEY_ALGORITHM_EC", "ec_params": Object{"curve": "SSL_KEY_EC_CURVE_SECP256R1"}}
)

func certificateOrder(name, kind, commonName string, key Object) Object {
	return Object{"name": name, "type": kind, "key_params": key, "certificate": Object{
		"self_signed": true, "subject": Object{"common_name": commonName}, "days_until_expire": int64(3650),
	}}
}

// secureHTTP turns on what makes a site safe behind TLS.
func secureHTTP(profile Object) Object {
	for _, name := range []string{
		"ssl_everywhere_enabled", "http_to_https", "server_side_redirect_to_https", "x_forwarded_proto_enabled",
		"hsts_enabled", "secure_cookie_enabled", "httponly_enabled",
	} {
		profile[name] = true
	}
	return profile
}
