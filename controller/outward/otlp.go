package outward

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	logscollector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	logtext "github.com/weir-lb/weir/logs/text"
	"github.com/weir-lb/weir/logs/wire"
)

// otlp sends rows as logs or spans of OpenTelemetry, over HTTP with protobuf.
type otlp struct {
	client *http.Client
	url    string
	host   string
	signal signal
}

// signal is what rows become.
type signal struct {
	path     string // where collectors take it, unless the URL says otherwise
	export   func(rows []wire.Row, host string) proto.Message
	rejected func(answer []byte) (records int64, err error)
}

var asLogs = signal{"/v1/logs", export, func(answer []byte) (int64, error) {
	var said logscollector.ExportLogsServiceResponse
	err := proto.Unmarshal(answer, &said)
	return said.GetPartialSuccess().GetRejectedLogRecords(), err
}}

// answerMost is how much of an answer is read.
const answerMost = 64 << 10

func (o *otlp) Close() error {
	o.client.CloseIdleConnections()
	return nil
}

// send returns how many rows the collector did not take.
func (o *otlp) send(ctx context.Context, rows []wire.Row) (skipped int, err error) {
	body, err := proto.Marshal(o.signal.export(rows, o.host))
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	answer, err := o.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, answerMost))
	if err != nil {
		return 0, err
	}
	switch {
	case answer.StatusCode/100 == 2:
		rejected, err := o.signal.rejected(text)
		if err != nil {
			return 0, nil // such as JSON from a receiver that is none of the standard's: it has the rows
		}
		return int(max(0, min(rejected, int64(len(rows))))), nil
	case answer.StatusCode == http.StatusBadRequest: // never to be sent again (OTLP/HTTP, failures)
		return len(rows), nil
	}
	return 0, errors.New(answer.Status)
}

func export(rows []wire.Row, host string) proto.Message {
	records := make([]*logs.LogRecord, len(rows))
	for i, row := range rows {
		records[i] = record(row)
	}
	return &logscollector.ExportLogsServiceRequest{ResourceLogs: []*logs.ResourceLogs{{
		Resource: &resource.Resource{Attributes: []*common.KeyValue{text("service.name", "weir"),
			text("host.name", host)}},
		ScopeLogs: []*logs.ScopeLogs{{Scope: &common.InstrumentationScope{Name: "weir"}, LogRecords: records}},
	}}}
}

// Severities of OpenTelemetry, by those of syslog.
var severities = map[int]logs.SeverityNumber{
	severityError: logs.SeverityNumber_SEVERITY_NUMBER_ERROR, severityWarning: logs.SeverityNumber_SEVERITY_NUMBER_WARN,
	severityNotice: logs.SeverityNumber_SEVERITY_NUMBER_INFO2, severityInfo: logs.SeverityNumber_SEVERITY_NUMBER_INFO,
}

func record(row wire.Row) *logs.LogRecord {
	number := severities[severity(row)]
	made := &logs.LogRecord{
		TimeUnixNano: uint64(row.Time.UnixNano()), ObservedTimeUnixNano: uint64(row.Time.UnixNano()),
		SeverityNumber: number,
		SeverityText:   strings.TrimPrefix(number.String(), "SEVERITY_NUMBER_"),
		EventName:      "weir." + valid(row.Type),
		Body:           &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: said(row)}},
	}
	if row.Scope != wire.Everyone {
		made.Attributes = append(made.Attributes, text("scope", row.Scope))
	}
	for _, field := range row.Fields {
		made.Attributes = append(made.Attributes, text(field.Name, field.Value))
	}
	return made
}

// saidMost is the number of fields that say what a row is about.
const saidMost = 6

// said is a row in words.
func said(row wire.Row) string {
	if description := field(row, "event_description"); description != "" {
		return valid(field(row, "obj_name") + ": " + description)
	}
	if method := field(row, "method"); method != "" {
		return valid(fmt.Sprintf("%s %s %s", method, field(row, "uri_path"), field(row, "response_code")))
	}
	words := []string{row.Type + ":"} // of an audit entry: who, from where, did what
	for _, field := range row.Fields[:min(len(row.Fields), saidMost)] {
		words = append(words, field.Value)
	}
	return valid(cut(strings.Join(words, " "), 1024))
}

func text(name, value string) *common.KeyValue {
	return &common.KeyValue{Key: valid(name), Value: &common.AnyValue{
		Value: &common.AnyValue_StringValue{StringValue: valid(value)}}}
}

// valid is what protobuf takes for a string.
func valid(value string) string { return logtext.Encode(value) }
