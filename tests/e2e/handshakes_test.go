package e2e

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

// handshake has openssl make a handshake, and returns what openssl says of it.
func (s *stage) handshake(flags ...string) string {
	s.Helper()
	args := append([]string{"s_client", "-connect", tlsAddress, "-ign_eof"}, flags...)
	command := exec.CommandContext(s.ctx, "openssl", args...)
	command.Stdin = strings.NewReader("GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n")
	said, _ := command.CombinedOutput() // some are meant to fail
	return string(said)
}

// agreed are the rows of handshakes in a runtime, as "version suite group key" with "resumed" behind it, and the
// totals.
func agreed(runtime client.Object) (rows map[string]float64, failures map[string]float64) {
	rows, failures = map[string]float64{}, map[string]float64{}
	tls, _ := runtime["tls"].(map[string]any)
	list, _ := tls["handshakes"].([]any)
	for _, item := range list {
		row, _ := item.(map[string]any)
		name := fmt.Sprintf("%v %v %v %v", row["version"], row["cipher_suite"], row["group"], row["key"])
		if row["resumed"] == true {
			name += " resumed"
		}
		rows[name], _ = row["total"].(float64)
	}
	list, _ = tls["failures"].([]any)
	for _, item := range list {
		row, _ := item.(map[string]any)
		failures[fmt.Sprint(row["reason"])], _ = row["total"].(float64)
	}
	return rows, failures
}

func TestHandshakesAreCountedByWhatClientsOfOpenSSLAgreeOn(t *testing.T) {
	s := setUp(t, echo(t))
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		o["ssl_key_and_certificate_refs"] = []any{client.Ref("sslkeyandcertificate", "System-Default-Cert-EC"),
			client.Ref("sslkeyandcertificate", "System-Default-Cert")}
	})
	kept := s.dir + "/session"
	for _, flags := range [][]string{
		{"-tls1_3", "-groups", "X25519", "-ciphersuites", "TLS_AES_128_GCM_SHA256"},
		{"-tls1_3", "-groups", "P-256", "-ciphersuites", "TLS_AES_256_GCM_SHA384", "-sigalgs", "RSA-PSS+SHA256"},
		{"-tls1_2", "-groups", "P-384:P-256", "-cipher", "ECDHE-ECDSA-AES256-GCM-SHA384", "-sess_out", kept},
		{"-tls1_2", "-groups", "P-384:P-256", "-cipher", "ECDHE-ECDSA-AES256-GCM-SHA384", "-sess_in", kept},
	} {
		if said := s.handshake(flags...); !strings.Contains(said, "HTTP/1.1 200") {
			t.Fatalf("%v: %s", flags, said)
		}
	}
	s.handshake("-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256")
	s.handshake("-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0")
	s.handshake("-tls1_3", "-groups", "P-521")
	s.handshake("-alpn", "mail")
	for _, scheme := range []string{"http://", "https://"} {
		if err := exec.CommandContext(s.ctx, "curl", "-s", scheme+tlsAddress+"/").Run(); err == nil {
			t.Errorf("curl is content with %s", scheme)
		}
	}

	want := map[string]float64{
		"TLS 1.3 TLS_AES_128_GCM_SHA256 X25519 ECDSA":                 1,
		"TLS 1.3 TLS_AES_256_GCM_SHA384 P-256 RSA":                    1,
		"TLS 1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 P-384 ECDSA": 1,
		"TLS 1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384   resumed":   1,
	}
	s.eventually("each handshake has its row", func() error {
		rows, failures := agreed(s.runtime("virtualservice", "web"))
		for name, total := range want {
			if rows[name] != total {
				return fmt.Errorf("%q is %v, want %v in %v", name, rows[name], total, rows)
			}
		}
		for _, reason := range []string{"no_cipher_suite", "no_version", "no_group", "not_tls",
			"certificate_refused"} {
			if failures[reason] < 1 {
				return fmt.Errorf("no failure by %s: %v", reason, failures)
			}
		}
		return nil
	})
	run := s.commands()
	contains(t, run("vs", "show", "web"), "TLS HANDSHAKES", "TLS_AES_128_GCM_SHA256", "TLS FAILURE", "not_tls",
		"requests_get")
}

func TestMachineOfAnEngineIsShown(t *testing.T) {
	s := setUp(t, echo(t))
	s.eventually("the engine tells of its machine", func() error {
		runtime := s.runtime("serviceengine", "engine-1")
		host, _ := runtime["host"].(map[string]any)
		if memory, _ := host["memory_bytes"].(float64); memory == 0 {
			return fmt.Errorf("%v", host)
		}
		if _, known := host["cpu_percent"]; !known {
			return fmt.Errorf("no second sample: %v", host)
		}
		interfaces, _ := host["interfaces"].([]any)
		if slices.ContainsFunc(interfaces, func(each any) bool { return each.(map[string]any)["name"] == "lo" }) {
			s.Fatal("the loopback is no way to clients")
		}
		return nil
	})
}
