package bench

import (
	"context"

	"github.com/weir-lb/weir/bench/ours"
	"github.com/weir-lb/weir/bench/peers"
	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/client"
)

// weir is the Weir of a row. The data plane alone is measured; the agent's cost is read beside it.
type weir struct{ *ours.Weir }

// startNamedWeir starts a Weir with its data plane on the stage's cores. The names of its processes contain this name.
func (s *stage) startNamedWeir(ctx context.Context, name, dir string) (weir, error) {
	w, err := ours.Start(ctx, s.lab, ours.Setup{Name: name, Dir: dir, Programs: s.run.programs, Cores: s.cores})
	return weir{w}, err
}

// subject is what is measured of it.
func (w weir) subject(ctx context.Context, s peers.Setup) (subject, error) {
	pid, err := w.Engine.DataplanePID(ctx)
	return subject{name: report.Weir, address: s.Address(), pid: pid, agentPID: w.Engine.PID()}, err
}

// serve creates the profiles, the pool and one virtual service of a row, and waits until the engine serves it.
func (w weir) serve(ctx context.Context, s peers.Setup, c peers.Certificate) error {
	if err := w.createProfiles(ctx, s, c); err != nil {
		return err
	}
	if err := w.createPool(ctx, "bench", s.Servers, s); err != nil {
		return err
	}
	if err := w.createPolicies(ctx, s.Rules); err != nil {
		return err
	}
	if err := w.createService(ctx, "bench", "bench", s); err != nil {
		return err
	}
	return w.UntilUp(ctx)
}

// policies is the name of those that have the rules of a row.
const policies = "bench"

// createPolicies makes the rules of a row, if it has some.
func (w weir) createPolicies(ctx context.Context, rules []peers.Rule) error {
	if len(rules) == 0 {
		return nil
	}
	var list []any
	for index, rule := range rules {
		list = append(list, map[string]any{
			"name": rule.Host, "index": index, "enable": true,
			"match": map[string]any{
				"host_hdr": map[string]any{"match_criteria": "HDR_EQUALS", "value": []any{rule.Host}},
				"path": map[string]any{"match_criteria": "BEGINS_WITH", "match_str": []any{rule.Path},
					"match_case": "SENSITIVE"},
			},
			"switching_action": map[string]any{"action": "HTTP_SWITCHING_SELECT_POOL",
				"pool_ref": client.Ref("pool", "bench")},
		})
	}
	return w.Create(ctx, ours.Entry{Kind: "httppolicyset", Object: client.Object{
		"name": policies, "http_request_policy": map[string]any{"rules": list}}})
}

// levels are those whose answers are at least as short as those of nginx at its level 1.
var levels = map[string]int{"gzip": 1, "br": 1}

// createProfiles makes those that every object of the row refers to.
func (w weir) createProfiles(ctx context.Context, s peers.Setup, c peers.Certificate) error {
	// As for the peers: the load decides how many requests a connection carries, and how long it stays.
	http := map[string]any{
		"max_keepalive_requests": 1000000, "keepalive_timeout": 3600000, "post_accept_timeout": 3600000,
	}
	if s.HTTP2 {
		http["http2_profile"] = map[string]any{"max_http2_requests_per_connection": 0} // without limit
	}
	if s.WebSocket {
		http["websockets_enabled"] = true
	}
	if s.Cache {
		http["cache_config"] = map[string]any{"enabled": true}
	}
	if s.Compression != "" {
		http["compression_profile"] = map[string]any{"compression": true, "type": "CUSTOM_COMPRESSION",
			"remove_accept_encoding_header": true, "level_normal": levels[s.Compression]}
	}
	objects := []ours.Entry{{Kind: "applicationprofile", Object: client.Object{
		"name": "bench", "type": "APPLICATION_PROFILE_TYPE_HTTP", "http_profile": http}}}
	if s.UDP {
		objects = append(objects, ours.Entry{Kind: "networkprofile", Object: datagramProfile(s)})
	}
	if s.TLS != "" || s.ServerTLS {
		objects = append(objects, ours.Entry{Kind: "sslprofile", Object: sslProfile(s)},
			ours.KeyAndCertificate("bench", c.Certificate, c.Key))
	}
	return w.Create(ctx, objects...)
}

// datagramProfile ends sessions without a datagram.
func datagramProfile(s peers.Setup) client.Object {
	proxy := map[string]any{"session_idle_timeout": 10}
	if s.FreshSessions {
		proxy["session_idle_timeout"] = 2 // the shortest there is, for sessions whose answer is lost
	}
	return client.Object{"name": "bench", "profile": map[string]any{
		"type": "PROTOCOL_TYPE_UDP_PROXY", "udp_proxy_profile": proxy}}
}

// sslProfile allows what the row speaks and nothing else; every handshake is a full one.
func sslProfile(s peers.Setup) client.Object {
	version := "SSL_VERSION_TLS1_2"
	if s.TLS == "1.3" {
		version = "SSL_VERSION_TLS1_3"
	}
	profile := client.Object{
		"name": "bench", "enable_ssl_session_reuse": false,
		"accepted_versions": []any{map[string]any{"type": version}},
	}
	if s.TLS != "1.3" {
		profile["accepted_ciphers"] = s.Cipher
	}
	return profile
}

func (w weir) createPool(ctx context.Context, name string, servers []string, s peers.Setup) error {
	settings := client.Object{"conn_pool_properties": map[string]any{
		"upstream_connpool_conn_idle_tmo": 3600000, "upstream_connpool_conn_life_tmo": 3600000,
	}}
	if s.ServerHTTP2 {
		settings["enable_http2"] = true
	}
	if s.ServerTLS {
		settings["ssl_profile_ref"] = client.Ref("sslprofile", "bench")
	}
	return w.CreatePool(ctx, name, servers, settings)
}

// createService makes a VIP and a virtual service on it.
func (w weir) createService(ctx context.Context, name, pool string, s peers.Setup) error {
	service := ours.Service{Name: name, Host: s.Host, Port: s.Port, Pool: pool, Profile: "bench", HTTP2: s.HTTP2}
	if len(s.Rules) > 0 {
		service.Policies = []string{policies}
	}
	if s.Layer == 4 {
		service.Profile = "System-L4-Application"
	}
	if s.UDP {
		service.NetworkProfile = "bench"
		if s.FreshSessions {
			service.Profile = "System-DNS" // a session ends with its answer
		}
	}
	if s.TLS != "" {
		service.Secure, service.SSLProfile, service.Certificate = true, "bench", "bench"
	}
	return w.CreateService(ctx, service)
}
