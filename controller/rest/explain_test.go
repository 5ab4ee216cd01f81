package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

func TestQuestionIsReadFromParametersAndFromJSON(t *testing.T) {
	h := newHouse(t)
	user := h.login()
	web := user.virtualService("web", user.pool("servers")["uuid"])["uuid"].(string)
	var asked Question
	h.api.explain = func(_ context.Context, q Question, _ *store.View, sees func(string) bool) (
		schema.Object, string, error) {
		asked = q
		return schema.Object{"sees": sees(web), "sees_others": sees("virtualservice-0")}, "", nil
	}
	got := user.want(http.StatusOK, "GET", "/api/weir/explain?url="+url.QueryEscape("https://a.test:8443/x?y=%20z")+
		"&method=PUT&header="+url.QueryEscape("X-A: b")+"&client=2001:db8::1&virtualservice="+web, nil)
	if got["sees"] != true || got["sees_others"] != false {
		t.Errorf("%v", got)
	}
	const want = "{true a.test a.test:8443 invalid IP 8443 PUT /x?y=%20z [[X-A b]] [2001:db8::1]:50000 "
	if text := fmt.Sprint(asked); text != want+web+" }" {
		t.Errorf("%s", text)
	}
	user.want(http.StatusOK, "POST", "/api/weir/explain", schema.Object{"url": "http://[2001:db8::2]/",
		"header": []any{"Host: other.test", "Cookie: a=b"}, "address": "10.0.0.1", "client": "10.0.0.9:7"})
	if text := fmt.Sprint(
		asked); text != "{false 2001:db8::2 other.test 10.0.0.1 80 GET / [[Cookie a=b]] 10.0.0.9:7  }" {
		t.Errorf("%s", text)
	}
}

func TestQuestionsThatNobodyCanAnswerAreRefused(t *testing.T) {
	h := newHouse(t)
	user := h.login()
	h.api.explain = func(context.Context, Question, *store.View, func(string) bool) (schema.Object, string, error) {
		return nil, "nothing listens there", nil
	}
	for query, want := range map[string]string{
		"":                                   "begins with http:// or https://",
		"url=ftp://a/":                       "begins with http:// or https://",
		"url=http://":                        "names no host",
		"url=http://u:p@a/":                  "user name",
		"url=http://a:0/":                    "is no port",
		"url=http://a:99999/":                "is no port",
		"url=http://a/":                      "nothing listens there",
		"url=http://a/%00":                   "control characters",
		"url=http://a/%1b[31m":               "control characters",
		"url=http://a/&client=x":             "is no IP address",
		"url=http://a/&address=a.test":       "is no IP address",
		"url=http://a/&method=G+T":           "is no method",
		"url=http://a/&header=X":             "is no header",
		"url=http://a/&header=X%0d%0aY:+z":   "is no header",
		"url=http://a/&header=X:+a%0d%0aY:+": "is no header",
		"url=http://a/&shape=round":          "is unknown",
	} {
		got := user.want(http.StatusBadRequest, "GET", "/api/weir/explain?"+query, nil)
		if text := fmt.Sprint(got["error"]); !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %q", query, text, want)
		}
	}
	user.want(http.StatusNotFound, "GET", "/api/weir/explain?url=http://a/&virtualservice=virtualservice-0", nil)
	many := "url=http://a/" + strings.Repeat("&header=X:+y", questionFieldsMax+1)
	user.want(http.StatusBadRequest, "GET", "/api/weir/explain?"+many, nil)
	h.api.explain = func(context.Context, Question, *store.View, func(string) bool) (schema.Object, string, error) {
		return nil, "", ErrExplainBusy
	}
	user.want(http.StatusTooManyRequests, "GET", "/api/weir/explain?url=http://a/", nil)
}

func TestVirtualServiceOfAnotherTenantIsNotExplained(t *testing.T) {
	h, _, admin, blue, ofAdmin, ofBlue := measuring(t)
	h.api.explain = func(_ context.Context, q Question, _ *store.View, sees func(string) bool) (
		schema.Object, string, error) {
		return schema.Object{"admins": sees(ofAdmin), "blues": sees(ofBlue)}, "", nil
	}
	if got := blue.want(http.StatusOK, "GET", "/api/weir/explain?url=http://a/", nil); got["admins"] != false ||
		got["blues"] != true {
		t.Errorf("%v", got)
	}
	blue.want(http.StatusNotFound, "GET", "/api/weir/explain?url=http://a/&virtualservice="+ofAdmin, nil)
	if got := admin.want(http.StatusOK, "GET", "/api/weir/explain?url=http://a/", nil); got["blues"] != false {
		t.Errorf("%v", got)
	}
}

func TestADraftIsAdmittedAsAWriteIsAndIsNotWritten(t *testing.T) {
	h := newHouse(t)
	user := h.login()
	pool := user.pool("servers")
	var seen *store.View
	h.api.explain = func(_ context.Context, _ Question, draft *store.View, _ func(string) bool) (schema.Object, string,
		error) {
		seen = draft
		return schema.Object{}, "", nil
	}
	asked := func(with ...any) schema.Object { return schema.Object{"url": "http://a.test/", "with": with} }
	named := func(view *store.View, kind, name string) (found schema.Object) {
		for record := range view.Named(kind, name) {
			found = record.Object
		}
		return found
	}
	before := h.api.store.View()

	changed := schema.Clone(pool)
	changed["lb_algorithm"], changed["colour"] = "LB_ALGORITHM_ROUND_ROBIN", "red"
	set := schema.Object{"name": "house", "http_request_policy": schema.Object{"rules": []any{schema.Object{
		"name": "api", "index": 1, "switching_action": schema.Object{"action": "HTTP_SWITCHING_SELECT_POOL",
			"pool_ref": "/api/pool?name=fresh"}}}}}
	got := user.want(http.StatusOK, "POST", "/api/weir/explain", asked(schema.Object{"pool": changed},
		schema.Object{"pool": schema.Object{"name": "fresh"}}, schema.Object{"httppolicyset": set}))
	text := fmt.Sprint(got["draft"])
	for _, part := range []string{"kind:pool name:servers", "field:colour", "kind:httppolicyset name:house"} {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %s", text, part)
		}
	}
	if named(seen, "pool", "servers")["lb_algorithm"] != "LB_ALGORITHM_ROUND_ROBIN" ||
		named(seen, "httppolicyset", "house") == nil {
		t.Error("the draft lacks its objects")
	}
	if h.api.store.View() != before || named(before, "httppolicyset", "house") != nil ||
		named(before, "pool", "servers")["lb_algorithm"] == "LB_ALGORITHM_ROUND_ROBIN" {
		t.Error("the draft was written")
	}

	tried := func() (taken, refused int) {
		for _, entry := range h.api.gate.Audit.Entries() {
			switch {
			case entry.Action != "explain":
			case entry.Refused == "":
				taken++
			default:
				refused++
			}
		}
		return taken, refused
	}

	// What a write refuses is refused with the same error.
	for _, object := range []schema.Object{
		{"name": "servers"}, {"name": "x", "lb_algorithm": "LB_ALGORITHM_DICE"}, {"name": "x", "servers": 7},
		{"name": "x", "health_monitor_refs": []any{"/api/healthmonitor?name=none"}},
	} {
		written := user.do("POST", "/api/pool", object)
		drafted := user.do("POST", "/api/weir/explain", asked(schema.Object{"pool": object}))
		if written.Code < http.StatusBadRequest || written.Code != drafted.Code ||
			written.Body.String() != drafted.Body.String() {
			t.Errorf("%v: a write gets %d %s, a draft %d %s", object, written.Code, written.Body, drafted.Code,
				drafted.Body)
		}
	}
	if taken, refused := tried(); taken != 3 || refused != 4 {
		t.Errorf("the audit trail has %d objects of drafts that were taken, and %d of others", taken, refused)
	}
	for _, with := range []any{schema.Object{}, []any{}, []any{"pool"}, []any{schema.Object{"teapot": schema.Object{}}},
		[]any{schema.Object{"pool": 1}}, []any{schema.Object{"pool": schema.Object{}, "vsvip": schema.Object{}}}} {
		user.want(http.StatusBadRequest, "POST", "/api/weir/explain",
			schema.Object{"url": "http://a.test/", "with": with})
	}
}
