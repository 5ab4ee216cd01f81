package demo

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/lab/clients"
)

func measuredWell(tps float64) measured {
	return measured{
		TPS: tps, P50us: 20000, P99us: 45000, P999us: 90000, CPUMicrosPerTransaction: 217.5,
		PerServer: map[string]int64{"127.0.0.1:1": 5, "127.0.0.1:2": 4, "127.0.0.1:3": 6}, Transactions: 15,
		tls: "TLS 1.2 X", full: 15,
	}
}

func good() figures {
	return figures{
		measured: measuredWell(1500.5), HTTP2: measuredWell(1400), Kept: kept{measuredWell(21000), measuredWell(33000)},
	}
}

func TestKeepsItsContractWithScripts(t *testing.T) {
	got, err := json.Marshal(good())
	if err != nil {
		t.Fatal(err)
	}
	const rest = `"errors":0,"p50_us":20000,"p99_us":45000,"p999_us":90000,"cpu_us_per_transaction":217.5,` +
		`"transactions":15,"per_server":{"127.0.0.1:1":5,"127.0.0.1:2":4,"127.0.0.1:3":6}`
	const want = `{"tps":1500.5,` + rest + `,"http2":{"tps":1400,` + rest + `},` +
		`"kept":{"http1":{"tps":21000,` + rest + `},"http2":{"tps":33000,` + rest + `}}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestShowsBothProtocolsBesideEachOtherWithUnits(t *testing.T) {
	f := good()
	f.Kept.HTTP2.Errors, f.Kept.HTTP2.errorsBy = 1, map[string]int64{"timeout": 1}
	const want = "" +
		"                                      HTTP/1.1      HTTP/2\n" +
		"  Each: TCP connect, TLS handshake, GET /index.html, close\n" +
		"  TPS                                     1500        1400\n" +
		"  latency p50                            20000       20000   µs\n" +
		"  latency p99                            45000       45000   µs\n" +
		"  latency p99.9                          90000       90000   µs\n" +
		"  engine CPU                             217.5       217.5   µs per request\n" +
		"  errors                                     0           0\n" +
		"  handshakes         TLS 1.2 X, 30 full handshakes, 0 resumed\n" +
		"\n" +
		"  GET /index.html on kept connections, 64 at once: 64 connections, or 8 with 8 streams each\n" +
		"  requests/s                             21000       33000\n" +
		"  latency p50                            20000       20000   µs\n" +
		"  latency p99                            45000       45000   µs\n" +
		"  latency p99.9                          90000       90000   µs\n" +
		"  engine CPU                             217.5       217.5   µs per request\n" +
		"  errors                                     0           1   HTTP/2: timeout 1\n"
	if got := f.table(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestPictureHasBothProtocols(t *testing.T) {
	svg := good().picture().SVG()
	for _, want := range []string{">HTTP/1.1<", ">HTTP/2<", ">21000<", ">33000<", "requests per second"} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestSaysWhatFellShort(t *testing.T) {
	const afresh = "HTTP/1.1 over new connections: "
	for _, c := range []struct {
		spoil func(*figures)
		want  []string
	}{
		{func(*figures) {}, nil},
		{func(f *figures) {
			f.Transactions, f.PerServer = 0, nil
		}, []string{afresh + "no transaction was completed", afresh + "0 of 3 servers answered"}},
		{func(f *figures) {
			f.Errors, f.errorsBy = 2, map[string]int64{"reset": 2}
		}, []string{afresh + "2 transactions failed: map[reset:2]"}},
		{func(f *figures) {
			f.Kept.HTTP2.Errors, f.Kept.HTTP2.errorsBy = 1, map[string]int64{"timeout": 1}
		}, []string{"HTTP/2 over kept connections: 1 transactions failed: map[timeout:1]"}},
		{func(f *figures) { delete(f.PerServer, "127.0.0.1:1") },
			[]string{afresh + "5 of 15 transactions do not tell which server answered", afresh +
				"2 of 3 servers answered"}},
		{func(f *figures) {
			f.Scale = []phase{{Engines: 2, Requests: 9, PerProtocol: map[string]int64{http1: 5, http2: 4},
				Settled: settled{PerEngine: map[string]int64{"engine-1": 4, "engine-2": 5}}},
				{Engines: 4, Requests: 90, Errors: 1, Failures: []clients.Failure{{Cause: "reset"}},
					PerProtocol: map[string]int64{http1: 90},
					Settled:     settled{PerEngine: map[string]int64{"engine-1": 9}}}}
		}, []string{"1 requests failed while 4 engines were to serve: reset 1",
			"1 engines answered where 4 were to serve",
			"no request of HTTP/2 was answered while 4 engines were to serve"}},
		{func(f *figures) {
			f.resumed = 1
		}, []string{afresh + "1 sessions were resumed: not every handshake was a full one"}},
	} {
		f := good()
		c.spoil(&f)
		if got := f.shortfall(); !slices.Equal(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestDrawsHowTransactionsSpread(t *testing.T) {
	const want = "" +
		"  127.0.0.1:1               5   33.3 %  █████████████\n" +
		"  127.0.0.1:2               4   26.7 %  ███████████\n" +
		"  127.0.0.1:3               6   40.0 %  ████████████████\n"
	if got := shares(good().PerServer); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestNamesTheCausesOfErrors(t *testing.T) {
	if got := causes(map[string]int64{"timeout": 1, "connect": 2, "tls": 0}); got != "connect 2, timeout 1" {
		t.Errorf("got %q", got)
	}
	if got := causes(nil); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestDrawsHowEachPhaseSpread(t *testing.T) {
	got := spreads([]phase{{Engines: 2, Requests: 40, Settled: settled{Seconds: 4, Requests: 20,
		PerEngine: map[string]int64{"engine-1": 10, "engine-2": 10}}}})
	want := "\n  Engines: 2; 40 requests, 0 failed; of these, 20 in the last 4 s, answered by\n" +
		"  engine-1                 10   50.0 %  ████████████████████\n" +
		"  engine-2                 10   50.0 %  ████████████████████\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTellsMeanwhileHowConnectionsSpread(t *testing.T) {
	for text, want := range map[string]string{
		`{"counters":{"per_second":{"requests":345.4}},"service_engine":[{"connections_percent":24},{"connections_percent":76},{}]}`: "345 requests/s: 24+76+0 %",
		`{"counters":{"per_second":{"requests":7}},"service_engine":[{"connections_percent":100}]}`:                                  "7 requests/s",
		`{}`: "0 requests/s",
	} {
		var now runtime
		if err := json.Unmarshal([]byte(text), &now); err != nil || now.progress() != want {
			t.Errorf("%s: got %q, %v", text, now.progress(), err)
		}
	}
}
