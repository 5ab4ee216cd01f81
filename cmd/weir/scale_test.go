package main

import (
	"maps"
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

func TestOrderNamesAnEngineWhateverItIsCalled(t *testing.T) {
	order := client.Object{}
	refer(order, "to_se_ref", "serviceengine", "a+b&c")
	refer(order, "from_se_ref", "serviceengine", "")
	if want := (client.Object{"to_se_ref": "/api/serviceengine?name=a%2Bb%26c"}); !maps.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
}

func TestTimesOfEventsStandInAColumn(t *testing.T) {
	for moment, want := range map[string]string{
		"2026-11-21T14:29:15.45203426Z": "2026-11-21T14:29:15.452Z", "2026-11-21T14:29:15Z": "2026-11-21T14:29:15.000Z", "": "",
	} {
		if got := toMillis(moment); got != want {
			t.Errorf("%q: got %q", moment, got)
		}
	}
}
