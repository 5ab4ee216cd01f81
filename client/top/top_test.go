package top

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

// pointOf is JSON of a step with a number of requests per second.
func pointOf(atMs int, requests float64) string {
	return fmt.Sprintf(`{"at_ms":%d,"seconds":1,"engines":2,"requests_per_s":%g,"responses_per_s":[0,%g,0,0,0],`+
		`"errors_per_s":%g,"failures_per_s":0,"connections_per_s":3,"open_connections":12,"received_bytes_per_s":2500,`+
		`"sent_bytes_per_s":1250000,"tls_handshakes_per_s":0.5,"mean_ms":4,"p50_ms":3.25,"p95_ms":20,"p99_ms":1234,`+
		`"wait_mean_ms":1,"response_mean_ms":2,"transfer_mean_ms":1}`, atMs, requests, requests, requests/50)
}

// screenOf is a state after events, a snapshot first.
func screenOf(t *testing.T, events ...string) *state {
	t.Helper()
	s := &state{}
	for i, event := range events {
		name := "delta"
		if i == 0 {
			name = "snapshot"
		}
		if err := s.apply(client.LiveEvent{Name: name, Data: []byte(event)}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func textOf(lines []line) (text string) {
	for _, line := range lines {
		text += line.text + "\n"
	}
	return text
}

func overviewOf(names ...string) string {
	var services []string
	for i, name := range names {
		encoded, _ := json.Marshal(name)
		services = append(services, fmt.Sprintf(`{"uuid":"vs-%d","name":%s,"state":"OPER_UP","point":%s,`+
			`"health_score":71,"health_band":"fair","health_reason":"12 %% of requests slower than 2 s","recent_requests_per_s":[0,50,null,100]}`, i, encoded, pointOf(60_000, float64(100*(i+1)))))
	}
	return fmt.Sprintf(`{"at_ms":60000,"overview":{"points":[%s],"engines_total":3,"engines_up":2,`+
		`"virtual_services_total":%d,"virtual_services":[%s]}}`,
		pointOf(60_000, 12_345), len(names), strings.Join(services, ","))
}

func TestScreenHasSumsAndARowForEachVirtualService(t *testing.T) {
	s := screenOf(t, overviewOf("web", "shop"))
	lines := draw(view{}, s, size{140, 8})
	if len(lines) != 8 {
		t.Errorf("%d lines", len(lines))
	}
	header, at, _ := strings.Cut(lines[0].text, "2/3   ")
	if header != "12.3k req/s   errors 2 %   p99 1.23 s   open 12   in 2.5kB/s   out 1.25MB/s   engines " ||
		len(at) != 8 {
		t.Errorf("got %q", lines[0].text)
	}
	want := []string{
		"",
		"VIRTUAL SERVICE  STATE  HEALTH  REQ/S  ERR %  P50 ms  P99 ms  OPEN  IN B/s  OUT B/s  TLS/s  LAST MINUTE   ATTENTION",
		"web              UP         71    100      2    3.25   1.23s    12    2.5k    1.25M    0.5          ▁▅ █  12 % of requests slower than 2 s",
		"shop             UP         71    200      2    3.25   1.23s    12    2.5k    1.25M    0.5          ▁▅ █  12 % of requests slower than 2 s",
		"", "",
		"q quit   ↑↓ or j k move   Enter open   s order   / filter   e engines",
	}
	for i, text := range want {
		if lines[i+1].text != text {
			t.Errorf("line %d is\n%q, want\n%q", i+1, lines[i+1].text, text)
		}
	}
	if lines[3].style != chosen || lines[4].style != plain {
		t.Errorf("the cursor is not on the first row: %+v", lines)
	}
}

func TestNarrowTerminalHasFewerColumnsAndNoLineIsTooLong(t *testing.T) {
	s := screenOf(t, overviewOf("a-virtual-service-with-a-rather-long-name", "shop"))
	for _, columns := range []int{200, 80, 60, 40, 20, 5, 1} {
		for _, rows := range []int{1, 2, 3, 4, 24} {
			for page := range 3 {
				for _, line := range draw(view{page: page}, s, size{columns, rows}) {
					if widthOf(line.text) > columns {
						t.Fatalf("%d columns: %q", columns, line.text)
					}
				}
				if lines := draw(view{page: page}, s, size{columns, rows}); len(lines) > rows {
					t.Errorf("%d rows: %d lines", rows, len(lines))
				}
			}
		}
	}
	narrow := textOf(draw(view{}, s, size{60, 8}))
	if !strings.Contains(narrow, "REQ/S") || strings.Contains(narrow, "TLS/s") || !strings.Contains(narrow, "…") {
		t.Errorf("got\n%s", narrow)
	}
}

// hostile are names that a terminal must not get as they are.
var hostile = []string{
	"\x1b[2J\x1b[H", "\x1b]0;title\x07", "a\nb", "a\r\x00b", "\u202egnp.exe", "\u2066x\u2069", "\u200b", "\u200d",
	"\u0085", "\u009b31m", "\x7f", "a\u0300\u0300\u0300", "\u2028", "\ufeff", "\t", "\U000e0041", "\ufff9",
	string([]byte{0xff, 0xfe}),
}

func TestHostileNamesStayOnTheirLineAndDoNothing(t *testing.T) {
	for _, name := range hostile {
		s := screenOf(t, overviewOf(name), strings.Replace(overviewOf(name), `"at_ms":60000,`,
			fmt.Sprintf(
				`"at_ms":61000,"virtual_services":[{"uuid":"vs-0","name":%[1]s,"state":%[1]s,"reasons":[%[1]s],`+
					`"engines":[{"name":%[1]s}],"points":[]}],"engines":[{"name":%[1]s,"state":%[1]s,"reasons":[%[1]s],"points":[]}],`+
					`"pools":[{"name":%[1]s,"servers":[{"id":%[1]s,"state":%[1]s,"reason":%[1]s}]}],`, quoted(name)),
			1))
		for page := range 3 {
			lines := draw(view{page: page, notice: name, filter: ""}, s, size{120, 24})
			lines = append(lines, draw(view{page: page, filter: name}, s, size{120, 24})...)
			for _, line := range lines {
				if at := strings.IndexFunc(line.text, isHostile); at >= 0 {
					t.Errorf("page %d: %q is in %q", page, line.text[at:], line.text)
				}
			}
		}
		if got := clean(name); !strings.Contains(got, `\u{`) {
			t.Errorf("%q shows as %q", name, got)
		}
	}
	if got := clean("plain name, grün, 漢字, €"); got != "plain name, grün, 漢字, €" {
		t.Errorf("got %q", got)
	}
}

func quoted(text string) string {
	encoded, _ := json.Marshal(text)
	return string(encoded)
}

func isHostile(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || slices.Contains(
		[]rune("\u202e\u2066\u2069\u200b\u200d\u2028\ufeff\ufff9\u0300\U000e0041"), r)
}

func TestPageOfAVirtualServiceShowsWhereTimeGoes(t *testing.T) {
	event := func(atMs, requests int) string {
		return fmt.Sprintf(
			`{"at_ms":%d,"virtual_services":[{"uuid":"vs-1","name":"web","state":"OPER_UP","points":[%s],`+
				`"engines":[{"uuid":"se-1","name":"one","point":%[2]s}]}],"pools":[{"uuid":"pool-1","name":"web-pool",`+
				`"servers_total":300,"servers":[{"id":"10.0.0.1:80","state":"OPER_DOWN","reason":"refused"},`+
				`{"id":"10.0.0.2:80","state":"OPER_UP","requests_per_s":7,"failures_per_s":0.25,"connections_per_s":1,`+
				`"open_connections":4}]}]}`, atMs, pointOf(atMs, float64(requests)))
	}
	s := screenOf(t, event(1000, 100), event(2000, 200))
	got := textOf(draw(view{page: servicePage}, s, size{110, 30}))
	for _, want := range []string{
		"web  UP\n",
		"now            200      2    3.25   1.23s    12    2.5k    1.25M    0.5\n",
		"requests/s, last minute ", " ▅█\n",
		"wait                         1  ████████\n", "server RTT + app response    2  ███████████████\n",
		"transfer                     1  ████████\n",
		"total                        4  ██████████████████████████████\n",
		"one       200      2",
		"SERVER OF web-pool (2 of 300)", "10.0.0.1:80                    DOWN       –           –", "refused\n",
		"10.0.0.2:80                    UP         7        0.25       1     4\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	gap := `{"at_ms":3000,"virtual_services":[{"uuid":"vs-1","name":"web","state":"OPER_DOWN","engines":[],"points":[` +
		`{"at_ms":3000,"seconds":1,"engines":0}]}]}`
	if err := s.apply(client.LiveEvent{Name: "delta", Data: []byte(gap)}); err != nil {
		t.Fatal(err)
	}
	if got := textOf(draw(view{page: servicePage}, s, size{110, 30})); !strings.Contains(got,
		"now              –      –") {
		t.Errorf("a gap shows as\n%s", got)
	}
}

func TestPageOfEnginesShowsTheirLoad(t *testing.T) {
	s := screenOf(t, `{"at_ms":2000,"engines":[{"uuid":"a","name":"one","state":"OPER_UP","points":[`+
		`{"at_ms":1000,"seconds":1},{"at_ms":2000,"seconds":1,"cpu_percent":42.25,"rss_bytes":20000000,"requests_per_s":5}]},`+
		`{"uuid":"b","name":"two","state":"OPER_DOWN","reasons":["has gone"],"points":[]}]}`)
	lines := draw(view{page: enginesPage}, s, size{140, 8})
	got := textOf(lines)
	if !strings.Contains(got, "one     UP      42.2     20M      5") ||
		!strings.Contains(got, "two     DOWN       –       –") ||
		!strings.Contains(got, "has gone") || lines[4].style != alarm {
		t.Errorf("got\n%s", got)
	}
}

func TestKeysMoveFilterOrderAndOpen(t *testing.T) {
	s := screenOf(t, overviewOf("web", "shop", "webmail"))
	v := view{}
	press := func(sent string) (did action) {
		for _, key := range keysIn([]byte(sent)) {
			did = v.press(key, len(v.listed(s)))
		}
		return did
	}
	names := func() (names []string) {
		for _, one := range v.listed(s) {
			names = append(names, one.Name)
		}
		return names
	}
	if press("jj\x1b[Bkk\x1b[A\x1bOB"); v.cursor != 1 {
		t.Errorf("the cursor is on %d", v.cursor)
	}
	if press("/WEB\x7fb"); !v.typing || v.filter != "WEb" || fmt.Sprint(names()) != "[web webmail]" {
		t.Errorf("%+v lists %v", v, names())
	}
	if press("\rs"); v.typing || v.order != byRequests || fmt.Sprint(names()) != "[webmail web]" {
		t.Errorf("%+v lists %v", v, names())
	}
	if press("sss"); v.order != byName || fmt.Sprint(names()) != "[web webmail]" {
		t.Errorf("%+v lists %v", v, names())
	}
	if press("\x1b"); v.filter != "" || len(names()) != 3 {
		t.Errorf("%+v lists %v", v, names())
	}
	if did := press("\r"); did != open || v.page != servicePage {
		t.Errorf("Enter does %v", did)
	}
	press("\x1b")
	if did := press("e"); did != turn || v.page != enginesPage {
		t.Errorf("e does %v", did)
	}
	if did := press("\x1b"); did != turn || v.page != servicesPage {
		t.Errorf("Esc does %v", did)
	}
	for _, sent := range []string{"q", "\x03"} {
		if press(sent) != quit {
			t.Errorf("%q does not quit", sent)
		}
	}
	if press("/q\x03"); press("\x03") != quit {
		t.Error("Ctrl-C does not quit while the user types")
	}
}

func TestScreenScrollsWithTheCursor(t *testing.T) {
	var names []string
	for i := range 50 {
		names = append(names, fmt.Sprintf("vs-%02d", i))
	}
	s := screenOf(t, overviewOf(names...))
	for _, cursor := range []int{0, 3, 25, 49, 1000} {
		lines := draw(view{cursor: cursor}, s, size{100, 12})
		at := slices.IndexFunc(lines, func(one line) bool { return one.style == chosen })
		if want := fmt.Sprintf("vs-%02d ", min(cursor, 49)); at < 3 || !strings.HasPrefix(lines[at].text, want) {
			t.Errorf("cursor at %d:\n%s", cursor, textOf(lines))
		}
	}
}

func TestLastFiveMinutesHaveABarForEachFiveSeconds(t *testing.T) {
	points := []point{{AtMs: 1_000, Engines: 1, counts: counts{Requests: 9}}} // too old
	for i := range 40 {
		p := point{AtMs: int64(310_000 + 5_000*i), Engines: 1, counts: counts{Requests: 4}}
		if i == 20 {
			p = point{AtMs: p.AtMs} // a gap
		}
		points = append(points, p)
	}
	for range 5 { // and then a point each second
		last := points[len(points)-1]
		points = append(points, point{AtMs: last.AtMs + 1000, Engines: 1, counts: counts{Requests: last.Requests + 1}})
	}
	got := textOf(recentTable(points).lines(200))
	bars := strings.Repeat(" ", 19) + strings.Repeat("▄", 20) + " " + strings.Repeat("▄", 19) + "█"
	if want := "requests/s      " + bars + "    9     9\n"; !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
	if !strings.Contains(got, "p50 ms ") || !strings.Contains(got, "p99 ms ") || !strings.Contains(got, " –     –\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestReasonIsCutWhereTheLineEnds(t *testing.T) {
	s := screenOf(t, `{"at_ms":1,"engines":[{"uuid":"a","name":"one","state":"OPER_DOWN","points":[],`+
		`"reasons":["`+strings.Repeat("a long reason ", 20)+`"]}]}`)
	row := draw(view{page: enginesPage}, s, size{130, 10})[3].text
	if widthOf(row) != 130 || !strings.Contains(row, "a long reason") || !strings.HasSuffix(row, "…") {
		t.Errorf("got %q", row)
	}
}

func TestOtherPagesScroll(t *testing.T) {
	var engines []string
	for i := range 30 {
		engines = append(engines, fmt.Sprintf(`{"uuid":"%d","name":"engine-%02[1]d","state":"OPER_UP","points":[]}`, i))
	}
	s := screenOf(t, `{"at_ms":1,"engines":[`+strings.Join(engines, ",")+`]}`)
	v := view{page: enginesPage}
	for range 100 {
		v.press(keyPageDown, len(v.body(s, 80)))
	}
	lines := draw(v, s, size{80, 10})
	if !strings.HasPrefix(lines[8].text, "engine-29") {
		t.Errorf("the last engine is not at the end:\n%s", textOf(lines))
	}
	v.press(keyEscape, 0)
	if v.press('e', 0); v.offset != 0 {
		t.Errorf("a page begins at line %d", v.offset)
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", 0.004: "0", 0.25: "0.25", 1: "1", 9.994: "9.99", 9.996: "10", 12.34: "12.3", 999.4: "999", 999.6: "1k",
		1234: "1.23k", 45_600_000: "45.6M", 7.5e12: "7.5T", 2e15: "2P",
	} {
		if got := number(value); got != want {
			t.Errorf("%v is %s, want %s", value, got, want)
		}
	}
}
