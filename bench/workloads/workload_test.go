package workloads

import (
	"strings"
	"testing"
)

func TestEveryWorkloadOfTheTreeIsOne(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, w := range all {
		if seen[w.ID] {
			t.Errorf("%s is there twice", w.ID)
		}
		seen[w.ID] = true
	}
	for _, id := range []string{"A1", "A1-TLS13", "K", "K-1SEG", "N1", "N1-1SEG", "N2", "N3", "W1", "W2", "W3",
		"W4", "W5", "W5-RSA", "H2-K", "H2-K-TLS", "H2-H2", "H2-A", "G1", "WS", "U1", "U1-NEW", "I-H2", "I-H2-STREAM",
		"I-H2-STREAM-H2", "C1", "C100", "Z-GZIP", "Z-BR"} {
		if !seen[id] {
			t.Errorf("%s is missing", id)
		}
	}
}

func TestChoosesByIDAndByFamilyWithoutDoubles(t *testing.T) {
	all := []Workload{{ID: "A1"}, {ID: "A1-TLS13"}, {ID: "K"}}
	for wish, want := range map[string]string{"": "A1 A1-TLS13 K", "a1": "A1 A1-TLS13", "A1-TLS13": "A1-TLS13",
		"K,A1,K": "K A1 A1-TLS13"} {
		chosen, err := Choose(all, strings.FieldsFunc(wish, func(r rune) bool { return r == ',' }))
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, w := range chosen {
			ids = append(ids, w.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q: %s, want %s", wish, got, want)
		}
	}
	if _, err := Choose(all, []string{"Z9"}); err == nil || !strings.Contains(err.Error(), "Z9") {
		t.Errorf("a name that is none: %v", err)
	}
}

const good = `id = "X"
title = "x"
kind = "transactions"
[service]
layer = 7
[load]
object_bytes = 1
connections = 1
[origin]
segments = 2
`

func TestSaysWhichKeyIsWrong(t *testing.T) {
	if _, err := Parse(good); err != nil {
		t.Fatal(err)
	}
	for change, named := range map[[2]string]string{
		{`kind = "transactions"`, `kind = "other"`}:                     "kind",
		{"layer = 7", "layer = 5"}:                                      "service.layer",
		{"layer = 7", "layer = 7\ntls = \"1.1\""}:                       "service.tls",
		{"layer = 7", "layer = 7\ncolour = 3"}:                          "service.colour",
		{"layer = 7", "layer = 7\nprotocol = \"spdy\""}:                 "service.protocol",
		{"layer = 7", "layer = 7\nprotocol = \"udp\""}:                  "layer 7",
		{"layer = 7", "layer = 4\nprotocol = \"http2\""}:                "layer 4",
		{"layer = 7", "layer = 7\nprotocol = \"http2\""}:                "load.streams",
		{"connections = 1", "connections = 1\nstreams = 2"}:             "load.streams",
		{"layer = 7", "layer = 7\nprotocol = \"grpc\""}:                 "service.server_http2",
		{"layer = 7", "layer = 4\nserver_http2 = true"}:                 "service.server_http2",
		{"segments = 2", "segments = 2\n[idle]\nstreams = 1"}:           "idle.streams",
		{"segments = 2", "segments = 3"}:                                "origin.segments",
		{`kind = "transactions"`, `kind = "growth"`}:                    "growth.of",
		{`kind = "transactions"`, `kind = "own code"`}:                  "own_code.row",
		{`kind = "transactions"`, `kind = "idle"`}:                      "idle.connections",
		{"connections = 1", "connections = 0"}:                          "connections",
		{"layer = 7", "layer = 7\ntls = \"1.2\""}:                       "service.certificate",
		{"layer = 7", "layer = 4\ntls = \"1.2\"\n"}:                     "layer 4",
		{"object_bytes = 1", "object_bytes = \"a\""}:                    "object_bytes",
		{"layer = 7", "layer = 7\ncertificate = \"ec\"\ntls = \"1.2\""}: "load.cipher",
	} {
		_, err := Parse(strings.Replace(good, change[0], change[1], 1))
		if err == nil || !strings.Contains(err.Error(), named) {
			t.Errorf("%v: %v; want it to name %s", change, err, named)
		}
	}
}
