package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/logs"
	"github.com/weir-lb/weir/logs/query"
)

// shelf plays the record store: it remembers what it was asked, and answers as it is told.
type shelf struct {
	asked  query.Query
	answer query.Answer
	err    error
	status logs.Status
}

func (s *shelf) Ask(_ context.Context, asked query.Query) (query.Answer, error) {
	s.asked = asked
	return s.answer, s.err
}
func (s *shelf) Status() logs.Status       { return s.status }
func (s *shelf) Kept(string) time.Duration { return 30 * 24 * time.Hour }

const logsPath = "/api/analytics/logs?type=2"

func TestParametersBecomeAQueryOfTheStore(t *testing.T) {
	h := newHouse(t)
	store := &shelf{}
	h.api.logs = store
	c := h.login()
	c.want(http.StatusOK, "GET", logsPath+"&page_size=10000&page=2&start=2026-01-01T00:00:00Z&end=2026-01-02T00:00:00Z"+
		"&timeout=9&adf=true&js_compat=true&event_id=VS_UP&filter="+url.QueryEscape(`co(all,"a,b)\"c\\")`)+
		"&filter=ne(obj_name,web)", nil)
	asked := store.asked
	where := asked.Where.And
	if asked.Type != query.Events || !asked.Scope.All && asked.Scope.Tenant != "admin" ||
		asked.From.Format(time.RFC3339) != "2026-01-01T00:00:00Z" || asked.To.Sub(asked.From) != 24*time.Hour ||
		asked.Timeout != 9*time.Second || *asked.Rows != (query.Rows{Offset: 10000, Limit: 10000, Count: true}) {
		t.Errorf("asked was %+v, rows %+v", asked, asked.Rows)
	}
	if len(where) != 3 || where[0].Value != "VS_UP" || where[1].Or[0].Value != `a,b)"c\` ||
		where[2].Not.Value != "web" {
		t.Errorf("the condition is %+v", where)
	}
	c.want(http.StatusOK, "GET", logsPath+"&duration=3600&step=60", nil)
	if span := store.asked.To.Sub(store.asked.From); store.asked.Histogram.Step != time.Minute ||
		span != 3*time.Hour { // an hour, and two for clocks that are ahead
		t.Errorf("the histogram is %+v over %v", store.asked.Histogram, span)
	}
	c.want(http.StatusOK, "GET", logsPath+"&groupby=event_id,obj_name&orderby=count", nil)
	if groups := store.asked.Groups; !slices.Equal(groups.By, []string{"event_id", "obj_name"}) || !groups.Ascending {
		t.Errorf("groups are %+v", groups)
	}
	c.want(http.StatusOK, "GET", logsPath+"&facets=event_id,obj_name&page_size=6", nil)
	if facets := store.asked.Facets; !slices.Equal(facets.Fields, []string{"event_id", "obj_name"}) ||
		facets.Limit != 6 {
		t.Errorf("facets are %+v", facets)
	}
	c.want(http.StatusOK, "GET", logsPath+"&orderby=report_timestamp", nil)
	if rows := store.asked.Rows; !rows.Oldest || rows.OrderBy != "" {
		t.Errorf("rows are %+v", rows)
	}
	if span := store.asked.To.Sub(store.asked.From); span != 30*24*time.Hour+2*time.Hour {
		t.Errorf("without a range, it asks for %v", span)
	}
}

func TestWrongParametersAreRefusedAndNamed(t *testing.T) {
	h := newHouse(t)
	h.api.logs = &shelf{}
	c := h.login()
	for asked, want := range map[string]string{
		"colour=red": "colour", "filter=eq": "filter", "filter=eq(a)": "comma", "filter=xx(event_id,1)": "operator",
		"filter=eq(uri,1)": "no field", "filter=lt(event_id,1)": "is text", "start=yesterday": "start",
		"end=2026-01-01": "end", "duration=x": "duration", "duration=1&start=2026-01-01T00:00:00Z": "duration",
		"start=2026-01-02T00:00:00Z&end=2026-01-01T00:00:00Z": "empty", "format=xml": "format", "page=0": "page",
		"step=60&groupby=event_id": "step", "step=0": "step", "step=1&duration=86400": "step", "groupby=x": "no field",
		"groupby=event_id&cols=sum(event_id)": "number", "groupby=event_id&cols=rm(x)": "cols", "cols=sum(x)": "cols",
		"groupby=event_id&orderby=x": "orderby", "orderby=x": "no field", "source=disk": "source",
		"page=1000&page_size=1000": "at most the first", "facets=x": "no field", "facets=event_id,event_id": "twice",
		"facets=": "no field", "facets=event_id&step=60": "step", "facets=event_id&orderby=count": "order",
		"facets=event_id&format=csv": "JSON", "facets=event_id&page=2": "page",
	} {
		c.refused(http.StatusBadRequest, want, "GET", logsPath+"&"+asked, nil)
	}
}

func TestAnswersOfTheStoreHaveAvisShape(t *testing.T) {
	h := newHouse(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	store := &shelf{answer: query.Answer{Count: 70, PercentRemaining: 12.5, Rows: []query.Row{{Time: at,
		Fields: map[string]string{"event_id": "VS_UP", "event_description": "=1\n\u202e",
			"related_uuids": `["se-1"]`}}}}}
	h.api.logs = store
	c := h.login()
	answer := c.want(http.StatusOK, "GET", logsPath, nil)
	row := answer["results"].([]any)[0].(schema.Object)
	if row["report_timestamp"] != "2026-01-02T03:04:05.000006Z" || row["event_id"] != "VS_UP" ||
		fmt.Sprint(row["related_uuids"]) != "[se-1]" || row["obj_name"] != "" {
		t.Errorf("row is %v", row)
	}
	if fmt.Sprint(answer["count"], " ", answer["percent_remaining"], " ", answer["source"]) != "70 12.5 store" ||
		!strings.Contains(fmt.Sprint(answer["next"]), "page=2") || answer["missing"] != nil {
		t.Errorf("answer is %v", answer)
	}
	store.status = logs.Status{Full: "the disk is full", Waiting: 3, Lost: 2}
	if got := fmt.Sprint(c.want(http.StatusOK, "GET", logsPath, nil)["missing"]); got !=
		"map[lost:2 reason:the disk is full waiting:3]" {
		t.Errorf("missing is %s", got)
	}
	table := c.do("GET", logsPath+"&format=csv", nil)
	if want := "report_timestamp,event_description,event_id,obj_name,obj_type,obj_uuid,related_uuids,tenant\n" +
		"2026-01-02T03:04:05.000006Z,'=1\\u000a\\u202e,VS_UP,,,,\"[\"\"se-1\"\"]\",\n"; table.Code != 200 ||
		table.Body.String() != want {
		t.Errorf("%d %q, want %q", table.Code, table.Body, want)
	}
}

func TestFacetsAreValuesWithTheirNumberAndWeight(t *testing.T) {
	h := newHouse(t)
	h.api.logs = &shelf{answer: query.Answer{Count: 2, Facets: []query.Facet{
		{Field: "response_code", Values: []query.Value{{Value: "502", Rows: 2, Weight: 7}}},
		{Field: "client_ip", TooMany: true}}}}
	c := h.login()
	answer := c.want(http.StatusOK, "GET", "/api/analytics/logs?type=1&facets=response_code,client_ip", nil)
	if got, want := fmt.Sprint(answer["results"]), "[map[field:response_code too_many:false values:[map[count:2 "+
		"value:502 weight:7]]] map[field:client_ip too_many:true values:[]]]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWithoutItsStoreOnlyLogsAreAwayAndMemoryAnswersIfAsked(t *testing.T) {
	h := newHouse(t)
	h.api.events = events.New(slog.New(slog.DiscardHandler), h.clock.now)
	h.api.events.Add(events.Entry{ID: "VS_UP", Kind: "VIRTUALSERVICE", UUID: "vs-1", Name: "web", Tenant: "admin"})
	h.api.events.Add(events.Entry{ID: "SE_UP", Kind: "SERVICEENGINE", UUID: "se-1", Name: "engine", Tenant: "admin"})
	store := &shelf{err: &logs.Unavailable{Reason: "its disk burns"}}
	h.api.logs = store
	c := h.login()
	for _, path := range []string{logsPath, "/api/audit"} {
		c.refused(http.StatusServiceUnavailable, "its disk burns", "GET", path, nil)
		if wait := c.do("GET", path, nil).Header().Get("Retry-After"); wait == "" {
			t.Errorf("%s does not say when to ask again", path)
		}
	}
	c.want(http.StatusOK, "GET", "/api/pool", nil)
	answer := c.want(http.StatusOK, "GET", logsPath+"&source=memory&filter=co(all,eb)", nil)
	if fmt.Sprint(answer["count"], " ", answer["source"]) != "1 memory" {
		t.Errorf("from memory: %v", answer)
	}
	c.refused(http.StatusBadRequest, "source", "GET", logsPath+"&source=memory&groupby=event_id", nil)
	store.err = logs.ErrBusy
	c.refused(http.StatusTooManyRequests, "try again", "GET", logsPath, nil)
	store.err = &query.Error{Part: "query", Problem: "too much memory"}
	c.refused(http.StatusBadRequest, "too much memory", "GET", logsPath, nil)
	store.err = errors.New("defect")
	c.refused(http.StatusInternalServerError, "log says why", "GET", logsPath, nil)
	h.api.logs = nil
	c.refused(http.StatusBadRequest, "source", "GET", logsPath+"&source=store", nil)
}

func TestTenantsAskWithinTheirScope(t *testing.T) {
	h := newHouse(t)
	store := &shelf{}
	h.api.logs = store
	admin := h.login()
	blue := admin.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": "blue"})
	admin.want(http.StatusCreated, "POST", "/api/user", schema.Object{"name": "bob", "password": "bob's long password",
		"access": []any{schema.Object{"tenant_ref": "/api/tenant/" + fmt.Sprint(blue["uuid"])}}})
	bob := h.loginAs("bob", "bob's long password")
	bob.header.Set("X-Avi-Tenant", "blue")
	bob.want(http.StatusOK, "GET", logsPath, nil)
	if store.asked.Scope != (query.Scope{Tenant: fmt.Sprint(blue["uuid"])}) {
		t.Errorf("the scope is %+v", store.asked.Scope)
	}
	bob.lacks("READ_ACCESS", "PERMISSION_SYSTEMREPORT", "*", "GET", "/api/audit", nil)
}
