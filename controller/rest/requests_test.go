package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/logs"
	"github.com/weir-lb/weir/logs/query"
)

const requestsPath = "/api/analytics/logs?type=1"

func TestLogsOfRequestsTakeAvisParameters(t *testing.T) {
	h := newHouse(t)
	store := &shelf{}
	h.api.logs = store
	c := h.login()
	where := func(parameters string) string {
		t.Helper()
		c.want(http.StatusOK, "GET", requestsPath+parameters, nil)
		if store.asked.Where == nil {
			return ""
		}
		return saidExpr(*store.asked.Where)
	}
	for parameters, want := range map[string]string{
		"":                           "",
		"&adf=true&udf=true&nf=true": "",
		"&adf=true&udf=false":        "(class eq significant)",
		"&nf=True&adf=False":         "(class eq all)",
		"&udf=true&adf=false":        "(class eq filtered or udf eq true)",
		"&filter=eq(adf,true)":       "class eq significant",
		"&filter=eq(adf,false)":      "not class eq significant",
		"&filter=eq(significant_log,ADF_RESPONSE_CODE_5XX)&filter=ge(response_code,0500)": "significant_log has ADF_RESPONSE_CODE_5XX and response_code ge 500",
		"&filter=eq(persistence_used,false)&filter=ne(client_ip,10.0.0.1)":                "persistence_used eq  and not client_ip eq 10.0.0.1",
	} {
		if got := where(parameters); got != want {
			t.Errorf("%s: %s, want %s", parameters, got, want)
		}
	}
	c.want(http.StatusOK, "GET", requestsPath+"&step=60&duration=3600&groupby=response_class&cols=sum(weight)", nil)
	if histogram := store.asked.Histogram; !slices.Equal(histogram.By, []string{"response_class"}) ||
		histogram.Aggregates[0] != (query.Aggregate{Function: "sum", Field: "weight"}) {
		t.Errorf("histogram is %+v", histogram)
	}
	c.want(http.StatusOK, "GET", requestsPath+"&cols=sum(weight)", nil)
	if groups := store.asked.Groups; groups == nil || len(groups.By) != 0 || len(groups.Aggregates) != 1 {
		t.Errorf("groups are %+v", groups)
	}
	c.want(http.StatusOK, "GET", "/api/analytics/logs?type=0", nil)
	if store.asked.Type != query.Connections {
		t.Errorf("type is %s", store.asked.Type)
	}
	for parameters, want := range map[string]string{
		"&adf=perhaps": "adf", "&adf=false": "no record is left", "&filter=lt(host,1)": "is text",
		"&filter=co(udf,true)": "true or false", "&cols=colour": "colour", "&virtualservice=none": "virtualservice",
		"&filter=eq(rx_bytes,1)": "no field",
	} {
		c.refused(http.StatusBadRequest, want, "GET", requestsPath+parameters, nil)
	}
	c.refused(http.StatusBadRequest, "give 1", "GET", "/api/analytics/logs?type=3", nil)
	h.api.logs = nil
	c.refused(http.StatusBadRequest, "--logs memory", "GET", requestsPath, nil)
}

// saidExpr is a condition as text.
func saidExpr(e query.Expr) string {
	join := func(of []query.Expr, word string) string {
		var parts []string
		for _, one := range of {
			parts = append(parts, saidExpr(one))
		}
		return strings.Join(parts, word)
	}
	switch {
	case e.Not != nil:
		return "not " + saidExpr(*e.Not)
	case e.And != nil:
		return join(e.And, " and ")
	case e.Or != nil:
		return "(" + join(e.Or, " or ") + ")"
	}
	return fmt.Sprintf("%s %s %s", e.Field, e.Op, e.Value)
}

func TestRecordsOfRequestsHaveAvisShape(t *testing.T) {
	h := newHouse(t)
	seven := 7.0
	store := &shelf{answer: query.Answer{Count: 2, Weight: 1960, Rows: []query.Row{{
		Time: time.Date(2026, 11, 22, 4, 0, 0, 123456789, time.UTC),
		Fields: map[string]string{"class": "significant", "response_code": "502", "udf": "true",
			"significant_log": "ADF_RESPONSE_CODE_5XX REQUEST_RETRIED", "log_id": "42",
			"uri_path": "=1<script>\u202e\x1b[2J", "total_time": "13"},
	}}}, status: logs.Status{NoRequests: "the disk is full"}}
	h.api.logs = store
	c := h.login()
	answer := c.want(http.StatusOK, "GET", requestsPath+"&js_compat=true", nil)
	want := "map[adf:true class:significant log_id:42 report_timestamp:2026-11-22T04:00:00.123456+00:00 " +
		"response_code:502 significant_log:[ADF_RESPONSE_CODE_5XX REQUEST_RETRIED] total_time:13 udf:true " +
		"uri_path:=1<script>\u202e\x1b[2J]"
	row := answer["results"].([]any)[0].(schema.Object)
	if got := fmt.Sprint(row); got != want {
		t.Errorf("row is %s, want %s", got, want)
	}
	if _, isText := row["log_id"].(string); !isText || fmt.Sprint(answer["weight"]) != "1960" {
		t.Errorf("log_id is %v, weight %v", row["log_id"], answer["weight"])
	}
	row = c.want(http.StatusOK, "GET", requestsPath, nil)["results"].([]any)[0].(schema.Object)
	if _, isText := row["log_id"].(string); isText {
		t.Error("log_id is text for clients that do not say that they need that")
	}
	if missing := fmt.Sprint(answer["missing"]); missing != "map[reason:the disk is full]" {
		t.Errorf("missing is %s", missing)
	}
	some := c.do("GET", requestsPath+"&cols=uri_path,response_code&format=csv", nil).Body.String()
	if want := "report_timestamp,uri_path,response_code\n" +
		`2026-11-22T04:00:00.123456+00:00,'=1<script>\u202e\u001b[2J,502` + "\n"; some != want {
		t.Errorf("got %q, want %q", some, want)
	}
	store.answer = query.Answer{Buckets: []query.Bucket{{Start: time.Unix(60, 0), Values: []string{"5xx"}, Rows: 3,
		Aggregates: []*float64{&seven}}}}
	answer = c.want(http.StatusOK, "GET", requestsPath+"&step=60&duration=3600&groupby=response_class&cols=sum(weight)",
		nil)
	if got := fmt.Sprint(answer["results"]); got != "[map[end:1970-01-01T00:02:00Z response_class:5xx "+
		"start:1970-01-01T00:01:00Z sum(weight):7 value:3]]" {
		t.Errorf("histogram is %s", got)
	}
}

func TestGroupsAreCountedAndLeadOn(t *testing.T) {
	h := newHouse(t)
	store := &shelf{}
	for n := range 7 {
		store.answer.Groups = append(store.answer.Groups, query.Group{Values: []string{fmt.Sprint(n)}, Rows: 1})
	}
	store.answer.Count = 7
	h.api.logs = store
	c := h.login()
	for parameters, want := range map[string]string{
		"&page_size=3":         "3 of 7 from 0 for 1000, next",
		"&page_size=7":         "7 of 7 from 0 for 1000",
		"&page_size=7&page=2":  "7 of 14 from 7 for 993",
		"&page_size=2000":      "7 of 7 from 0 for 2001",
		"&page_size=10000":     "7 of 7 from 0 for 10000",
		"&page_size=3&page=99": "3 of 301 from 294 for 706, next",
	} {
		answer := c.want(http.StatusOK, "GET", requestsPath+"&groupby=client_ip"+parameters, nil)
		got := fmt.Sprintf("%d of %v from %d for %d", len(answer["results"].([]any)), answer["count"],
			store.asked.Groups.Offset, store.asked.Groups.Limit)
		if next, _ := answer["next"].(string); next != "" {
			got += ", next"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", parameters, got, want)
		}
	}
}

func TestARecordIsExplainedToWhoMaySeeIt(t *testing.T) {
	h := newHouse(t)
	store := &shelf{answer: query.Answer{Rows: []query.Row{{Time: time.Unix(60, 0), Fields: map[string]string{
		"client_ip": "192.0.2.7", "uri_path": "/\U0010FEFF", "method": "GET", "response_code": "404",
		"class":           "significant",
		"significant_log": "ADF_RESPONSE_CODE_4XX"}}}}}
	h.api.logs = store
	c := h.login()
	answer := c.want(http.StatusOK, "GET", "/api/weir/explain/se-1-0-x.1", nil)
	if asked := saidExpr(*store.asked.Where); asked != "request_id eq se-1-0-x.1" || store.asked.Scope.Tenant == "" &&
		!store.asked.Scope.All {
		t.Errorf("asked was %s in %+v", asked, store.asked.Scope)
	}
	if kept := h.api.now().Sub(store.asked.From); kept < 30*24*time.Hour {
		t.Errorf("asked was for the last %v, and 30 days are kept", kept)
	}
	stages := fmt.Sprint(answer["stages"])
	if !strings.Contains(stages, "GET /\U0010FEFF of no host") || !strings.Contains(stages, "ADF_RESPONSE_CODE_4XX") ||
		answer["type"] != "requests" || fmt.Sprint(answer["record"].(schema.Object)["response_code"]) != "404" {
		t.Errorf("answer is %v", answer)
	}
	store.answer = query.Answer{}
	c.refused(http.StatusNotFound, "Record se-1 object not found", "GET", "/api/weir/explain/se-1", nil)
	if store.asked.Type != query.Connections {
		t.Errorf("connections are not looked at")
	}
	c.refused(http.StatusNotFound, "Record se-1", "GET",
		"/api/weir/explain/se-1?type=1&start=2026-11-01T00:00:00.000001Z&end=2026-11-01T00:00:00.001Z", nil)
	if asked := store.asked; asked.Type != query.Requests || asked.To.Sub(asked.From) != 999*time.Microsecond {
		t.Errorf("asked was %+v", asked)
	}
	for parameters, want := range map[string]string{
		"type=2": "give 1 for requests or 0", "start=now": "is no time", "url=http://a/": "url: is unknown",
		"start=2026-11-01T00:00:00Z&end=2026-11-01T00:00:00Z": "is empty",
	} {
		c.refused(http.StatusBadRequest, want, "GET", "/api/weir/explain/se-1?"+parameters, nil)
	}
	store.answer = query.Answer{PercentRemaining: 40}
	c.refused(http.StatusServiceUnavailable, "has not looked through all", "GET", "/api/weir/explain/se-1", nil)
}
