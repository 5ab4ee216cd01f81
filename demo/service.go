package demo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/ports"
)

// siteService is at the VIP of the report, and announced to the router.
var siteService = service{address: "3.3.3.3", tlsPort: 443, plainPort: 80, advertised: true}

// loopbackService replaces it without root: at 127.3.3.3, with ports 8443 and 8080 for 443 and 80.
func loopbackService() (s service, err error) {
	s.address = "127.3.3.3"
	if s.tlsPort, err = ports.Free(s.address, 8443); err != nil {
		return s, err
	}
	s.plainPort, err = ports.Free(s.address, 8080)
	return s, err
}

// reportCiphers are those of the report, by OpenSSL's names and in its order.
var reportCiphers = []string{
	"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA",
	"ECDHE-ECDSA-AES256-GCM-SHA384",
	"ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES256-SHA384", "ECDHE-RSA-AES128-GCM-SHA256",
	"ECDHE-RSA-AES256-GCM-SHA384",
	"ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES128-SHA256", "ECDHE-RSA-AES256-SHA", "ECDHE-RSA-AES256-SHA384",
}

// service is the virtual service of the report, as the controller knows it.
type service struct {
	uuid               string
	address            string
	tlsPort, plainPort int
	advertised         bool
}

func (s service) url() string { return fmt.Sprintf("https://%s:%d/index.html", s.address, s.tlsPort) }

func (s service) plainURL() string {
	return fmt.Sprintf("http://%s:%d/index.html", s.address, s.plainPort)
}

// configureProfiles does what the report has under "Configuring the … profiles for testing".
func configureProfiles(ctx context.Context, session *client.Session) error {
	steps := []struct {
		kind, name string
		change     func(client.Object)
	}{
		{"applicationprofile", "System-Secure-HTTP", secureHTTP},
		{"networkprofile", "System-TCP-Proxy", tcpProxy},
		{"sslprofile", "System-Standard", onlyTLS12},
	}
	for _, step := range steps {
		object, err := session.ByName(ctx, step.kind, step.name)
		if err != nil {
			return err
		}
		step.change(object)
		if _, err := session.Replace(ctx, step.kind, object); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

func secureHTTP(object client.Object) {
	lay(object, "http_profile", map[string]any{
		"connection_multiplexing_enabled": true, "xff_enabled": true, "websockets_enabled": true,
		"ssl_everywhere_enabled": true, "http_to_https": true, "secure_cookie_enabled": true, "httponly_enabled": true,
		"server_side_redirect_to_https": true, "x_forwarded_proto_enabled": true,
		"hsts_enabled": true, "hsts_max_age": 365, "hsts_subdomains_enabled": true,
		"client_header_timeout": 10000, "client_body_timeout": 30000, "keepalive_timeout": 30000,
		"post_accept_timeout":  30000,
		"client_max_body_size": 0, "client_max_header_size": 12, "client_max_request_size": 48,
	})
}

func tcpProxy(object client.Object) {
	profile, _ := object["profile"].(map[string]any)
	lay(profile, "tcp_proxy_profile", map[string]any{
		"automatic": false, "idle_connection_type": "KEEP_ALIVE", "idle_connection_timeout": 60,
		"ignore_time_wait":    true,
		"max_retransmissions": 8, "max_syn_retransmissions": 8, "receive_window": 64, "use_interface_mtu": true,
	})
}

func onlyTLS12(object client.Object) {
	object["accepted_versions"] = []any{map[string]any{"type": "SSL_VERSION_TLS1_2"}}
	object["accepted_ciphers"] = strings.Join(reportCiphers, ":")
}

// lay puts fields over the sub-object at name.
func lay(object map[string]any, name string, fields map[string]any) {
	inner, isObject := object[name].(map[string]any)
	if !isObject {
		inner = map[string]any{}
	}
	for field, value := range fields {
		inner[field] = value
	}
	object[name] = inner
}

// create does what the report has under "Creating a new application pool" and "Creating a new Virtual Service".
func (s *service) create(ctx context.Context, session *client.Session, origins []*lab.Nginx) error {
	var servers []any
	for _, o := range origins {
		servers = append(servers, map[string]any{"ip": map[string]any{"addr": o.Host, "type": "V4"}, "port": o.Port})
	}
	if _, err := session.Create(ctx, "pool", client.Object{
		"name": "VS-Pool", "servers": servers, "health_monitor_refs": []any{client.Ref("healthmonitor", "System-HTTP")},
	}); err != nil {
		return err
	}
	if _, err := session.Create(ctx, "vsvip", client.Object{
		"name": "VS-VIP",
		"vip":  []any{map[string]any{"vip_id": "1", "ip_address": map[string]any{"addr": s.address, "type": "V4"}}},
	}); err != nil {
		return err
	}
	created, err := session.Create(ctx, "virtualservice", client.Object{
		"name": "VS",
		"services": []any{map[string]any{"port": s.tlsPort, "enable_ssl": true, "enable_http2": true},
			map[string]any{"port": s.plainPort}},
		"vsvip_ref":                    client.Ref("vsvip", "VS-VIP"),
		"pool_ref":                     client.Ref("pool", "VS-Pool"),
		"application_profile_ref":      client.Ref("applicationprofile", "System-Secure-HTTP"),
		"network_profile_ref":          client.Ref("networkprofile", "System-TCP-Proxy"),
		"ssl_profile_ref":              client.Ref("sslprofile", "System-Standard"),
		"ssl_key_and_certificate_refs": []any{client.Ref("sslkeyandcertificate", "System-Default-Cert-EC")},
		"se_group_ref":                 client.Ref("serviceenginegroup", "Default-Group"),
		"enable_rhi":                   s.advertised,
		// Each request may have a record, for ever, as the paper has it.
		"analytics_policy": client.Object{"full_client_logs": client.Object{"enabled": true, "duration": 0}},
	})
	s.uuid = fmt.Sprint(created["uuid"])
	return err
}

// waitUp waits until every engine serves the virtual service and a server is up, and returns that state.
func (s service) waitUp(ctx context.Context, session *client.Session) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, upTimeout)
	defer cancel()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		runtime, err := s.runtime(ctx, session)
		if err != nil {
			return "", err
		}
		if runtime.OperStatus.State == "OPER_UP" {
			return runtime.Applied.Text, nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("it is still %s after %v: %v", runtime.OperStatus.State, upTimeout,
				runtime.OperStatus.Reason)
		case <-poll.C:
		}
	}
}

// runtime is what the demo reads of the API's answer.
type runtime struct {
	OperStatus struct {
		State  string `json:"state"`
		Reason []any  `json:"reason"`
	} `json:"oper_status"`
	Applied struct {
		Text string `json:"text"`
	} `json:"applied"`
	Counters struct {
		PerSecond struct {
			Requests float64 `json:"requests"`
		} `json:"per_second"`
	} `json:"counters"`
	Engines []struct {
		Percent int `json:"connections_percent"` // of the new connections of the last second
	} `json:"service_engine"`
}

func (s service) runtime(ctx context.Context, session *client.Session) (r runtime, err error) {
	err = session.Get(ctx, "virtualservice/"+s.uuid+"/runtime", &r)
	return r, err
}

// progress says how many requests are answered, and how new connections are spread over engines, in percent. It fits
// into a line of a narrow terminal.
func (r runtime) progress() string {
	text := fmt.Sprintf("%.0f requests/s", r.Counters.PerSecond.Requests)
	if len(r.Engines) < 2 {
		return text
	}
	var shares []string
	for _, engine := range r.Engines {
		shares = append(shares, strconv.Itoa(engine.Percent))
	}
	return text + ": " + strings.Join(shares, "+") + " %"
}

const upTimeout = 2 * time.Minute
