package metrics

import (
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// handshaken is what an engine counts after n handshakes of each kind, and n requests of each kind.
func handshaken(n uint64) *dataplanev1.VirtualServiceCounters {
	counters := requested(100 + 5*n)
	counters.TlsHandshakesTotal, counters.TlsFailuresTotal = 10*n, 3*n
	counters.Tls = &dataplanev1.TlsCounters{
		Rows: []*dataplanev1.TlsRow{
			{Version: "TLS 1.3", CipherSuite: "TLS_AES_128_GCM_SHA256", Group: "X25519", Key: "ECDSA", Total: 4 * n},
			{Version: "TLS 1.2", CipherSuite: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", Group: "P-256", Key: "RSA",
				Total: 3 * n},
			{Version: "TLS 1.2", CipherSuite: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", Resumed: true, Total: 2 * n},
		},
		OthersTotal: n,
		Failures: []*dataplanev1.ErrorCounter{{Cause: "timeout", Total: n}, {Cause: "closed", Total: n},
			{Cause: "no_version", Total: n}},
	}
	counters.RequestsByMethodTotal = []uint64{2 * n, n, n, 0, 0, 0, 0, 0, n}
	counters.LocalResponsesByClassTotal = []uint64{0, 0, 0, 2 * n, n}
	return counters
}

func TestKindsOfHandshakesAndRequestsHaveTheIDsOfAvi(t *testing.T) {
	s := newStage(t)
	s.pass(4, func(n int) { s.report("se-two", 7, handshaken(uint64(15*n))) })
	for id, want := range map[string]float64{
		"l7_client.avg_ssl_connections": 10, "l7_client.avg_ssl_ver_tls13": 4, "l7_client.avg_ssl_ver_tls12": 5,
		"l7_client.avg_ssl_ver_tls10": 0, "l7_client.avg_ssl_kx_ecdh": 7, "l7_client.avg_ssl_kx_rsa": 0,
		"l7_client.avg_ssl_auth_rsa": 3, "l7_client.avg_ssl_auth_ecdsa": 4, "l7_client.avg_ssl_handshakes_pfs": 7,
		"l7_client.avg_ssl_handshakes_non_pfs": 2, "l7_client.avg_ssl_rsa_pfs": 3, "l7_client.avg_ssl_ecdsa_pfs": 4,
		"l7_client.avg_ssl_failed_connections": 3, "l7_client.avg_ssl_errors": 1,
		"l7_client.avg_ssl_handshakes_timedout": 1, "l7_client.avg_ssl_handshake_network_errors": 1,
		"l7_client.avg_ssl_handshake_protocol_errors": 1, "l7_client.sum_get_reqs": 30,
		"l7_client.sum_post_reqs": 15, "l7_client.sum_other_reqs": 30, "l7_client.avg_resp_4xx_avi_errors": 2,
		"l7_client.avg_resp_5xx_avi_errors": 1,
	} {
		points := s.points(id, 15*time.Second, 2)
		if points[1] == nil || *points[1] < want-1e-6 || *points[1] > want+1e-6 {
			t.Errorf("%s is %v, want %v", id, points[1], want)
		}
	}
	s.wantQuery(`sum(weir_service_tls_handshakes_total)`, 450)
	s.wantQuery(`weir_service_tls_handshakes_total{resumed="true",group=""}`, 90)
}
