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
	object := client.Object{"name": "web", "runtime": map[string]any{"num_se_assigned": 2.0, "num_se_requested": 3.0,
		"applied": map[string]any{"text": "applied on 1 of 2 engines"},
		"last_scale_status": map[string]any{"state": "SCALEOUT_ERROR", "end_time_str": "2026-11-20T11:55:00Z",
			"reason": []any{"engine-3 did not serve it within 600 s"}},
		"oper_status": map[string]any{"state": "OPER_UP",
			"reason": []any{"it is on 2 of 3 engines: group g has no engine left"}},
		"service_engine": []any{
			map[string]any{
				"name": "engine-1", "role": "primary", "state": "serving", "since": "2026-11-20T11:00:00Z",
				"connections_percent": 67.0,
				"oper_status":         map[string]any{"state": "OPER_UP"},
			},
			map[string]any{
				"name": "engine-2", "role": "secondary", "state": "draining", "since": "2026-11-20T11:59:50Z",
				"oper_status": map[string]any{"state": "OPER_DOWN", "reason": []any{"is not connected: gone"}},
			},
		}}}
	var out strings.Builder
	if err := showEngines(&out, object, now); err != nil {
		t.Fatal(err)
	}
	want := "" +
		"ENGINE     ROLE        STATE      SINCE   CONNECTIONS   UP\n" +
		"engine-1   primary     serving    1h0m    67 %          yes\n" +
		"engine-2   secondary   draining   10s     -             no: is not connected: gone\n" +
		"\n2 of 3 engines, applied on 1 of 2 engines.\n" +
		"virtual service web: the last order failed 5m ago (SCALEOUT_ERROR): engine-3 did not serve it within 600 s\n" +
		"virtual service web: it is on 2 of 3 engines: group g has no engine left\n"
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}

func TestVirtualServiceIsShownWithItsEnginesInATable(t *testing.T) {
	var out strings.Builder
	object := client.Object{"name": "web", "runtime": map[string]any{
		"service_engine": []any{map[string]any{"name": "engine-1", "role": "primary"}}, "num_se_requested": 1.0,
	}}
	if err := show(&out, object, noon); err != nil {
		t.Fatal(err)
	}
	if said := out.String(); strings.Count(said, "engine-1") != 1 || !strings.Contains(said, "engine-1   primary") {
		t.Errorf("got\n%s", said)
	}
}

func TestAnAcceptedOrderIsToldAsWhatItDoes(t *testing.T) {
	for _, verb := range scaleVerbs {
		want := map[string]string{
			"scaleout": "web shall be on 4 engines", "scalein": "web shall be on 4 engines",
			"migrate":        "web shall be on another engine",
			"switchover":     "web shall have another of its engines for the primary",
			"retryplacement": "web is tried again on engines that failed to start it",
		}[verb.name] + "; `weir vs engines web` shows how far it is."
		if got := verb.told("web", 4.0); got != want {
			t.Errorf("%s: got %s", verb.name, got)
		}
	}
}

func TestRedistributionIsToldInWords(t *testing.T) {
	for moved, want := range map[float64]string{0: "Nothing to do: ", 1: "1 virtual service of g shall",
		2: "2 virtual services of g shall"} {
		if got := redistributed("g", client.Object{"num_virtualservices": moved}); !strings.HasPrefix(got, want) {
			t.Errorf("%v: got %s", moved, got)
		}
	}
}

func TestCountsEnginesInWords(t *testing.T) {
	for count, want := range map[float64]string{0: "0 engines", 1: "1 engine", 8: "8 engines"} {
		if got := countOf(count, "engine"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
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
		"2026-11-21T14:29:15.45203426Z": "2026-11-21T14:29:15.452Z",
		"2026-11-21T14:29:15Z":          "2026-11-21T14:29:15.000Z", "": "",
	} {
		if got := toMillis(moment); got != want {
			t.Errorf("%q: got %q", moment, got)
		}
	}
}
