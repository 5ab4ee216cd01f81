package main

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

func TestReadsTimesAndHowLongAgoTheyWere(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-11-24T09:00:00Z": now.Add(-3 * time.Hour), "2026-11-24T09:00:00+01:00": now.Add(-4 * time.Hour),
		"90s": now.Add(-90 * time.Second), "2h": now.Add(-2 * time.Hour), "7d": now.Add(-7 * 24 * time.Hour),
		"0.5d": now.Add(-12 * time.Hour),
	} {
		if got, err := moment(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "-2h", "-1d", "2026-11-24", "5", "1e9d"} {
		if got, err := moment(text, now); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

func TestFiltersBecomeThoseOfTheAPI(t *testing.T) {
	for text, want := range map[string]string{
		"event_id=VS_UP": `eq(event_id,"VS_UP")`, "obj_name!=web": `ne(obj_name,"web")`, "all~a=b": `co(all,"a=b")`,
		`user!~a"\`: `nc(user,"a\"\\")`, "object=": `eq(object,"")`,
	} {
		if got, err := condition(text, nil); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "VS_UP", "=x", "~"} {
		if got, err := condition(text, nil); err == nil {
			t.Errorf("%q was read as %s", text, got)
		}
	}
}

func TestParametersOfAListAreChecked(t *testing.T) {
	for want, list := range map[string]recordList{
		"--most 0": {}, "--since soon": {most: 1, since: "soon"}, "--until x": {most: 1, until: "x"},
		"has no end": {most: 1, until: "1h", follow: true}, "--filter x": {most: 1, filters: []string{"x"}},
	} {
		if _, err := list.parameters(time.Now()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	list := recordList{most: 7, since: "2026-11-24T09:00:00Z", filters: []string{"a=1", "b~2"}}
	asked, err := list.parameters(time.Now())
	if want := (url.Values{"page_size": {"7"}, "start": {"2026-11-24T09:00:00Z"},
		"filter": {`eq(a,"1")`, `co(b,"2")`}}).Encode(); err != nil || asked.Encode() != want {
		t.Errorf("got %v, %v; want %v", asked.Encode(), err, want)
	}
}

func TestATerminalOnlyShowsWhatRecordsHold(t *testing.T) {
	asked := asTable
	var out bytes.Buffer
	list := recordList{time: "time", headings: []string{"TIME", "WHAT"}, output: &asked, out: &out,
		cells: func(record client.Object) []string { return []string{record["what"].(string)} }}
	hostile := "a\x1b[2J\nb\u202ec\x00é世 \U0010FEFF"
	if err := list.print([]client.Object{{"time": "2026-11-24T09:00:00.1234567Z", "what": hostile}}); err != nil {
		t.Fatal(err)
	}
	want := "TIME                       WHAT\n" +
		`2026-11-24T09:00:00.123Z   a\u001b[2J\u000ab\u202ec\u0000é世 \u10feff` + "\n"
	if out.String() != want {
		t.Errorf("printed is %q, want %q", out.String(), want)
	}
}

func TestNamesWhatAnAuditEntryChanged(t *testing.T) {
	entry := client.Object{"action": "change", "old": map[string]any{"name": "a", "port": 1.0},
		"new": map[string]any{"name": "b", "port": 2.0, "text": strings.Repeat("x", 100)}}
	want := "name: a → b, port: 1 → 2, text: - → " + strings.Repeat("x", 40) + "…"
	if got := changed(entry); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	inner := func(on bool, port float64) map[string]any {
		return map[string]any{"policy": map[string]any{"on": on, "kept": 5.0},
			"servers": []any{map[string]any{"port": port}}}
	}
	want = `policy.on: false → true, servers: [{"port":80}] → [{"port":81}]`
	entry = client.Object{"action": "change", "old": inner(false, 80), "new": inner(true, 81)}
	if got := changed(entry); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := changed(client.Object{"action": "create", "new": map[string]any{"name": "b"}}); got != "" {
		t.Errorf("of a new object: %q", got)
	}
}
