package main

import (
	"bytes"
	"testing"
)

func TestMachineOfAnEngineHasItsTables(t *testing.T) {
	host := map[string]any{"cpu_percent": 12.5, "memory_bytes": float64(8 << 30),
		"memory_available_bytes": float64(6 << 30),
		"disk_bytes":             float64(100 << 30), "disk_free_bytes": float64(1 << 30),
		"agent_rss_bytes":  float64(40 << 20),
		"listen_overflows": 3.0, "syn_cookies": 0.0, "tcp_sent_segments": 40_000.0, "tcp_retransmitted_segments": 100.0,
		"interfaces": []any{map[string]any{"name": "eth0", "received_dropped": 2.0, "sent_dropped": 1.0,
			"per_second": map[string]any{"received_bytes": 2_500_000.0, "sent_bytes": 900.0, "received_packets": 1700.4,
				"sent_packets": 12.0}},
			map[string]any{"name": "eth1", "per_second": map[string]any{}}},
	}
	var out bytes.Buffer
	if err := printParts(&out, machineOf(host), interfacesOf(host)); err != nil {
		t.Fatal(err)
	}
	const want = "" +
		"MACHINE   CPU %   MEMORY IN USE     DISK IN USE       AGENT'S MEMORY   LISTEN OVERFLOWS   SYN COOKIES   RETRANSMITS\n" +
		"          12.5    25 % of 8.0 GiB   99 % of 100 GiB   40.0 MiB         3                  0             0.25 %\n" +
		"\n" +
		"INTERFACE   RECEIVED PER SECOND   SENT PER SECOND   PACKETS RECEIVED PER SECOND   SENT PER SECOND   DROPPED   ERRORS\n" +
		"eth0        2.4 MiB               900 B             1700                          12                3         0\n" +
		"eth1                                                                                                0         0\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	if machineOf(nil) != nil || interfacesOf(nil) != nil {
		t.Error("no machine makes no table")
	}
}
