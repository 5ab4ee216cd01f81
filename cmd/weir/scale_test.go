package main

import (
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

func TestEnginesOfAVirtualServiceAreListedWithRoleStateAndShare(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	object := client.Object{"runtime": map[string]any{"service_engine": []any{
		map[string]any{
			"name": "engine-1", "role": "primary", "state": "serving", "since": "2026-11-20T11:00:00Z", "connections_percent": 67.0,
			"oper_status": map[string]any{"state": "OPER_UP"},
		},
		map[string]any{
			"name": "engine-2", "role": "secondary", "state": "draining", "since": "2026-11-20T11:59:50Z",
			"oper_status": map[string]any{"state": "OPER_DOWN"},
		},
	}}}
	var out strings.Builder
	if err := enginesOf(object, now).print(&out); err != nil {
		t.Fatal(err)
	}
	want := "" +
		"ENGINE     ROLE        STATE      SINCE   CONNECTIONS   UP\n" +
		"engine-1   primary     serving    1h0m    67 %          yes\n" +
		"engine-2   secondary   draining   10s     -             no\n"
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}
