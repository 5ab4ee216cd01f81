package outward

import (
	"encoding/json"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/syslog"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

func TestProfileHasRecordsWrittenAsAviDoes(t *testing.T) {
	row := wire.Row{Time: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Type: query.Requests, Scope: "admin",
		Fields: []wire.Field{{Name: "class", Value: query.Filtered}, {Name: "response_code", Value: "200"},
			{Name: "udf", Value: query.True}, {Name: "total_time", Value: "NaN"}, {Name: "uri_path", Value: hostile},
			{Name: "user_agent", Value: strings.Repeat("é", 40_000)}}}
	form := Form{Syslog: &SyslogForm{Facility: 3, Significant: 1, Filtered: 5, Others: 7, Host: "h", Kind: "vs"}}
	for _, most := range []int{syslog.DatagramMost, frameMost} {
		text := string(form.encode(row, most))
		head, body, _ := strings.Cut(text, "\xef\xbb\xbf")
		if head != "<29>1 2026-11-20T12:00:00.000000Z h weir - vs - " || len(text) > most ||
			strings.ContainsAny(text, "\x00\n\x1b") {
			t.Errorf("the head is %q, %d bytes", head, len(text))
		}
		var read map[string]any
		if err := json.Unmarshal([]byte(body), &read); err != nil || read["response_code"] != 200.0 ||
			read["udf"] != true || read["adf"] != false || read["total_time"] != "NaN" ||
			read["report_timestamp"] != "2026-11-20T12:00:00.000000+00:00" {
			t.Errorf("%v: %v", err, read)
		}
	}
	if text := (&Form{Fields: []string{"class"}}).encode(row, syslog.DatagramMost); string(
		text) != `{"class":"filtered"}` {
		t.Errorf("selected is %s", text)
	}
	if text := form.encode(row, 100); text != nil {
		t.Errorf("there is no room for %s", text)
	}
}

func TestStreamsOfProfilesComeAndGo(t *testing.T) {
	p := NewProfiles(Outside{Log: slog.New(slog.DiscardHandler), Dialer: &net.Dialer{}}, func(_, _, _ string) {})
	defer p.Stop()
	one := Profile{Name: "a", Server: "192.0.2.1", Port: 1, Carrier: "tcp", Others: true}
	p.Follow(map[string]Profile{"1": one, "2": one})
	kept, ended := p.streams["1"], p.streams["2"]
	one.Port = 2
	p.Follow(map[string]Profile{"1": kept.profile, "2": one})
	if p.streams["1"] != kept || p.streams["2"] == ended {
		t.Error("what is the same goes on, and what has changed begins anew")
	}
	p.Follow(nil)
	if len(p.streams) > 0 {
		t.Errorf("there are %d", len(p.streams))
	}
	many := map[string]Profile{}
	for n := range ProfilesMost + 5 {
		many[strings.Repeat("x", n+1)] = one
	}
	p.Follow(many)
	if len(p.streams) != ProfilesMost {
		t.Errorf("there are %d", len(p.streams))
	}
}
