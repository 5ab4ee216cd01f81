package controller

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

func recordOfService(service, class string) wire.Row {
	return wire.Row{Time: time.Unix(1_795_000_000, 0), Type: query.Requests, Scope: "admin", Fields: []wire.Field{
		{Name: "virtualservice", Value: service}, {Name: "class", Value: class}, {Name: "response_code", Value: "503"},
		{Name: "significant_log", Value: "ADF_A ADF_B"}, {Name: "uri_path", Value: "/\x1b[2J"}}}
}

func TestRecordsGoWhereTheirProfileSays(t *testing.T) {
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	gate, objects := openGate(t)
	by := admit.Write{Who: admin(), Tenant: admit.Tenant{UUID: admit.AdminTenant}, Kind: kindNamed(profileKind)}
	_, port, _ := strings.Cut(packets.LocalAddr().String(), ":")
	sent, err := by.Kind.Decode(fmt.Appendf(nil,
		`{"name":"out","client_log_streaming_config":{"external_server":"127.0.0.1",
		"external_server_port":%s,"log_types_to_send":"LOGS_SIGNIFICANT_ONLY","max_logs_per_second":3,
		"format_config":{"format":"LOG_STREAMING_FORMAT_JSON_SELECTED",
		"included_fields":["response_code","significant_log","adf","uri_path"]}}}`, port))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gate.Create(t.Context(), by, sent, "analyticsprofile-1"); err != nil {
		t.Fatal(err)
	}
	by.Kind = kindNamed(serviceKind)
	for n, profile := range []string{"analyticsprofile-1", ""} {
		service := schema.Object{"name": fmt.Sprint("vs", n), "services": []any{schema.Object{"port": int64(80 + n)}},
			"vip": []any{schema.Object{"vip_id": "1", "ip_address": schema.Object{"addr": "192.0.2.1", "type": "V4"}}}}
		if profile != "" {
			service["analytics_profile_ref"] = "/api/analyticsprofile/" + profile
		}
		if _, err := gate.Create(t.Context(), by, service, fmt.Sprint("virtualservice-", n)); err != nil {
			t.Fatal(err)
		}
	}
	streams := newProfileStreams(objects, &net.Dialer{}, Config{Log: slog.New(slog.DiscardHandler)},
		func(_, _, _ string) {})
	streams.follow(objects.View())
	streams.add(recordOfService("virtualservice-1", query.Significant))
	streams.add(recordOfService("virtualservice-0", query.Every))
	streams.add(recordOfService("virtualservice-0", query.Significant))
	text := make([]byte, 4096)
	size, _, err := packets.ReadFrom(text)
	var got map[string]any
	if err != nil || json.Unmarshal(text[:size], &got) != nil || len(got) != 4 || got["response_code"] != 503.0 ||
		got["adf"] != true || fmt.Sprint(got["significant_log"]) != "[ADF_A ADF_B]" || got["uri_path"] != "/\x1b[2J" {
		t.Errorf("%v: %q", err, text[:size])
	}
	for range 10 {
		streams.add(recordOfService("virtualservice-0", query.Significant))
	}
	streams.streams.Stop()
	streams.add(recordOfService("virtualservice-0", query.Significant))
	came := 1
	_ = packets.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	for ; ; came++ {
		if _, _, err := packets.ReadFrom(text); err != nil {
			break
		}
	}
	if came < 3 || came > 6 { // at most three in each of two seconds
		t.Errorf("%d records came", came)
	}
}

func TestStreamsThatCouldNotWorkAreRefused(t *testing.T) {
	gate, _ := openGate(t)
	config := Config{Records: RecordStore{Program: "weir"}}
	gate.Check(profileKind, checkStreaming(config))
	by := admit.Write{Who: admin(), Tenant: admit.Tenant{UUID: admit.AdminTenant}, Kind: kindNamed(profileKind)}
	for text, want := range map[string]string{
		`{"external_server":"logs.example"}`: "",
		`{}`:                                 "external_server",
		`{"external_server":"a,b"}`:          "one server",
		`{"external_server":"a","marker_keys":[{"key":"x"}]}`:                                                             "marker_keys",
		`{"external_server":"a","protocol":"LOG_STREAMING_PROTOCOL_SMOKE"}`:                                               "SMOKE",
		`{"external_server":"a","format_config":{"format":"LOG_STREAMING_FORMAT_JSON_SELECTED"}}`:                         "included_fields: is required",
		`{"external_server":"a","format_config":{"format":"LOG_STREAMING_FORMAT_JSON_SELECTED","included_fields":["x"]}}`: "is no field of a record",
	} {
		sent, err := by.Kind.Decode([]byte(`{"name":"out","client_log_streaming_config":` + text + `}`))
		if err == nil {
			_, err = gate.Create(t.Context(), by, sent, "")
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestProtocolsAndTypesOfStreamsAreThoseOfAvi(t *testing.T) {
	for protocol, want := range map[string]string{
		"LOG_STREAMING_PROTOCOL_UDP": "udp false", "LOG_STREAMING_PROTOCOL_RAW_OVER_UDP": "udp false",
		"LOG_STREAMING_PROTOCOL_SYSLOG_OVER_UDP": "udp true", "LOG_STREAMING_PROTOCOL_TCP": "tcp false",
		"LOG_STREAMING_PROTOCOL_SYSLOG_OVER_TCP": "tcp true", "LOG_STREAMING_PROTOCOL_TLS": "tls false",
		"LOG_STREAMING_PROTOCOL_SYSLOG_OVER_TLS": "tls true",
	} {
		to := profileOf("p", &kinds.ClientLogStreamingConfig{Protocol: protocol, LogTypes: "LOGS_ALL"})
		if got := fmt.Sprint(to.Carrier, " ", to.Form.Syslog != nil); got != want {
			t.Errorf("%s: %s", protocol, got)
		}
	}
	for types, want := range map[string]string{"LOGS_ALL": "true true true", "LOGS_UDF_ONLY": "false true false",
		"LOGS_SIGNIFICANT_ONLY": "true false false", "LOGS_UDF_SIGNIFICANT": "true true false"} {
		to := profileOf("p", &kinds.ClientLogStreamingConfig{LogTypes: types})
		if got := fmt.Sprint(to.Significant, to.Filtered, to.Others); got != want {
			t.Errorf("%s: %s", types, got)
		}
	}
}
