package intake

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/api/record"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"

	"github.com/klauspost/compress/zstd"
)

// book plays the objects of a controller.
type book struct{}

func (book) Service(uuid string) Service {
	if uuid != "virtualservice-1" {
		return Service{}
	}
	return Service{Name: "shop", Tenant: "tenant-1", Filters: []string{"slow pages", "my address"}}
}
func (book) Pool(uuid string) string { return map[string]string{"pool-1": "shop-pool"}[uuid] }
func (book) Server(_, id string) string {
	return map[string]string{"10.0.0.7:8080": "web-7.example"}[id]
}
func (book) Engine(uuid string) string { return map[string]string{"se-1": "engine-1"}[uuid] }

var ended = time.Date(2026, 11, 22, 4, 0, 0, 123456000, time.UTC)

// request has a value in each field that a request can have.
func request() record.Record {
	r := record.Record{
		Kind: record.Request, Class: record.Significant, Method: 3, HTTP: 20, ServersTried: 2, Weight: 7,
		Flags: (record.PathCut | record.ServerReused | record.TLS | record.Resumed | record.Traced |
			record.GRPC | record.CacheHit).WithCompression(record.Compressed),
		Sequence: 42, End: ended, Reasons: record.ReasonOf("ADF_RESPONSE_CODE_5XX") | record.ReasonOf(
			"REQUEST_RETRIED"),
		Service: 3, Server: 5, Client: netip.MustParseAddrPort("192.0.2.7:40001"),
		Source: netip.MustParseAddr("198.51.100.1"), VIP: netip.MustParseAddrPort("203.0.113.9:443"),
		ServerLocal: netip.MustParseAddrPort("10.0.0.1:50002"), Status: 502, ServerStatus: 500, GRPCStatus: 15,
		Cause: 26, Filters: 0b11,
		TLSVersion: 0x0304, Suite: 0x1302, Group: 29, RequestBytes: 1001, ResponseBytes: 2002,
		ServerResponseBytes: 3003,
		Wait:                1499 * time.Microsecond, App: 2500 * time.Microsecond, Transfer: 3 * time.Millisecond,
		Total: 8 * time.Millisecond, ClientRTT: 15 * time.Millisecond, ClientRTTAge: 2 * time.Second,
		ServerRTT: 499 * time.Microsecond, Connect: 700 * time.Microsecond, Trace: [16]byte{1}, Span: [8]byte{2},
	}
	for text, value := range map[record.Text]string{
		record.Host: "shop.example", record.Path: "/a\x1b[31m\u202e\x00\xff", record.Query: "q=<script>",
		record.UserAgent: "Mozilla/5.0 (iPhone; CPU) CriOS/1 Mobile", record.Referer: "=cmd()",
		record.ForwardedFor: "10.1.1.1",
		record.ServerName:   "shop.example", record.RequestHeaders: "A: b\r\n", record.ResponseHeaders: "C: d\r\n",
		record.ContentType: "text/html",
	} {
		r.Texts[text] = []byte(value)
	}
	return r
}

func refused() record.Record {
	r := record.Record{
		Kind: record.Connection, Class: record.Filtered, Weight: 1, End: ended, Server: record.None, Service: 3,
		Client: netip.MustParseAddrPort("[2001:db8::1]:1"), Source: netip.MustParseAddr("2001:db8::1"),
		VIP: netip.MustParseAddrPort("[2001:db8::2]:443"), Cause: 1, Alert: 41, Total: 20 * time.Millisecond,
		RequestBytes: 100, ResponseBytes: 7,
	}
	r.Texts[record.OfferedSuites] = []byte{0x13, 0x01, 0xc0, 0x2f}
	return r
}

func batchOf(records ...record.Record) *enginev1.RecordBatch {
	var packed []byte
	for _, one := range records {
		packed = record.Append(packed, one)
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return &enginev1.RecordBatch{
		Epoch: 1, Worker: 4, Number: 9, Process: 1_795_000_000_000_000_000,
		Services: []*dataplanev1.RecordedService{{Number: 3, Uuid: "virtualservice-1"}},
		Servers:  []*dataplanev1.RecordedServer{{Number: 5, PoolUuid: "pool-1", ServerId: "10.0.0.7:8080"}},
		Parts: []*enginev1.RecordPart{{Class: 1, Zstd: encoder.EncodeAll(packed, nil),
			PackedBytes: uint32(len(packed))}},
	}
}

func unpack(t *testing.T, batch *enginev1.RecordBatch) []wire.Row {
	t.Helper()
	unpacker, err := newUnpacker(book{}, func() time.Time { return ended })
	if err != nil {
		t.Fatal(err)
	}
	rows, err := unpacker.rows("se-1", batch)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func said(rows []wire.Row) string {
	var text strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&text, "%s of %s at %s\n", row.Type, row.Scope, row.Time.Format(time.RFC3339Nano))
		for _, field := range row.Fields {
			fmt.Fprintf(&text, "  %s = %q\n", field.Name, field.Value)
		}
	}
	return text.String()
}

func TestServerHasThePortOfTheListenerWhereItsPoolSaysSo(t *testing.T) {
	batch := batchOf(request())
	batch.Servers[0].AtServicePort = true
	text := said(unpack(t, batch))
	for _, want := range []string{`server_ip = "10.0.0.7"`, `server_dest_port = "443"`, `client_dest_port = "443"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

func TestARecordBecomesARowWithAvisNames(t *testing.T) {
	lost := batchOf()
	lost.Parts = []*enginev1.RecordPart{{Class: 3, Lost: "no room", Tallies: []*enginev1.RecordTally{{
		VirtualServiceUuid: "virtualservice-gone", Kind: 1, Records: 5, Weight: 50,
		LastUnixUs: uint64(ended.UnixMicro())}}}}
	rows := append(unpack(t, batchOf(request(), refused())), unpack(t, lost)...)
	const golden = "testdata/rows.txt"
	if os.Getenv("WEIR_GEN") == "write" {
		if err := os.WriteFile(golden, []byte(said(rows)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := said(rows); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, row := range rows {
		checkFields(t, row)
	}
}

func TestARecordNamesTheRulesThatActed(t *testing.T) {
	rules := "\x01\x06let in\x04\x01a\x04\x03b c\x84\x00\x05\x01d"
	ruled := func(r record.Record, first, said string) record.Record {
		place := string(rune(len(first))) + first + string(rune(len(rules))) + "\x00" + rules + said
		r.Texts[record.ClientSpan] = []byte(place)
		return r
	}
	full, bare := request(), refused()
	full.Flags |= record.Ruled | record.Admitted | record.Scripted | record.OwnSpan
	bare.Flags |= record.Admitted | record.Logged
	rows := unpack(t, batchOf(ruled(full, "8 bytes.", "hello"), ruled(bare, "\x13\x01", "")))
	for at, want := range []map[string]string{
		{"network_security_policy_rule_name": "let in", "http_request_policy_rule_name": "a, b c",
			"http_response_policy_rule_name": "d", "http_security_policy_rule_name": "", "datascript_log": "hello",
			"cut": "uri_path http_request_policy_rule_name", "span_id": "382062797465732e"},
		{"network_security_policy_rule_name": "let in", "udf": "true", "client_cipher_list": "TLS_AES_128_GCM_SHA256"},
	} {
		for field, value := range want {
			if got := valueOf(rows[at], field); got != value {
				t.Errorf("%s is %q, want %q", field, got, value)
			}
		}
	}
	checkFields(t, rows[0])
}

// checkFields fails if the store would refuse a row.
func checkFields(t *testing.T, row wire.Row) {
	t.Helper()
	seen := map[string]bool{}
	for _, field := range row.Fields {
		if _, known := query.Types[row.Type][field.Name]; !known || seen[field.Name] {
			t.Errorf("field %s of %s is not known, or there twice", field.Name, row.Type)
		}
		seen[field.Name] = true
	}
	if err := row.Check(); err != nil {
		t.Error(err)
	}
}

func TestAnEngineCannotWriteInTheNameOfAnother(t *testing.T) {
	for _, row := range unpack(t, batchOf(request())) {
		for _, field := range row.Fields {
			if field.Name == "service_engine_uuid" && field.Value != "se-1" {
				t.Errorf("engine is %s", field.Value)
			}
			if field.Name == "request_id" && !strings.HasPrefix(field.Value, "se-1-4-") {
				t.Errorf("request is %s", field.Value)
			}
		}
	}
}

func TestTheClockOfAnEngineThatIsFarAheadDoesNotCount(t *testing.T) {
	r := request()
	r.End = ended.Add(2 * time.Hour)
	if rows := unpack(t, batchOf(r)); !rows[0].Time.Equal(ended) {
		t.Errorf("time is %v", rows[0].Time)
	}
}

func TestBrokenBatchesAreRefused(t *testing.T) {
	bomb := batchOf()
	encoder, _ := zstd.NewWriter(nil)
	bomb.Parts[0].Zstd = encoder.EncodeAll(make([]byte, packedBytesMax+1), nil)
	none := batchOf()
	none.Parts[0].Zstd = []byte("no zstd")
	short := batchOf()
	short.Parts[0].Zstd = encoder.EncodeAll(make([]byte, 100), nil)
	unpacker, _ := newUnpacker(book{}, time.Now)
	for name, batch := range map[string]*enginev1.RecordBatch{"bomb": bomb, "no zstd": none, "no record": short} {
		if rows, err := unpacker.rows("se-1", batch); err == nil {
			t.Errorf("%s: %d rows", name, len(rows))
		}
	}
}

func TestReadsUserAgents(t *testing.T) {
	for agent, want := range map[string]string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/126.0 Safari/537.36 Edg/126.0": "Edge Windows Computer",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/17.5 Safari/605.1.15": "Safari macOS Computer",
		"Mozilla/5.0 (compatible; Googlebot/2.1)":                                                           "Bot  Bot",
		"curl/8.5.0": "curl  ",
		"Mozilla/5.0 (X11; Linux x86_64) Firefox/127.0": "Firefox Linux Computer",
		"": "  ",
	} {
		browser, system, device := readUserAgent(agent)
		if got := browser + " " + system + " " + device; got != want {
			t.Errorf("%s: %q, want %q", agent, got, want)
		}
	}
}

func TestTraceShowsTheSpansOfClientAndEngine(t *testing.T) {
	r := record.Record{Kind: record.Request, Flags: record.Traced | record.Sampled,
		Trace: [16]byte{1}, Span: [8]byte{2}}
	of := func(name string) string {
		for _, field := range rowOf(r, from{}).Fields {
			if field.Name == name {
				return field.Value
			}
		}
		return ""
	}
	if of("span_id") != "0200000000000000" || of("weir_span_id") != "" || of("trace_sampled") != query.True {
		t.Errorf("passed on: %q, %q", of("span_id"), of("weir_span_id"))
	}
	r.Flags |= record.OwnSpan
	if of("span_id") != "" || of("weir_span_id") != "0200000000000000" {
		t.Errorf("begun: %q, %q", of("span_id"), of("weir_span_id"))
	}
	r.Texts[record.ClientSpan] = []byte{3, 0, 0, 0, 0, 0, 0, 9}
	if of("span_id") != "0300000000000009" || of("weir_span_id") != "0200000000000000" ||
		of("client_cipher_list") != "" {
		t.Errorf("gone on: %q, %q, %q", of("span_id"), of("weir_span_id"), of("client_cipher_list"))
	}
}
