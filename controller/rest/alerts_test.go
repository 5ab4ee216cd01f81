package rest

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/schema"
)

func (s *client) webhook(name string) string {
	s.h.t.Helper()
	made := s.want(http.StatusCreated, "POST", "/api/webhook", schema.Object{"name": name,
		"callback_url": "https://pager.example.com", "verification_token": "0123456789abcdef"})
	if made["verification_token"] != schema.Sensitive {
		s.h.t.Errorf("the token reads %v", made["verification_token"])
	}
	return made["uuid"].(string)
}

func TestReceiverIsTestedNow(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	uuid := admin.webhook("pager")
	var asked []string
	h.api.tester = func(_ context.Context, kind, uuid, by string) []Tested {
		asked = append(asked, kind, uuid, by)
		return []Tested{{Action: "webhook", UUID: uuid, Name: "pager", OK: false, Answer: "503", Took: time.Second}}
	}
	got := admin.want(http.StatusOK, "POST", "/api/webhook/"+uuid+"/test", schema.Object{})
	result := got["results"].([]any)[0].(schema.Object)
	if got["ok"] != false || result["answer"] != "503" || result["took_ms"] != 1000.0 || result["name"] != "pager" {
		t.Errorf("got %v", got)
	}
	if len(asked) != 3 || asked[0] != "webhook" || asked[1] != uuid || asked[2] != "admin" {
		t.Errorf("asked %q", asked)
	}
	admin.want(http.StatusNotFound, "POST", "/api/webhook/webhook-none/test", schema.Object{})
	h.api.tester = func(context.Context, string, string, string) []Tested { return nil }
	group := admin.want(http.StatusOK, "GET", "/api/actiongroupconfig?name=System-Alert-Level-Low", nil)
	of := group["results"].([]any)[0].(schema.Object)["uuid"].(string)
	admin.want(http.StatusBadRequest, "POST", "/api/actiongroupconfig/"+of+"/test", schema.Object{})
}

func TestRuleIsSilencedWithAReason(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	rule := admin.want(http.StatusOK, "GET", "/api/alertconfig?name=System-VS-Alert", nil)
	path := "/api/alertconfig/" + rule["results"].([]any)[0].(schema.Object)["uuid"].(string) + "/silence"
	for _, wrong := range []schema.Object{
		{"minutes": int64(5)}, {"why": "x"}, {"why": "x", "minutes": int64(0)}, {"why": "x", "until": "soon"},
		{"why": "x", "until": "2025-01-01T00:00:00Z"}, {"why": "x", "minutes": int64(5), "who": "jo"},
	} {
		admin.want(http.StatusBadRequest, "POST", path, wrong)
	}
	first := schema.Object{"why": "new servers", "minutes": int64(5), "obj_uuid": "vs-1"}
	admin.want(http.StatusOK, "POST", path, first)
	h.clock.at = h.clock.at.Add(6 * time.Minute)
	got := admin.want(http.StatusOK, "POST", path, schema.Object{"why": "again", "until": "2026-01-03T00:00:00Z"})
	silences := got["weir_silences"].([]any)
	if len(silences) != 1 {
		t.Fatalf("one is over, and there are %v", silences)
	}
	if silence := silences[0].(schema.Object); silence["by"] != "admin" || silence["why"] != "again" ||
		silence["until"] != "2026-01-03T00:00:00Z" {
		t.Errorf("got %v", silence)
	}
}

func TestAlertsAreNotWrittenByClients(t *testing.T) {
	admin := newHouse(t).login()
	admin.want(http.StatusMethodNotAllowed, "POST", "/api/alert", schema.Object{"name": "a"})
	if got := admin.want(http.StatusOK, "GET", "/api/alert", nil); got["count"] != 0.0 {
		t.Errorf("got %v", got)
	}
}
