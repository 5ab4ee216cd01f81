package main

import (
	"bytes"
	"os"
	"regexp"
	"testing"
)

func TestHandshakesShowWhatTheyAgreedOnAndWhyOthersFailed(t *testing.T) {
	tls := map[string]any{
		"handshakes": []any{
			map[string]any{"version": "TLS 1.3", "cipher_suite": "TLS_AES_128_GCM_SHA256", "group": "X25519",
				"key": "RSA", "resumed": false, "total": 120.0, "per_second": 2.5},
			map[string]any{"version": "TLS 1.2", "cipher_suite": "TLS_A", "group": "", "key": "", "resumed": true,
				"total": 7.0},
			map[string]any{"version": "other", "total": 1.0},
		},
		"failures": []any{map[string]any{"reason": "timeout", "total": 3.0, "per_second": 0.0}},
	}
	var out bytes.Buffer
	if err := printParts(&out, handshakesOf(tls), handshakeFailuresOf(tls)); err != nil {
		t.Fatal(err)
	}
	const want = "" +
		"TLS HANDSHAKES   CIPHER SUITE             GROUP    KEY   RESUMED   TOTAL   PER SECOND\n" +
		"TLS 1.3          TLS_AES_128_GCM_SHA256   X25519   RSA             120     2.5\n" +
		"TLS 1.2          TLS_A                                   yes       7\n" +
		"other                                                              1\n" +
		"\n" +
		"TLS FAILURE   TOTAL   PER SECOND   WHAT IT MEANS\n" +
		"timeout       3       0.0          the handshake was not complete in time (post_accept_timeout)\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	if handshakesOf(nil) != nil || handshakeFailuresOf(nil) != nil {
		t.Error("no handshakes make no table")
	}
}

func TestEachReasonOfTheDataPlaneIsExplained(t *testing.T) {
	text, err := os.ReadFile("../../dataplane/telemetry/src/handshakes.rs")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^    [A-Z]\w+ = "(\w+)",$`).FindAllSubmatch(text, -1)
	if len(names) != len(handshakeFailures) {
		t.Errorf("%d reasons, and %d are explained", len(names), len(handshakeFailures))
	}
	for _, name := range names {
		if handshakeFailures[string(name[1])] == "" {
			t.Errorf("%s is not explained", name[1])
		}
	}
}
