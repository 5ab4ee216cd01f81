package peers

import (
	"strings"
	"testing"

	"github.com/weir-lb/weir/bench/workloads"
)

func setups(t *testing.T) map[string]Setup {
	t.Helper()
	all, err := workloads.All()
	if err != nil {
		t.Fatal(err)
	}
	setups := map[string]Setup{}
	for _, w := range all {
		if w.Kind == workloads.OwnCode {
			continue // of Weir alone
		}
		setups[w.ID] = Setup{Dir: "/d", Host: "127.0.0.1", Port: 4711,
			Servers: []string{"127.0.0.1:81", "127.0.0.1:82"}, Cores: []int{0},
			Layer: w.Service.Layer, TLS: w.Service.TLS, Cipher: w.Load.Cipher, ServerTLS: w.Service.ServerTLS,
			CertificateKey: "/d/cert.pem", Bulk: w.Bulk(), HTTP2: w.SpeaksHTTP2(),
			GRPC: w.Service.Protocol == workloads.GRPC, WebSocket: w.Service.Protocol == workloads.WebSocket,
			UDP:         w.Service.Protocol == workloads.UDP,
			ServerHTTP2: w.Service.ServerHTTP2, FreshSessions: w.Load.RequestsPerConnection == 1,
			Cache: w.Service.Cache, Compression: w.Service.Compression,
			Rules: MakeRules(w.Service.Rules, "/object")}
	}
	return setups
}

func TestEveryPeerIsConfiguredForEveryWorkload(t *testing.T) {
	for id, s := range setups(t) {
		for _, p := range All() {
			if p.Lacks != nil && p.Lacks(s) != "" {
				continue
			}
			text, err := s.render(p.config)
			if err != nil {
				t.Fatalf("%s, %s: %v", id, p.Name, err)
			}
			for _, want := range []string{"4711", "81", "82"} {
				if !strings.Contains(string(text), want) {
					t.Errorf("%s, %s: %s is missing", id, p.Name, want)
				}
			}
			if hasCert := strings.Contains(string(text), "/d/cert.pem"); hasCert != (s.TLS != "") {
				t.Errorf("%s, %s: certificate %v, TLS %q", id, p.Name, hasCert, s.TLS)
			}
		}
	}
}

func TestNoPeerResumesSessions(t *testing.T) {
	off := map[string][]string{
		"nginx":   {"ssl_session_cache off", "ssl_session_tickets off"},
		"haproxy": {"tune.ssl.cachesize 0", "no-tls-tickets"},
		"envoy":   {"disable_stateless_session_resumption: true", "disable_stateful_session_resumption: true"},
	}
	s := setups(t)["A1"]
	for _, p := range All() {
		text, err := s.render(p.config)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range off[p.Name] {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: %q is missing", p.Name, want)
			}
		}
	}
}

func TestPeersSpeakWhatTheWorkloadSays(t *testing.T) {
	said := map[string]map[string]string{
		"H2-K":     {"nginx": " http2 ", "haproxy": "proto h2\n", "envoy": "codec_type: HTTP2"},
		"H2-K-TLS": {"nginx": "ssl http2 ", "haproxy": "alpn h2", "envoy": "alpn_protocols: [h2]"},
		"H2-H2":    {"nginx": "", "haproxy": "proto h2 pool-max-conn", "envoy": "http2_protocol_options"},
		"G1":       {"nginx": "grpc_pass", "haproxy": "proto h2 pool-max-conn", "envoy": "http2_protocol_options"},
		"WS":       {"nginx": "$http_upgrade", "haproxy": "timeout tunnel", "envoy": "upgrade_type: websocket"},
		"C1":       {"nginx": "proxy_cache stored;", "haproxy": "http-request cache-use", "envoy": ""},
		"Z-GZIP":   {"nginx": "gzip on;", "haproxy": "", "envoy": ""},
		"U1":       {"nginx": " udp ", "haproxy": "", "envoy": "protocol: UDP"},
		"U1-NEW":   {"nginx": "proxy_responses 1;", "haproxy": "", "envoy": "idle_timeout: 1s"},
	}
	for id, s := range setups(t) {
		for _, p := range All() {
			want, asked := said[id][p.Name]
			if !asked {
				continue
			}
			lacks := p.Lacks != nil && p.Lacks(s) != ""
			text, err := s.render(p.config)
			if err != nil || lacks != (want == "") || !lacks && !strings.Contains(string(text), want) {
				t.Errorf("%s, %s: %q is missing, or it lacks this: %v %v", id, p.Name, want, lacks, err)
			}
		}
	}
}

func TestReadsVersionAndTLSLibraryOutOfWhatProxiesSay(t *testing.T) {
	readers := map[string]func(string) (string, string){"nginx": ofNginx, "haproxy": ofHAProxy, "envoy": ofEnvoy}
	for _, c := range []struct{ proxy, said, version, tls string }{
		{"nginx",
			"nginx version: nginx/1.22.1\nbuilt with OpenSSL 3.0.22 25 Aug 2026 (running with OpenSSL 3.0.19 27 Jan 2026)\n" +
				"configure arguments: --prefix=/usr/share/nginx", "1.22.1", "OpenSSL 3.0.19"},
		{"nginx", "nginx version: nginx/1.22.1\nbuilt with OpenSSL 3.0.19 27 Jan 2026\n", "1.22.1", "OpenSSL 3.0.19"},
		{"nginx", "nginx version: nginx/1.22.1\nconfigure arguments: --prefix=/usr\n", "1.22.1", ""},
		{"haproxy", "HAProxy version 2.6.12-1+deb12u4 2026/09/01 - https://haproxy.org/\n" +
			"Built with OpenSSL version : OpenSSL 3.0.22 25 Aug 2026\nRunning on OpenSSL version : OpenSSL 3.0.19 27 Jan 2026\n",
			"2.6.12-1+deb12u4", "OpenSSL 3.0.19"},
		{"haproxy", "HAProxy version 3.2.9 2025/11/01 - https://haproxy.org/\n" +
			"Running on OpenSSL version : OpenSSL 1.1.1 (compatible; AWS-LC 1.49.0)\n", "3.2.9", "AWS-LC 1.49.0"},
		{"envoy", "/x/envoy  version: 2ba816e2/1.40.0/Clean/RELEASE/BoringSSL\n", "1.40.0", "BoringSSL"},
	} {
		if version, tls := readers[c.proxy](c.said); version != c.version || tls != c.tls {
			t.Errorf("%s: got version %q and TLS library %q, want %q and %q", c.proxy, version, tls, c.version, c.tls)
		}
	}
}

func TestMissingProgramSaysHowToGetIt(t *testing.T) {
	if _, err := find("no-such-proxy", "run `make bench`"); err == nil || !strings.Contains(err.Error(), "make bench") {
		t.Errorf("%v", err)
	}
}
