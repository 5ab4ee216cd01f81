package outward

import (
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	tracecollector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/weir-lb/weir/logs/wire"
)

// traced is a record of a request with a span. more: "name=value".
func traced(more ...string) wire.Row {
	row := wire.Row{Time: time.Date(2026, 11, 20, 12, 0, 1, 0, time.UTC), Type: "requests", Scope: "admin"}
	for _, field := range append([]string{"trace_id=0af7651916cd43dd8448eb211c80319c", "weir_span_id=1122334455667788",
		"trace_sampled=true", "method=GET", "host=shop.example:8443", "uri_path=/pay", "service_engine_uuid=se-1",
		"client_ip=192.0.2.7", "ssl_version=TLSv1.3", "http_version=2.0", "total_time_us=100000", "wait_us=20000",
		"response_code=200"}, more...) {
		name, value, _ := strings.Cut(field, "=")
		row.Fields = append(row.Fields, wire.Field{Name: name, Value: value})
	}
	return row
}

func attribute(span *trace.Span, name string) string {
	for _, one := range span.GetAttributes() {
		if one.GetKey() == name {
			return strings.Trim(strings.SplitN(one.GetValue().String(), ":", 2)[1], `"`)
		}
	}
	return ""
}

func TestCollectorGetsTheSpansOfSampledRequests(t *testing.T) {
	got := make(chan *tracecollector.ExportTraceServiceRequest, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request := &tracecollector.ExportTraceServiceRequest{}
		if err := proto.Unmarshal(body, request); err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		got <- request
	}))
	defer server.Close()
	streams, _, stop := begin(t, `stream = [{name = "a", url = "otlp+`+server.URL+
		`", rows = ["spans"]}]`, &net.Dialer{})
	unsampled, passing := traced(), traced()
	unsampled.Fields[2].Value, passing.Fields[1].Value = "", ""
	connection := traced()
	connection.Type = "connections"
	for _, row := range []wire.Row{unsampled, passing, connection, event(1)} {
		streams.Add(row)
	}
	streams.Add(traced("span_id=b7ad6b7169203331", "server_ip=10.0.0.7", "server_name=web-7", "server_dest_port=8080",
		"server_response_code=404", "servers_tried=3", "pool_name=pool"))
	all := (<-got).GetResourceSpans()
	stop()
	spans := all[0].GetScopeSpans()[0].GetSpans()
	if count := streams.Counts()[0]; len(all) != 1 || len(spans) != 2 || count.Sent != 1 || count.Dropped != 0 {
		t.Fatalf("%d engines, %d spans, %+v", len(all), len(spans), count)
	}
	served, asked := spans[0], spans[1]
	if hex.EncodeToString(asked.GetSpanId()) != "1122334455667788" ||
		string(asked.GetParentSpanId()) != string(served.GetSpanId()) ||
		hex.EncodeToString(served.GetParentSpanId()) != "b7ad6b7169203331" ||
		string(served.GetSpanId()) == string(asked.GetSpanId()) || len(served.GetSpanId()) != 8 ||
		hex.EncodeToString(served.GetTraceId()) != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("ids are %v and %v", served, asked)
	}
	end := uint64(time.Date(2026, 11, 20, 12, 0, 1, 0, time.UTC).UnixNano())
	if served.GetStartTimeUnixNano() != end-100e6 || served.GetEndTimeUnixNano() != end ||
		asked.GetStartTimeUnixNano() != end-80e6 {
		t.Errorf("times are %v and %v", served, asked)
	}
	for name, want := range map[string]string{"http.request.method": "GET", "url.scheme": "https", "url.path": "/pay",
		"server.address": "shop.example", "network.protocol.version": "2", "tls.protocol.version": "1.3",
		"http.response.status_code": "200", "error.type": ""} {
		if got := attribute(served, name); got != want {
			t.Errorf("%s of the first is %q", name, got)
		}
	}
	for name, want := range map[string]string{"server.address": "web-7", "server.port": "8080",
		"http.response.status_code": "404", "http.request.resend_count": "2", "error.type": "404"} {
		if got := attribute(asked, name); got != want {
			t.Errorf("%s of the second is %q", name, got)
		}
	}
	if served.GetStatus().GetCode() != trace.Status_STATUS_CODE_UNSET ||
		asked.GetStatus().GetCode() != trace.Status_STATUS_CODE_ERROR ||
		served.GetKind() != trace.Span_SPAN_KIND_SERVER || asked.GetKind() != trace.Span_SPAN_KIND_CLIENT {
		t.Errorf("kinds and states are %v and %v", served, asked)
	}
}

func TestSpanOfARequestWithoutServerStandsAlone(t *testing.T) {
	spans := spansOf(traced("request_state=no_server"))
	if len(spans) != 1 || len(spans[0].GetParentSpanId()) > 0 {
		t.Errorf("got %v", spans)
	}
	broken := traced()
	broken.Fields[12].Value = "0"
	if status := spansOf(broken)[0].GetStatus(); status.GetCode() != trace.Status_STATUS_CODE_ERROR {
		t.Errorf("nothing was answered: %v", status)
	}
}

func TestSpansHaveStreamsOfTheirOwn(t *testing.T) {
	for text, want := range map[string]string{
		`url = "otlp+http://h:1", rows = ["spans"]`:             "",
		`url = "otlp+http://h:1", rows = ["spans", "requests"]`: "a stream of their own",
		`url = "otlp+http://h:1", rows = ["requests", "spans"]`: "a stream of their own",
		`url = "json+tcp://h:1", rows = ["spans"]`:              "spans go to otlp+http",
	} {
		_, err := parse(`stream = [{name = "a", ` + text + `}]`)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
