package rest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

func TestNobodyHasTheControllerTellWhatHeMayNotRead(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	eve, otto := h.play(admin, "eve"), h.playIn("*", admin, "otto")
	everything := privileges("PERMISSION_ANALYTICSPROFILE", "WRITE_ACCESS", "PERMISSION_ALERTCONFIG", "WRITE_ACCESS",
		"PERMISSION_ACTIONGROUPCONFIG", "WRITE_ACCESS")
	streaming := schema.Object{"client_log_streaming_config": schema.Object{"external_server": "203.0.113.9"}}
	rule := func(source string, more schema.Object) schema.Object {
		body := schema.Object{"name": source, "source": source, "alert_rule": more}
		if source == "METRICS" {
			body["object_type"] = "POOL"
		}
		return body
	}
	for _, c := range []struct {
		lacking, path string
		body          schema.Object
	}{
		{"PERMISSION_TRAFFIC_CAPTURE", "/api/analyticsprofile", streaming},
		{"PERMISSION_ALERT", "/api/alertconfig", rule("EVENT_LOGS",
			schema.Object{"sys_event_rule": []any{schema.Object{"event_id": "VS_DOWN"}}})},
		{"PERMISSION_TRAFFIC_CAPTURE", "/api/alertconfig", rule("APP_LOGS", schema.Object{
			"conn_app_log_rule": schema.Object{"filter_string": "filter=ge(response_code,500)"}})},
		{"PERMISSION_POOL", "/api/alertconfig", rule("METRICS", schema.Object{"metrics_rule": []any{schema.Object{
			"metric_id":        "l4_server.avg_open_conns",
			"metric_threshold": schema.Object{"threshold": 5}}}})},
		{"PERMISSION_ALERT", "/api/webhook", schema.Object{"callback_url": "https://203.0.113.9/",
			"verification_token": "0123456789abcdef"}},
	} {
		body := schema.Clone(c.body)
		body["name"] = "of " + c.lacking + c.path[len("/api"):]
		may := everything
		if c.lacking != "PERMISSION_ALERT" {
			may = append(privileges("PERMISSION_ALERT", "READ_ACCESS"), may...)
		}
		otto.may(may)
		otto.lacks("READ_ACCESS", c.lacking, "*", "POST", c.path, body)
		may = append(privileges(c.lacking, "READ_ACCESS"), may...)
		eve.may(may)
		if c.path == "/api/analyticsprofile" {
			eve.lacks("READ_ACCESS", c.lacking, "*", "POST", c.path, body) // in admin alone, of all tenants
		} else {
			eve.want(http.StatusForbidden, "POST", c.path, body)
		}
		otto.may(may)
		otto.want(http.StatusCreated, "POST", c.path, body)
	}
	eve.may(everything)
	eve.want(http.StatusForbidden, "PATCH", "/api/analyticsprofile/"+
		schema.BuiltinUUID("analyticsprofile", "System-Analytics-Profile"), schema.Object{"add": streaming})
}

func TestRoleThatIsNotThereCannotBeTakenOver(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	admin.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": "red"})
	eve := h.play(admin, "eve")
	eve.may(privileges("PERMISSION_ROLE", "WRITE_ACCESS", "PERMISSION_POOL", "WRITE_ACCESS"))
	for ref, role := range map[string]schema.Object{
		"/api/role?name=Ops": {"name": "Ops"}, "/api/role/role-ops": {"name": "ops", "uuid": "role-ops"},
	} {
		name := role["name"].(string) + "-user"
		made := admin.user(name, in("*", ""))
		h.must(h.store.Update(t.Context(), func(tx *store.Tx) error {
			record, _ := tx.View().Get("user", made["uuid"].(string))
			older := *record
			older.Object = schema.Clone(record.Object)
			older.Object["access"].([]any)[0].(schema.Object)["role_ref"] = ref
			tx.Put(&older)
			return nil
		}))
		role["privileges"] = privileges("PERMISSION_POOL", "WRITE_ACCESS")
		answer := eve.do("POST", "/api/role", role)
		if role["uuid"] != nil && answer.Code == http.StatusCreated &&
			strings.Contains(answer.Body.String(), "role-ops") {
			t.Errorf("%s was taken over: %s", ref, answer.Body)
		}
		user := h.loginAs(name, userPassword)
		if got := user.do("GET", "/api/pool", nil); got.Code != http.StatusForbidden {
			t.Errorf("%s: %d", ref, got.Code)
		}
		// An administrator shuts such a user out at once.
		admin.want(http.StatusOK, "PATCH", path(made),
			schema.Object{"replace": schema.Object{"is_active": false}})
	}
}

func TestScoreOfAServiceShowsItsPartsToThoseWhoMayReadThem(t *testing.T) {
	h, _, admin, _, vs, _ := measuring(t)
	pool := admin.pool("the pool")["uuid"].(string)
	h.api.scores = func(kind, uuid string) (score.Report, bool) {
		of := score.Score{Band: score.Fair, Value: 70}
		return score.Report{Kind: kind, UUID: uuid, Score: of, Parts: []score.Report{{Kind: "pool", UUID: pool,
				Name: "the pool", Score: of, Parts: []score.Report{{Kind: "server", Name: "10.0.0.7:80", Score: of}}}}},
			true
	}
	eve := h.play(admin, "eve")
	target := "/api/analytics/healthscore/virtualservice/" + vs
	eve.may(privileges("PERMISSION_VIRTUALSERVICE", "READ_ACCESS"))
	if body := eve.do("GET", target, nil).Body.String(); !strings.Contains(body, `"health_score"`) ||
		strings.Contains(body, "the pool") || strings.Contains(body, "10.0.0.7") || strings.Contains(body, pool) {
		t.Errorf("without pools: %s", body)
	}
	eve.may(privileges("PERMISSION_VIRTUALSERVICE", "READ_ACCESS", "PERMISSION_POOL", "READ_ACCESS"))
	if body := eve.do("GET", target, nil).Body.String(); !strings.Contains(body, "10.0.0.7") {
		t.Errorf("with pools: %s", body)
	}
}

func TestListsDoNotTellWhatHiddenObjectsReferTo(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	admin.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": "red"})
	vip := admin.user("vip", in("red", "Tenant-Admin"))
	eve := h.play(admin, "eve")
	eve.may(privileges("PERMISSION_ROLE", "READ_ACCESS", "PERMISSION_USER", "READ_ACCESS"))
	list := "/api/role?referred_by=user:" + vip["uuid"].(string)
	if got := admin.want(http.StatusOK, "GET", list, nil)["count"]; got != 1.0 {
		t.Errorf("an administrator sees %v roles", got)
	}
	if got := eve.want(http.StatusOK, "GET", list, nil)["count"]; got != 0.0 {
		t.Errorf("eve sees %v roles", got)
	}
	eve.want(http.StatusNotFound, "GET", "/api/weir/applied?revision=1&kind=user&uuid="+vip["uuid"].(string), nil)
}

func TestAuditTrailHasWhatWasRefusedAtTheDoor(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	admin.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": "red"})
	eve := h.play(admin, "eve")
	eve.may(privileges("PERMISSION_POOL", "WRITE_ACCESS"))
	eve.want(http.StatusForbidden, "POST", "/api/securetoken-generate", nil)
	eve.header.Set("X-Avi-Tenant", "red")
	eve.want(http.StatusForbidden, "POST", "/api/pool", schema.Object{"name": "x"})
	var seen []string
	for _, entry := range h.api.gate.Audit.Entries() {
		if entry.User == "eve" && entry.Refused != "" {
			seen = append(seen, entry.Action+" "+entry.Kind+" in "+entry.Tenant)
		}
	}
	if got := strings.Join(seen, "; "); !strings.Contains(got, "create securetoken") ||
		!strings.Contains(got, "create pool in red") {
		t.Errorf("the audit trail has: %s", got)
	}
}

func TestKeysOfAProfileAreTurnedByThoseWhoMayWriteIt(t *testing.T) {
	h := newHouse(t)
	orders := &heard{profile: schema.BuiltinUUID("sslprofile", "System-Standard")}
	h.api.orders = orders
	admin := h.login()
	target := "/api/virtualservice/" + admin.virtualService("web", nil)["uuid"].(string) + "/rotatekeys"
	eve := h.play(admin, "eve")
	eve.may(privileges("PERMISSION_VIRTUALSERVICE", "WRITE_ACCESS"))
	eve.lacks("WRITE_ACCESS", "PERMISSION_SSLPROFILE", "admin", "POST", target, nil)
	eve.may(privileges("PERMISSION_VIRTUALSERVICE", "WRITE_ACCESS", "PERMISSION_SSLPROFILE", "WRITE_ACCESS"))
	eve.want(http.StatusOK, "POST", target, nil)
}
