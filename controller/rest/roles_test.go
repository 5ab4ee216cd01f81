package rest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const userPassword = "a user's password"

// privileges are those of a role: "PERMISSION_POOL", "READ_ACCESS", …
func privileges(pairs ...string) []any {
	list := []any{}
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, schema.Object{"resource": pairs[i], "type": pairs[i+1]})
	}
	return list
}

// everyPrivilege has the same access to each resource.
func everyPrivilege(access string) []any {
	var pairs []string
	for _, resource := range schema.Resources {
		pairs = append(pairs, resource, access)
	}
	return privileges(pairs...)
}

// in is an entry of a user's access.
func in(tenant, role string) schema.Object {
	entry := schema.Object{"tenant_ref": "/api/tenant?name=" + tenant}
	if tenant == "*" {
		entry = schema.Object{"tenant_ref": "/api/tenant/admin", "all_tenants": true}
	}
	if role != "" {
		entry["role_ref"] = "/api/role?name=" + role
	}
	return entry
}

func (c *client) role(name string, privileges []any) schema.Object {
	c.h.t.Helper()
	return c.want(http.StatusCreated, "POST", "/api/role", schema.Object{"name": name, "privileges": privileges})
}

func (c *client) user(name string, access ...any) schema.Object {
	c.h.t.Helper()
	return c.want(http.StatusCreated, "POST", "/api/user", schema.Object{"name": name, "password": userPassword,
		"access": append([]any{}, access...)})
}

// played is a user with one role, whose privileges a test changes.
type played struct {
	*client
	admin *client
	role  string // path
}

func (h *house) play(admin *client, name string) *played { return h.playIn("admin", admin, name) }

func (h *house) playIn(tenant string, admin *client, name string) *played {
	h.t.Helper()
	role := admin.role("role of "+name, nil)
	admin.user(name, in(tenant, "role of "+name))
	return &played{h.loginAs(name, userPassword), admin, path(role)}
}

func (p *played) may(list []any) {
	p.h.t.Helper()
	p.admin.want(http.StatusOK, "PATCH", p.role, schema.Object{"replace": schema.Object{"privileges": list}})
}

// lacks wants a request to be refused for want of access to a resource.
func (c *client) lacks(access, resource, tenant, method, target string, body any) {
	c.h.t.Helper()
	answer := c.want(http.StatusForbidden, method, target, body)
	want := schema.Object{"resource": resource, "type": access, "tenant": tenant}
	if got, _ := answer["weir_lacking"].(schema.Object); !maps.Equal(got, want) {
		c.h.t.Errorf("%s %s: lacks %v, want %v (%v)", method, target, got, want, answer["error"])
	}
	said, _ := answer["error"].(string)
	if !strings.Contains(said, access+" to "+resource) || !strings.Contains(said, "administrators (superusers)") {
		c.h.t.Errorf("%s %s says %q", method, target, said)
	}
}

// passes wants that no role refuses a request.
func (c *client) passes(method, target string, body any) {
	c.h.t.Helper()
	if answer := c.do(method, target, body); answer.Code == http.StatusForbidden || answer.Code >= 500 {
		c.h.t.Errorf("%s %s: %d %s", method, target, answer.Code, answer.Body)
	}
}

// request is one way to an object of a kind.
type request struct {
	method, path string
	body         any
	writes       bool
}

// requestsFor are all requests for objects of a kind, with the uuid of one.
func requestsFor(kind *schema.Kind, uuid string) []request {
	all, one := "/api/"+kind.Name, "/api/"+kind.Name+"/"+uuid
	list := []request{{"GET", one, nil, false}, {"HEAD", one, nil, false},
		{"GET", all + "-inventory/" + uuid, nil, false},
		{"GET", all + "-inventory", nil, false}, {"GET", all, nil, false},
		{"PUT", one, schema.Object{"name": "x"}, true},
		{"PATCH", one, schema.Object{"replace": schema.Object{"description": "x"}}, true}}
	if kind.Only != "" {
		return list
	}
	list = append(list, request{"DELETE", one, nil, true})
	if !kind.Creatable() {
		return list
	}
	return append(list, request{"POST", all, schema.Object{"name": "new"}, true},
		request{"POST", "/api/macro", schema.Object{"model_name": kind.Title,
			"data": schema.Object{"name": "of macro"}},
			true})
}

func TestEachKindIsOpenedByItsResourceAlone(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	eve, otto := h.play(admin, "eve"), h.playIn("*", admin, "otto")
	admin.user("somebody")
	admin.role("some", nil)
	// Their objects have the controller tell others what happens in all tenants.
	telling := []string{"actiongroupconfig", "alertconfig", "alertemailconfig", "alertsyslogconfig", "webhook"}
	for _, kind := range schema.Kinds() {
		user, write := eve, privileges(kind.Permission, "WRITE_ACCESS")
		if slices.Contains(telling, kind.Name) {
			user, write = otto, append(write, privileges(schema.EventResource, "READ_ACCESS")...)
		}
		uuid := "none"
		for _, record := range h.store.View().List(kind.Name) {
			if uuid == "none" || slices.Contains([]string{"somebody", "some"}, record.Name) {
				uuid = record.UUID
			}
		}
		others := slices.DeleteFunc(slices.Clone(everyPrivilege("WRITE_ACCESS")), func(one any) bool {
			return one.(schema.Object)["resource"] == kind.Permission
		})
		for access, list := range map[string][]any{
			"NO_ACCESS":    others,
			"READ_ACCESS":  privileges(kind.Permission, "READ_ACCESS"),
			"WRITE_ACCESS": write,
		} {
			user.may(list)
			for _, r := range requestsFor(kind, uuid) {
				switch {
				case access == "NO_ACCESS" && r.method == "HEAD":
					if answer := user.do(r.method, r.path, nil); answer.Code != http.StatusForbidden {
						t.Errorf("%s of %s: %d", r.method, r.path, answer.Code)
					}
				case access == "NO_ACCESS" && !r.writes:
					user.lacks("READ_ACCESS", kind.Permission, "admin", r.method, r.path, nil)
				case access != "WRITE_ACCESS" && r.writes:
					user.lacks("WRITE_ACCESS", kind.Permission, "admin", r.method, r.path, r.body)
				default:
					user.passes(r.method, r.path, r.body)
				}
			}
		}
	}
}

// roleAsks are what paths that are not of a kind ask of roles: the method and the path, and the resource with its
// access; "": nothing.
var roleAsks = map[string]string{
	"GET /api/analytics/logs?type=0": "TRAFFIC_CAPTURE READ", "GET /api/analytics/logs?type=1": "TRAFFIC_CAPTURE READ",
	"GET /api/analytics/logs?type=1&format=csv": "TRAFFIC_CAPTURE READ",
	"GET /api/analytics/logs?type=2":            "ALERT READ",
	"GET /api/analytics/logs?type=2&format=csv": "ALERT READ",
	"GET /api/weir/explain/x":                   "TRAFFIC_CAPTURE READ",
	"GET /api/weir/explain?url=http://a/":       "VIRTUALSERVICE READ", "POST /api/weir/explain": "VIRTUALSERVICE READ",
	"HEAD /api/weir/live?topics=overview": "VIRTUALSERVICE READ",
	"HEAD /api/weir/live?topics=vs:x":     "VIRTUALSERVICE READ",
	"HEAD /api/weir/live?topics=pool:x":   "POOL READ", "HEAD /api/weir/live?topics=engines": "SERVICEENGINE READ",

	"GET /api/analytics/anomaly/virtualservice/x":          "VIRTUALSERVICE READ",
	"GET /api/analytics/anomaly/pool/x":                    "POOL READ",
	"GET /api/analytics/healthscore/virtualservice":        "VIRTUALSERVICE READ",
	"GET /api/analytics/healthscore/pool/x":                "POOL READ",
	"GET /api/analytics/healthscore/serviceengine/x":       "SERVICEENGINE READ",
	"GET /api/analytics/metrics/virtualservice":            "VIRTUALSERVICE READ",
	"GET /api/analytics/metrics/virtualservice/x":          "VIRTUALSERVICE READ",
	"GET /api/analytics/metrics/pool/x":                    "POOL READ",
	"GET /api/analytics/metrics/serviceengine/x":           "SERVICEENGINE READ",
	"GET /api/analytics/metrics/controller/x?metric_id=a":  "CONTROLLER READ",
	"GET /api/analytics/prometheus-metrics/virtualservice": "VIRTUALSERVICE READ",
	"GET /api/analytics/prometheus-metrics/pool":           "POOL READ",
	"GET /api/analytics/prometheus-metrics/serviceengine":  "SERVICEENGINE READ",
	"POST /api/analytics/metrics/collection":               "SERVICEENGINE READ",

	"POST /api/virtualservice/x/scaleout":       "VIRTUALSERVICE WRITE",
	"POST /api/virtualservice/x/scalein":        "VIRTUALSERVICE WRITE",
	"POST /api/virtualservice/x/migrate":        "VIRTUALSERVICE WRITE",
	"POST /api/virtualservice/x/switchover":     "VIRTUALSERVICE WRITE",
	"POST /api/virtualservice/x/retryplacement": "VIRTUALSERVICE WRITE",
	"POST /api/virtualservice/x/rotatekeys":     "VIRTUALSERVICE WRITE",
	"POST /api/virtualservice/x/purge":          "VIRTUALSERVICE WRITE",
	"GET /api/virtualservice/x/scaleoutstatus":  "VIRTUALSERVICE READ",
	"GET /api/virtualservice/x/runtime":         "VIRTUALSERVICE READ",
	"GET /api/virtualservice/x/runtime/detail":  "VIRTUALSERVICE READ",
	"GET /api/pool/x/runtime":                   "POOL READ", "GET /api/pool/x/runtime/server": "POOL READ",
	"GET /api/serviceengine/x/runtime": "SERVICEENGINE READ", "GET /api/serviceengine/x/bgp": "SERVICEENGINE READ",
	"POST /api/actiongroupconfig/x/test":                "ACTIONGROUPCONFIG WRITE",
	"POST /api/webhook/x/test":                          "ACTIONGROUPCONFIG WRITE",
	"POST /api/alertemailconfig/x/test":                 "ALERTEMAILCONFIG WRITE",
	"POST /api/alertsyslogconfig/x/test":                "ALERTSYSLOGCONFIG WRITE",
	"POST /api/alertconfig/x/silence":                   "ALERTCONFIG WRITE",
	"POST /api/serviceenginegroup/x/redistribute":       "SERVICEENGINEGROUP WRITE",
	"GET /api/poolgroup-inventory":                      "POOLGROUP READ",
	"POST /api/securetoken-generate":                    "SE_TOKEN WRITE",
	"GET /api/weir/applied?revision=1&kind=pool&uuid=x": "POOL READ",

	"GET /api/analytics/metric_id": "", "GET /api/analytics/metrics-options": "",
	"GET /api/weir/applied?revision=1":     "",
	"GET /api/weir/promql/api/v1/metadata": "", "GET /api/weir/promql/api/v1/query_exemplars": "",
	"POST /api/weir/promql/api/v1/query_exemplars": "",
	"GET /api/gslbservice-inventory":               "", "GET /api/network-inventory": "",
}

var roleBodies = map[string]any{
	"POST /api/weir/explain": schema.Object{"url": "http://a/"},
	"POST /api/analytics/metrics/collection": schema.Object{"metric_requests": []any{
		schema.Object{"metric_entity": "SE_METRICS_ENTITY", "metric_id": "se_stats.avg_bandwidth"}}},
	"POST /api/alertconfig/x/silence": schema.Object{"minutes": 5, "why": "a test"},
}

// ofSeries are the paths that show the series of all kinds that a role opens.
var ofSeries = []string{"GET /metrics", "GET /api/weir/promql/api/v1/query?query=1",
	"GET /api/weir/promql/api/v1/query_range?query=1&start=0&end=1&step=1", "GET /api/weir/promql/api/v1/labels",
	"GET /api/weir/promql/api/v1/label/x/values", "GET /api/weir/promql/api/v1/series?match[]=a"}

func TestEachPathAsksForItsResource(t *testing.T) {
	h, _, admin, _, _, _ := measuring(t)
	h.api.logs, h.api.requests = &shelf{}, nil
	h.api.progress = func(int64, string) schema.Object { return schema.Object{"refusals": []any{}} }
	h.api.explain = func(context.Context, Question, *store.View, func(string) bool) (schema.Object, string, error) {
		return schema.Object{}, "", nil
	}
	user := h.play(admin, "eve")
	user.header.Set("X-Avi-Tenant", "admin")
	for at, asked := range roleAsks {
		method, target, _ := strings.Cut(at, " ")
		body := roleBodies[at]
		if asked == "" {
			user.may(nil)
			user.passes(method, target, body)
			continue
		}
		name, level, _ := strings.Cut(asked, " ")
		resource, access := "PERMISSION_"+name, level+"_ACCESS"
		less := "NO_ACCESS"
		if level == "WRITE" {
			less = "READ_ACCESS"
		}
		for _, list := range [][]any{nil, privileges(resource, less)} {
			user.may(list)
			if method == "HEAD" {
				if answer := user.do(method, target, nil); answer.Code != http.StatusForbidden {
					t.Errorf("%s: %d", at, answer.Code)
				}
				continue
			}
			user.lacks(access, resource, "admin", method, target, body)
		}
		user.may(privileges(resource, access))
		user.passes(method, target, body)
	}
}

func TestHowFarAWriteIsNamesNoEnginesToThoseWhoMayNotReadThem(t *testing.T) {
	h := newHouse(t)
	h.api.progress = func(int64, string) schema.Object {
		return schema.Object{"refusals": []any{schema.Object{"engine": "e"}}}
	}
	user := h.play(h.login(), "eve")
	const pool, engine = "PERMISSION_POOL", "PERMISSION_SERVICEENGINE"
	for resource, want := range map[string]string{pool: "[]", engine: "[map[engine:e]]"} {
		user.may(privileges(resource, "READ_ACCESS"))
		shown := user.want(http.StatusOK, "GET", "/api/weir/applied?revision=1", nil)
		if got := fmt.Sprint(shown["refusals"]); got != want {
			t.Errorf("with %s: %s", resource, got)
		}
	}
}

func TestNoPathIsWithoutTest(t *testing.T) {
	tested := map[string]bool{"POST /api/macro": true, "GET /api/audit": true, "GET /api/weir/live": true}
	for at := range roleAsks {
		at, _, _ = strings.Cut(at, "?")
		tested[at] = true
	}
	for _, at := range ofSeries {
		at, _, _ = strings.Cut(at, "?")
		tested[at], tested["POST"+strings.TrimPrefix(at, "GET")] = true, true
	}
	for _, kind := range schema.Kinds() {
		for _, suffix := range []string{"", "-inventory", "-inventory/x"} {
			tested["GET /api/"+kind.Name+suffix] = true
		}
	}
	for _, kind := range []string{"virtualservice", "pool", "serviceengine"} {
		for _, area := range []string{"metrics", "healthscore", "anomaly", "prometheus-metrics"} {
			at := "GET /api/analytics/" + area + "/" + kind
			if tested[at] || tested[at+"/x"] {
				tested["GET /api/analytics/"+area+"/x"], tested["GET /api/analytics/"+area+"/x/x"] = true, true
			}
		}
	}
	for _, at := range paths() {
		if !tested[at.method+" "+at.path] {
			t.Errorf("no test knows what %s %s asks of roles: add it to roleAsks", at.method, at.path)
		}
	}
}

func TestSeriesAreThoseOfTheKindsThatARoleOpens(t *testing.T) {
	h, n, admin, _, _, _ := measuring(t)
	user := h.play(admin, "eve")
	for _, at := range ofSeries {
		method, target, _ := strings.Cut(at, " ")
		user.may(privileges("PERMISSION_CLOUD", "WRITE_ACCESS"))
		user.refused(http.StatusForbidden, "READ_ACCESS to PERMISSION_VIRTUALSERVICE", method, target, nil)
		user.may(privileges("PERMISSION_POOL", "READ_ACCESS", "PERMISSION_CONTROLLER", "WRITE_ACCESS"))
		n.query.Kinds, n.selection.Kinds, n.exposed.Kinds = nil, nil, nil
		user.passes(method, target, nil)
		if got := fmt.Sprint(slices.Concat(n.query.Kinds, n.selection.Kinds,
			n.exposed.Kinds)); got != "[pool controller]" {
			t.Errorf("%s shows %s", at, got)
		}
		admin.passes(method, target, nil)
		if n.query.Kinds != nil && n.selection.Kinds != nil && n.exposed.Kinds != nil {
			t.Errorf("%s: an administrator sees a part only", at)
		}
	}
}

func TestAPoolInTheParametersIsNoWayAroundARole(t *testing.T) {
	h, _, admin, _, web, _ := measuring(t)
	user := h.play(admin, "eve")
	user.may(privileges("PERMISSION_VIRTUALSERVICE", "READ_ACCESS"))
	user.lacks("READ_ACCESS", "PERMISSION_POOL", "admin", "GET", "/api/analytics/metrics/virtualservice/"+web+
		"?metric_id=l4_server.avg_bandwidth&pool_uuid="+h.uuidOf("pool", "servers"), nil)
}

func TestADimensionIsNoWayAroundARole(t *testing.T) {
	h, store, admin, path := splitting(t)
	user := h.play(admin, "eve")
	user.may(privileges("PERMISSION_VIRTUALSERVICE", "READ_ACCESS"))
	web := strings.TrimPrefix(path[:strings.Index(path, "?")], "/api/analytics/metrics/virtualservice/")
	body := schema.Object{"metric_requests": []any{schema.Object{"metric_id": "l7_client.avg_total_requests",
		"entity_uuid": web, "dimensions": "URL"}}}
	user.lacks("READ_ACCESS", "PERMISSION_TRAFFIC_CAPTURE", "admin", "GET", path+"CLIENT_IP", nil)
	user.lacks("READ_ACCESS", "PERMISSION_TRAFFIC_CAPTURE", "admin", "POST", "/api/analytics/metrics/collection", body)
	if len(store.asked) > 0 {
		t.Errorf("asked %+v", store.asked)
	}
	user.may(privileges("PERMISSION_VIRTUALSERVICE", "READ_ACCESS", "PERMISSION_TRAFFIC_CAPTURE", "READ_ACCESS"))
	user.want(http.StatusOK, "GET", path+"URL", nil)
}

func TestStreamEndsWhenItsRoleDoes(t *testing.T) {
	for _, topic := range []string{"overview", "engines"} {
		h := newHouse(t)
		s, admin := h.serve(), h.login()
		user := h.play(admin, "eve")
		user.may(privileges("PERMISSION_VIRTUALSERVICE", "READ_ACCESS", "PERMISSION_SERVICEENGINE", "READ_ACCESS"))
		r := s.stream(user.client, "?topics="+topic, nil)
		r.wants("event: snapshot")
		resource := map[string]string{"overview": "PERMISSION_VIRTUALSERVICE",
			"engines": "PERMISSION_SERVICEENGINE"}[topic]
		user.may(slices.DeleteFunc(privileges("PERMISSION_VIRTUALSERVICE", "READ_ACCESS", "PERMISSION_SERVICEENGINE",
			"READ_ACCESS"), func(one any) bool { return one.(schema.Object)["resource"] == resource }))
		r.ends("lacks READ_ACCESS to " + resource)
	}
}

func TestARoleCountsInItsTenantOnly(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	for _, name := range []string{"blue", "green"} {
		admin.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": name})
	}
	const resource, monitors = "PERMISSION_HEALTHMONITOR", "/api/healthmonitor"
	monitor := func(name, tenant string) schema.Object {
		body := schema.Object{"name": name, "type": "HEALTH_MONITOR_TCP"}
		if tenant != "" {
			body["tenant_ref"] = "/api/tenant?name=" + tenant
		}
		return body
	}
	describe := schema.Object{"replace": schema.Object{"description": "x"}}
	admin.role("writes", privileges(resource, "WRITE_ACCESS"))
	admin.role("looks", privileges(resource, "READ_ACCESS"))
	shared := path(admin.want(http.StatusCreated, "POST", monitors, monitor("shared", "")))
	admin.user("eve", in("blue", "writes"), in("green", "looks"))
	eve := h.loginAs("eve", userPassword)
	eve.header.Set("X-Avi-Tenant", "blue")
	own := path(eve.want(http.StatusCreated, "POST", monitors, monitor("of blue", "")))
	eve.want(http.StatusOK, "GET", shared, nil)
	for _, r := range []request{{"PUT", shared, monitor("shared", ""), true}, {"PATCH", shared, describe, true},
		{"DELETE", shared, nil, true}, {"POST", monitors, monitor("x", "admin"), true},
		{"POST", "/api/macro", schema.Object{"model_name": "HealthMonitor", "data": monitor("x", "admin")}, true}} {
		eve.lacks("WRITE_ACCESS", resource, "admin", r.method, r.path, r.body)
	}
	eve.lacks("WRITE_ACCESS", resource, "green", "POST", monitors, monitor("x", "green"))
	eve.header.Set("X-Avi-Tenant", "green")
	eve.lacks("WRITE_ACCESS", resource, "green", "POST", monitors, monitor("x", ""))
	eve.lacks("WRITE_ACCESS", resource, "green", "PATCH", shared, describe)
	eve.want(http.StatusOK, "GET", monitors, nil)
	eve.want(http.StatusOK, "GET", monitors+"?tenant=blue", nil)
	eve.header.Set("X-Avi-Tenant", "*")
	eve.refused(http.StatusForbidden, "no access to tenant *", "GET", monitors, nil)
	admin.role("pools", privileges("PERMISSION_POOL", "READ_ACCESS"))
	admin.user("adam", in("blue", "pools"), in("green", "looks"))
	adam := h.loginAs("adam", userPassword)
	adam.header.Set("X-Avi-Tenant", "green")
	adam.lacks("READ_ACCESS", resource, "blue", "GET", monitors+"?tenant=blue", nil)
	admin.user("all", in("*", "writes"))
	all := h.loginAs("all", userPassword)
	all.header.Set("X-Avi-Tenant", "*")
	all.want(http.StatusOK, "PATCH", own, describe)
	all.want(http.StatusOK, "PATCH", shared, describe)
}

func TestRightsAreThoseOfTheMomentOfTheWrite(t *testing.T) {
	h := newHouse(t)
	user := h.play(h.login(), "eve")
	user.may(privileges("PERMISSION_POOL", "WRITE_ACCESS"))
	_, who, err := h.gate.Login(t.Context(), admit.Credentials{Username: "eve", Password: userPassword}, "10.0.0.1")
	h.must(err)
	pools, _ := schema.Lookup("pool")
	w := admit.Write{Who: who, Tenant: admit.Tenant{UUID: "admin", Name: "admin"}, Kind: pools}
	made, err := h.gate.Create(t.Context(), w, schema.Object{"name": "p"}, "")
	h.must(err)
	user.may(privileges("PERMISSION_POOL", "READ_ACCESS"))
	same := func(o schema.Object) (schema.Object, error) { return o, nil }
	_, created := h.gate.Create(t.Context(), w, schema.Object{"name": "q"}, "")
	_, changed := h.gate.Change(t.Context(), w, made.UUID, same)
	for action, err := range map[string]error{"create": created, "change": changed,
		"delete": h.gate.Delete(t.Context(), w, made.UUID)} {
		if lacking, is := err.(*admit.Lacking); !is || lacking.Access != admit.WriteAccess {
			t.Errorf("%s: %v", action, err)
		}
	}
}

func TestRefusedWritesAreInTheAuditTrail(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	user := h.play(admin, "eve")
	user.want(http.StatusForbidden, "POST", "/api/pool", schema.Object{"name": "forbidden"})
	user.want(http.StatusForbidden, "POST", "/api/virtualservice/vs-1/scaleout", nil)
	got := ""
	for _, item := range admin.want(http.StatusOK, "GET", "/api/audit", nil)["results"].([]any)[:2] {
		entry := item.(schema.Object)
		got += fmt.Sprint(entry["user"], " ", entry["action"], " ", entry["kind"], " ", entry["object"],
			" ", entry["tenant"],
			" ", strings.Contains(fmt.Sprint(entry["refused"]), "lacks WRITE_ACCESS"), "\n")
	}
	if want := "eve scaleout virtualservice vs-1 admin true\neve create pool forbidden admin true\n"; got != want {
		t.Errorf("the trail has\n%s", got)
	}
}

func TestAuditTrailShowsWhatItsReaderMayRead(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	user := h.play(admin, "eve")
	user.may(everyPrivilege("WRITE_ACCESS"))
	user.lacks("READ_ACCESS", "PERMISSION_SYSTEMREPORT", "*", "GET", "/api/audit", nil)
	admin.pool("p")
	admin.role("auditor", privileges("PERMISSION_SYSTEMREPORT", "READ_ACCESS", "PERMISSION_POOL", "READ_ACCESS"))
	admin.user("otto", in("*", "auditor"))
	otto := h.loginAs("otto", userPassword)
	seen := map[any]bool{}
	for _, item := range otto.want(http.StatusOK, "GET", "/api/audit", nil)["results"].([]any) {
		seen[item.(schema.Object)["kind"]] = true
	}
	if len(seen) != 1 || !seen["pool"] {
		t.Errorf("the auditor of pools sees changes of %v", seen)
	}
	store := &shelf{}
	h.api.logs = store
	otto.want(http.StatusOK, "GET", "/api/audit", nil)
	if where := saidExpr(*store.asked.Where); !strings.Contains(where, "not kind eq user") ||
		!strings.Contains(where, "not kind eq useraccount") || strings.Contains(where, "kind eq pool ") {
		t.Errorf("the store is asked for %s", where)
	}
	admin.want(http.StatusOK, "GET", "/api/audit", nil)
	if store.asked.Where != nil {
		t.Errorf("for the administrator, the store is asked for %v", store.asked.Where)
	}
}

func TestAnswersTellWhatTheUserMayDo(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	admin.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": "blue"})
	user := h.play(admin, "eve")
	user.may(privileges("PERMISSION_POOL", "WRITE_ACCESS", "PERMISSION_ALERT", "READ_ACCESS", "PERMISSION_CLOUD",
		"NO_ACCESS"))
	want := "[map[resource:PERMISSION_POOL type:WRITE_ACCESS] map[resource:PERMISSION_ALERT type:READ_ACCESS]]"
	for name, account := range map[string]schema.Object{
		"account":      user.want(http.StatusOK, "GET", "/api/useraccount", nil),
		"initial data": user.want(http.StatusOK, "GET", "/api/initial-data", nil)["user"].(schema.Object),
	} {
		if got := fmt.Sprint(account["weir_privileges"]); got != want {
			t.Errorf("%s: %s", name, got)
		}
		entry := account["access"].([]any)[0].(schema.Object)
		if !strings.HasSuffix(fmt.Sprint(entry["role_ref"]), "#role of eve") ||
			!strings.HasSuffix(fmt.Sprint(entry["tenant_ref"]), "#admin") {
			t.Errorf("%s: %v", name, entry)
		}
	}
	data := user.want(http.StatusOK, "GET", "/api/initial-data", nil)
	if _, shown := data["system_config"].(schema.Object)["portal_configuration"]; shown {
		t.Error("the login shows the system configuration to those who may not read it")
	}
	for kind, want := range map[string][2]string{
		"pool":  {"true true true true", ""},
		"alert": {"true false false false", "WRITE_ACCESS to PERMISSION_ALERT"},
		"cloud": {"false false false false", "READ_ACCESS to PERMISSION_CLOUD"},
	} {
		of := user.want(http.StatusOK, "GET", "/api/weir/schema/"+kind, nil)
		why, _ := of["why_not"].(string)
		may := fmt.Sprint(of["may_read"], of["may_change"], of["may_create"], of["may_delete"])
		if may != want[0] || !strings.Contains(why, want[1]) || (why == "") != (want[1] == "") {
			t.Errorf("%s: %s %q", kind, may, why)
		}
		if of["permission"] != "PERMISSION_"+strings.ToUpper(kind) {
			t.Errorf("%s is of %v", kind, of["permission"])
		}
	}
	user.header.Set("X-Avi-Tenant", "blue")
	if of := user.want(http.StatusOK, "GET", "/api/weir/schema/pool", nil); of["may_change"] != false {
		t.Error("in another tenant, the role still counts")
	}
	if list := user.want(http.StatusOK, "GET", "/api/weir/permission", nil); list["count"].(float64) < 25 {
		t.Errorf("only %v resources open something", list["count"])
	}
}
