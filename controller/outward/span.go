package outward

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	tracecollector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

var asSpans = signal{"/v1/traces", exportSpans, func(answer []byte) (int64, error) {
	var said tracecollector.ExportTraceServiceResponse
	err := proto.Unmarshal(answer, &said)
	return said.GetPartialSuccess().GetRejectedSpans(), err
}}

// hasSpan tells whether a row is of a request that the engine gave a span, in a trace that is sampled.
func hasSpan(row wire.Row) bool {
	return row.Type == query.Requests && field(row, "trace_sampled") == query.True && field(row, "weir_span_id") != ""
}

// exportSpans makes spans of rows, by engine.
func exportSpans(rows []wire.Row, _ string) proto.Message {
	request := &tracecollector.ExportTraceServiceRequest{}
	byEngine := map[string]*trace.ScopeSpans{}
	for _, row := range rows {
		engine := field(row, "service_engine_uuid")
		to := byEngine[engine]
		if to == nil {
			to = &trace.ScopeSpans{Scope: &common.InstrumentationScope{Name: "weir"}}
			byEngine[engine] = to
			request.ResourceSpans = append(request.ResourceSpans, &trace.ResourceSpans{
				Resource: &resource.Resource{Attributes: []*common.KeyValue{text("service.name", "weir"),
					text("service.instance.id", engine), text("weir.engine", field(row, "service_engine"))}},
				ScopeSpans: []*trace.ScopeSpans{to},
			})
		}
		to.Spans = append(to.Spans, spansOf(row)...)
	}
	return request
}

// Flags of a span: whether its parent is of another process (opentelemetry-proto, SpanFlags).
const (
	sampledFlag  = 1
	localParent  = 0x100
	remoteParent = 0x300
)

// spansOf are the two spans of a request: that of the client's request, and below it that of the request to the server,
// which the server knows as its parent. Without a server there is only the first.
func spansOf(row wire.Row) []*trace.Span {
	end := row.Time
	begin := end.Add(-micros(row, "total_time_us"))
	toServer := bytesOf(field(row, "weir_span_id"))
	served := &trace.Span{
		TraceId: bytesOf(field(row, "trace_id")), SpanId: above(toServer), ParentSpanId: bytesOf(field(row, "span_id")),
		Flags: sampledFlag | remoteParent, Name: valid(field(row, "method")), Kind: trace.Span_SPAN_KIND_SERVER,
		StartTimeUnixNano: uint64(begin.UnixNano()), EndTimeUnixNano: uint64(end.UnixNano()),
		Attributes: servedAttributes(row), Status: statusOf(row, "response_code", 500),
	}
	if field(row, "server_ip") == "" {
		return []*trace.Span{served}
	}
	return []*trace.Span{served, {
		TraceId: served.TraceId, SpanId: toServer, ParentSpanId: served.SpanId,
		Flags: sampledFlag | localParent, Name: served.Name, Kind: trace.Span_SPAN_KIND_CLIENT,
		StartTimeUnixNano: uint64(begin.Add(micros(row, "wait_us")).UnixNano()),
		EndTimeUnixNano:   served.EndTimeUnixNano,
		Attributes:        askedAttributes(row), Status: statusOf(row, "server_response_code", 400),
	}}
}

// above is the span of the client's request: the data plane draws one number for both.
func above(span []byte) []byte {
	if len(span) == 0 {
		return nil
	}
	other := append([]byte(nil), span...)
	other[0] ^= 0x80
	return other
}

func bytesOf(text string) []byte {
	bytes, err := hex.DecodeString(text)
	if err != nil {
		return nil
	}
	return bytes
}

func micros(row wire.Row, name string) time.Duration {
	value, _ := strconv.ParseInt(field(row, name), 10, 64)
	return time.Duration(max(0, value)) * time.Microsecond
}

// statusOf says whether a span failed, as the conventions for HTTP have it: a server's with 5xx, a client's with 4xx.
func statusOf(row wire.Row, name string, from int) *trace.Status {
	state := field(row, "request_state")
	if status, _ := strconv.Atoi(field(row, name)); status >= from || status == 0 {
		return &trace.Status{Code: trace.Status_STATUS_CODE_ERROR, Message: valid(state)}
	}
	return &trace.Status{}
}

// attributes are those of OpenTelemetry's conventions for HTTP. Empty ones are left out.
type attributes []*common.KeyValue

func (a *attributes) text(name, value string) {
	if value != "" {
		*a = append(*a, text(name, value))
	}
}

func (a *attributes) number(name, value string) {
	if number, err := strconv.ParseInt(value, 10, 64); err == nil && number > 0 {
		*a = append(*a, &common.KeyValue{Key: name,
			Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: number}}})
	}
}

// failed names the error of a span with such a status.
func (a *attributes) failed(row wire.Row, status *trace.Status, name string) {
	if status.GetCode() != trace.Status_STATUS_CODE_ERROR {
		return
	}
	kind := field(row, "request_state")
	if kind == "" {
		kind = field(row, name)
	}
	a.text("error.type", kind)
}

func servedAttributes(row wire.Row) (a attributes) {
	host, port := field(row, "host"), field(row, "client_dest_port")
	if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') {
		host = host[:at]
	}
	peer := field(row, "source_ip")
	if peer == "" {
		peer = field(row, "client_ip")
	}
	scheme := "http"
	if field(row, "ssl_version") != "" {
		scheme = "https"
		a.text("tls.protocol.version", strings.TrimPrefix(field(row, "ssl_version"), "TLSv"))
	}
	a.text("http.request.method", field(row, "method"))
	a.text("url.scheme", scheme)
	a.text("url.path", field(row, "uri_path"))
	a.text("url.query", field(row, "uri_query"))
	a.text("server.address", host)
	a.number("server.port", port)
	a.text("client.address", field(row, "client_ip"))
	a.text("network.peer.address", peer)
	a.text("network.protocol.version", strings.Replace(field(row, "http_version"), "2.0", "2", 1))
	a.text("user_agent.original", field(row, "user_agent"))
	a.number("http.response.status_code", field(row, "response_code"))
	a.number("http.request.size", field(row, "request_length"))
	a.number("http.response.size", field(row, "response_length"))
	a.text("weir.virtualservice", field(row, "vs_name"))
	a.text("weir.request_id", field(row, "request_id"))
	a.text("weir.significant", field(row, "significant_log"))
	a.failed(row, statusOf(row, "response_code", 500), "response_code")
	return a
}

func askedAttributes(row wire.Row) (a attributes) {
	a.text("http.request.method", field(row, "method"))
	a.text("server.address", field(row, "server_name"))
	a.number("server.port", field(row, "server_dest_port"))
	a.text("network.peer.address", field(row, "server_ip"))
	a.number("network.peer.port", field(row, "server_dest_port"))
	a.text("url.path", field(row, "uri_path"))
	a.number("http.response.status_code", field(row, "server_response_code"))
	if tried, err := strconv.Atoi(field(row, "servers_tried")); err == nil {
		a.number("http.request.resend_count", strconv.Itoa(tried-1))
	}
	a.text("weir.pool", field(row, "pool_name"))
	a.failed(row, statusOf(row, "server_response_code", 400), "server_response_code")
	return a
}
