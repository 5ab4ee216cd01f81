package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/logs/query"
)

func recordOf(t *testing.T, text string) (record client.Object) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		t.Fatal(err)
	}
	return record
}

const strange = `{"report_timestamp": "2026-11-22T04:00:00.123456+00:00", "response_code": 502, "method": "POST",
	"host": "shop.example", "uri_path": "/\u001b[31m\u202e\u009b\udbff\udeff", "total_time": 2013, "server_ip": "2001:db8::7",
	"server_dest_port": 8080, "client_ip": "192.0.2.7", "client_src_port": 40001, "weight": 7, "user_agent": "=cmd()",
	"significant_log": ["ADF_RESPONSE_CODE_5XX", "REQUEST_RETRIED"], "request_state": "server_reset",
	"client_log_filter_name": "mine"}`

const gone = `{"report_timestamp": "2026-11-22T04:00:01.5+00:00", "lost": 5, "weight": 50, "lost_reason": "no room",
	"service_engine": "engine-1"}`

func TestLogsArePrintedSoThatNothingInThemActs(t *testing.T) {
	found := []client.Object{recordOf(t, strange), recordOf(t, gone)}
	for output, want := range map[format]string{
		asTable: "TIME                       STATUS   METHOD   HOST           PATH                                   TOTAL ms   " +
			"SERVER               CLIENT            WEIGHT   WHY\n" +
			`2026-11-22T04:00:00.123Z   502      POST     shop.example   /\u001b[31m\u202e\u009b\u10feff          2013       ` +
			"[2001:db8::7]:8080   192.0.2.7:40001   7        server_reset, RESPONSE_CODE_5XX, REQUEST_RETRIED, filter mine\n" +
			"2026-11-22T04:00:01.500Z   -        -        -              -                                      -          " +
			"-                    -                 50       5 records of engine-1 are missing: no room\n",
	} {
		printed := listed(t, output, found)
		if squeezed(printed) != squeezed(want) {
			t.Errorf("got\n%s\nwant\n%s", printed, want)
		}
		lines := strings.Split(printed, "\n")
		for _, line := range lines[1:3] {
			if at := strings.Index(lines[0], "WEIGHT"); line[at-1] != ' ' || line[at] == ' ' {
				t.Errorf("columns do not line up:\n%s", printed)
			}
		}
	}
	var back []client.Object
	text := listed(t, asJSON, found)
	if err := json.Unmarshal([]byte(text), &back); err != nil || fmt.Sprint(back) != fmt.Sprint(found) {
		t.Errorf("JSON came back as %v, %v", back, err)
	}
	table := listed(t, asCSV, found)
	for _, part := range []string{"'=cmd()", `/\u001b[31m\u202e`, "ADF_RESPONSE_CODE_5XX REQUEST_RETRIED", "no room"} {
		if !strings.Contains(table, part) {
			t.Errorf("CSV does not have %q:\n%s", part, table)
		}
	}
	// In JSON, the character that stands for a byte stays: no terminal acts on it, and programs make the byte of it
	// again.
	for text, acting := range map[string]string{text: "\x1b\u202e\u009b", table: "\x1b\u202e\u009b\U0010feff"} {
		if strings.ContainsAny(text, acting) {
			t.Errorf("it has a character that acts: %q", text)
		}
	}
}

func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

func listed(t *testing.T, output format, found []client.Object) string {
	t.Helper()
	var out bytes.Buffer
	list := &recordList{time: "report_timestamp", out: &out, output: &output}
	list.shapeFor(false)
	if err := list.print(found); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestClassesAndConditionsBecomeParametersOfTheAPI(t *testing.T) {
	for class, want := range map[string]string{"": "", "significant": "adf=true&nf=false&udf=false",
		"filtered,all": "adf=false&nf=true&udf=true"} {
		if asked, err := classParameters(class); err != nil || asked.Encode() != want {
			t.Errorf("%s: %s, %v", class, asked.Encode(), err)
		}
	}
	if _, err := classParameters("some"); err == nil {
		t.Error("a class that is none was taken")
	}
	for given, want := range map[string]string{
		"response_code>=500": `ge(response_code,"500")`, "total_time>1": `gt(total_time,"1")`, "a<2": `lt(a,"2")`,
		"a<=2": `le(a,"2")`, "a!=b=c": `ne(a,"b=c")`, `a~b"c\`: `co(a,"b\"c\\")`, "a!~b": `nc(a,"b")`,
		"a=<b>": `eq(a,"<b>")`,
	} {
		if got, err := condition(given, nil); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", given, got, err, want)
		}
	}
}

func TestRecordsThatComeLateAreShownOnce(t *testing.T) {
	s := shown{overlap: 3 * time.Second, seen: map[string]time.Time{}}
	at := func(second int) string {
		return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC).Format(time.RFC3339Nano)
	}
	for _, step := range []struct {
		text   string
		second int
		isNew  bool
	}{{"a", 10, true}, {"a", 10, false}, {"late", 8, true}, {"late", 8, false}, {"b", 20, true}, {"a", 10, true}} {
		if got := s.isNew(step.text, at(step.second)); got != step.isNew {
			t.Errorf("%s is new: %v", step.text, got)
		}
		since := s.forget()
		if want := s.newest.Add(-3 * time.Second); !since.Equal(want) {
			t.Errorf("asks from %v on, want %v", since, want)
		}
	}
}

func TestFiltersTakeTheNamesOfThePages(t *testing.T) {
	for _, c := range []struct{ kind, given, want string }{
		{query.Requests, "status>=500", `ge(response_code,"500")`},
		{query.Requests, "total>1000", `gt(total_time,"1000")`},
		{query.Requests, "app_response>5", `gt(app_response_time,"5")`},
		{query.Requests, "wait>0.5", `gt(wait_us,"500")`},
		{query.Requests, "wait_us>500", `gt(wait_us,"500")`},
		{query.Requests, "received>1", `gt(request_length,"1")`},
		{query.Connections, "received>1", `gt(rx_bytes,"1")`},
		{query.Connections, "status=500", `eq(status,"500")`}, // connections have no status: the API says so
		{query.Requests, "pool=pool-1", `eq(pool,"pool-1")`},  // a field of the API
		{query.Audit, "object=pool-1", `eq(object,"pool-1")`}, // likewise
		{query.Events, "object=shop", `eq(obj_name,"shop")`},
	} {
		if got, err := condition(c.given, namesOf(c.kind)); err != nil || got != c.want {
			t.Errorf("%s of %s is %s, %v; want %s", c.given, c.kind, got, err, c.want)
		}
	}
}
