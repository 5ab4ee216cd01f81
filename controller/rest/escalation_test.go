package rest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// ranks is a house with a boss, who writes users, roles and pools in tenant admin, and reads health monitors
// there.
func ranks(t *testing.T) (admin, boss *client) {
	t.Helper()
	h := newHouse(t)
	admin = h.login()
	admin.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": "blue"})
	admin.role("boss", privileges("PERMISSION_USER", "WRITE_ACCESS", "PERMISSION_ROLE", "WRITE_ACCESS",
		"PERMISSION_POOL", "WRITE_ACCESS", "PERMISSION_HEALTHMONITOR", "READ_ACCESS"))
	admin.role("pools", privileges("PERMISSION_POOL", "WRITE_ACCESS"))
	admin.role("monitors", privileges("PERMISSION_HEALTHMONITOR", "WRITE_ACCESS"))
	admin.user("boss", in("admin", "boss"))
	return admin, h.loginAs("boss", userPassword)
}

func userBody(name string, more schema.Object) schema.Object {
	body := schema.Object{"name": name, "password": userPassword}
	for field, value := range more {
		body[field] = value
	}
	return body
}

func TestNobodyGivesWhatHeHasNot(t *testing.T) {
	admin, boss := ranks(t)
	admin.role("looks", privileges("PERMISSION_HEALTHMONITOR", "READ_ACCESS"))
	admin.want(http.StatusOK, "PATCH", "/api/user/"+admin.h.uuidOf("user", "boss"), schema.Object{
		"replace": schema.Object{"access": []any{in("admin", "boss"), in("blue", "looks")}}}) // and so knows of blue
	for name, c := range map[string]struct {
		more schema.Object
		want string
	}{
		"superuser": {schema.Object{"is_superuser": true}, "administrator (superuser)"},
		"all of it": {schema.Object{"access": []any{in("admin", "System-Admin")}}, "boss has not"},
		"more of one": {schema.Object{"access": []any{in("admin", "monitors")}},
			"WRITE_ACCESS to PERMISSION_HEALTHMONITOR"},
		"a reader":       {schema.Object{"access": []any{in("admin", "")}}, "READ_ACCESS to PERMISSION_"},
		"another tenant": {schema.Object{"access": []any{in("blue", "pools")}}, "PERMISSION_USER in tenant blue"},
		"that one, too": {schema.Object{"access": []any{in("admin", "pools"), in("blue", "pools")}},
			"in tenant blue"},
		"everywhere":        {schema.Object{"access": []any{in("*", "pools")}}, "PERMISSION_USER in all tenants"},
		"a role of nowhere": {schema.Object{"access": []any{in("admin", "pools"), in("*", "")}}, "in all tenants"},
	} {
		boss.refused(http.StatusForbidden, c.want, "POST", "/api/user", userBody(name, c.more))
		boss.refused(http.StatusForbidden, c.want, "POST", "/api/macro",
			schema.Object{"model_name": "User", "data": userBody(name, c.more)})
		made := boss.want(http.StatusCreated, "POST", "/api/user", userBody(name, nil))
		boss.refused(http.StatusForbidden, c.want, "PATCH", path(made), schema.Object{"replace": c.more})
		boss.refused(http.StatusForbidden, c.want, "PUT", path(made), userBody(name, c.more))
		admin.want(http.StatusOK, "PATCH", path(made), schema.Object{"replace": c.more})
		for _, r := range []request{{"DELETE", path(made), nil, true},
			{"PATCH", path(made), schema.Object{"replace": schema.Object{"password": "stolen by the boss"}}, true},
			{"PATCH", path(made), schema.Object{"replace": schema.Object{"access": []any{}, "is_superuser": false}},
				true}} {
			if answer := boss.do(r.method, r.path, r.body); answer.Code != http.StatusForbidden &&
				answer.Code != http.StatusNotFound {
				t.Errorf("%s %s of one who has %s: %d %s", r.method, r.path, name, answer.Code, answer.Body)
			}
		}
	}
	equal := boss.want(http.StatusCreated, "POST", "/api/user",
		userBody("equal", schema.Object{"access": []any{in("admin", "pools")}}))
	boss.want(http.StatusOK, "PATCH", path(equal),
		schema.Object{"replace": schema.Object{"password": "given by the boss"}})
	boss.want(http.StatusNoContent, "DELETE", path(equal), nil)
}

func TestNobodyChangesWhatHeMayDoHimself(t *testing.T) {
	admin, boss := ranks(t)
	own := "/api/user/" + admin.h.uuidOf("user", "boss")
	admin.want(http.StatusOK, "PATCH", own, schema.Object{"replace": schema.Object{"full_name": "The Boss"}})
	boss.want(http.StatusOK, "PATCH", own, schema.Object{"replace": schema.Object{"full_name": "the boss"}})
	for _, more := range []schema.Object{{"access": []any{}}, {"access": []any{in("admin", "pools")}},
		{"access": []any{in("admin", "boss"), in("admin", "pools")}}, {"is_active": false}} {
		boss.refused(http.StatusBadRequest, "your own account", "PATCH", own, schema.Object{"replace": more})
	}
	boss.refused(http.StatusForbidden, "administrator", "PATCH", own,
		schema.Object{"replace": schema.Object{"is_superuser": true}})
	boss.refused(http.StatusForbidden, "your own account", "DELETE", own, nil)
	admin.want(http.StatusCreated, "POST", "/api/user", userBody("second", schema.Object{"is_superuser": true}))
	second := admin.h.loginAs("second", userPassword)
	own = "/api/user/" + admin.h.uuidOf("user", "second")
	for _, field := range []string{"is_superuser", "is_active"} {
		second.refused(http.StatusBadRequest, "lock yourself out", "PATCH", own,
			schema.Object{"replace": schema.Object{field: false}})
	}
	second.refused(http.StatusForbidden, "your own account", "DELETE", own, nil)
	admin.want(http.StatusNoContent, "DELETE", own, nil)
}

func TestNobodyWritesARoleThatAllowsMoreThanHisOwn(t *testing.T) {
	admin, boss := ranks(t)
	role := func(name string) string { return "/api/role/" + admin.h.uuidOf("role", name) }
	more := schema.Object{"replace": schema.Object{"privileges": privileges("PERMISSION_CLOUD", "READ_ACCESS")}}
	boss.refused(http.StatusForbidden, "READ_ACCESS to PERMISSION_CLOUD", "POST", "/api/role",
		schema.Object{"name": "clouds", "privileges": privileges("PERMISSION_CLOUD", "READ_ACCESS")})
	boss.refused(http.StatusForbidden, "READ_ACCESS to PERMISSION_CLOUD", "PATCH", role("pools"), more)
	boss.refused(http.StatusForbidden, "a role of yours", "PATCH", role("boss"), more)
	boss.refused(http.StatusForbidden, "a role of yours", "PATCH", role("boss"),
		schema.Object{"replace": schema.Object{"privileges": []any{}}})
	boss.refused(http.StatusForbidden, "boss has not", "PATCH", role("System-Admin"),
		schema.Object{"replace": schema.Object{"privileges": []any{}}})
	boss.refused(http.StatusForbidden, "boss has not", "DELETE", role("monitors"), nil)
	less := schema.Object{"replace": schema.Object{"privileges": privileges("PERMISSION_POOL", "READ_ACCESS")}}
	boss.want(http.StatusOK, "PATCH", role("pools"), less)
	// The boss may write pools in tenant admin, and not in blue, where somebody else has this role.
	admin.user("bob", in("blue", "pools"))
	boss.refused(http.StatusForbidden, "PERMISSION_POOL in tenant blue", "PATCH", role("pools"),
		schema.Object{"replace": schema.Object{"privileges": privileges("PERMISSION_POOL", "WRITE_ACCESS")}})
	boss.refused(http.StatusForbidden, "READ_ACCESS to PERMISSION_POOL in tenant blue", "PATCH", role("pools"),
		schema.Object{"replace": schema.Object{"privileges": []any{}}})
}

// An earlier version stored references to roles of other controllers, and a client can choose the uuid of a new role.
func TestNobodyMakesTheRoleThatSomebodyRefersToAlready(t *testing.T) {
	admin, boss := ranks(t)
	for _, name := range []string{"bob", "boss"} {
		tenant := map[string]string{"bob": "blue", "boss": "admin"}[name]
		if name == "bob" {
			admin.user(name, in(tenant, "pools"))
		}
		record, _ := admin.h.store.View().Get("user", admin.h.uuidOf("user", name))
		older := *record
		older.Object = schema.Clone(record.Object)
		access := older.Object["access"].([]any)
		entry := schema.Clone(access[0].(schema.Object))
		entry["role_ref"] = "https://elsewhere/api/role/role-of-" + name
		older.Object["access"] = append(access, entry)
		admin.h.must(admin.h.store.Update(t.Context(), func(tx *store.Tx) error {
			tx.Put(&older)
			return nil
		}))
	}
	for name, want := range map[string]string{"bob": "PERMISSION_POOL in tenant blue", "boss": "a role of yours"} {
		boss.header.Set("Slug", "role-of-"+name)
		boss.refused(http.StatusForbidden, want, "POST", "/api/role",
			schema.Object{"name": name, "privileges": privileges("PERMISSION_POOL", "WRITE_ACCESS")})
	}
}

func TestRolesInUseAndBuiltInOnesStay(t *testing.T) {
	admin, _ := ranks(t)
	admin.refused(http.StatusPreconditionFailed, "User boss", "DELETE", "/api/role/"+
		admin.h.uuidOf("role", "boss"), nil)
	operator := "/api/role/" + schema.BuiltinUUID("role", "Application-Operator")
	admin.refused(http.StatusBadRequest, "system default", "DELETE", operator, nil)
	admin.refused(http.StatusBadRequest, "system default", "PATCH", operator,
		schema.Object{"replace": schema.Object{"name": "Opera"}})
	admin.want(http.StatusNoContent, "DELETE", "/api/role/"+admin.h.uuidOf("role", "pools"), nil)
}

func TestTenantAdminRulesTheUsersOfTheTenantAlone(t *testing.T) {
	admin, _ := ranks(t)
	h := admin.h
	admin.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": "green"})
	admin.user("both", in("blue", "pools"), in("green", "pools"))
	admin.user("gus", in("green", "pools"))
	admin.user("tina", in("blue", "Tenant-Admin"))
	tina := h.loginAs("tina", userPassword)
	tina.header.Set("X-Avi-Tenant", "blue")
	made := tina.want(http.StatusCreated, "POST", "/api/user",
		userBody("ben", schema.Object{"access": []any{in("blue", "Application-Admin")}}))
	own := tina.want(http.StatusCreated, "POST", "/api/role",
		schema.Object{"name": "of blue", "privileges": privileges("PERMISSION_POOL", "WRITE_ACCESS")})
	tina.want(http.StatusOK, "PATCH", path(made), schema.Object{"replace": schema.Object{"access": []any{
		schema.Object{"tenant_ref": "/api/tenant?name=blue", "role_ref": own["url"]}}}})
	ben := h.loginAs("ben", userPassword)
	ben.header.Set("X-Avi-Tenant", "blue")
	ben.pool("of ben")
	if got := names(tina.want(http.StatusOK, "GET", "/api/user", nil)); got != "ben,tina" {
		t.Errorf("the administrator of blue sees %s", got)
	}
	for _, name := range []string{"both", "gus", "boss", "admin"} {
		at := "/api/user/" + h.uuidOf("user", name)
		tina.refused(http.StatusNotFound, "User", "GET", at, nil)
		tina.refused(http.StatusNotFound, "User", "DELETE", at, nil)
		tina.refused(http.StatusNotFound, "User", "PATCH", at,
			schema.Object{"replace": schema.Object{"password": "stolen!!"}})
	}
	tina.refused(http.StatusForbidden, "PERMISSION_USER in tenant admin", "POST", "/api/user",
		userBody("x", schema.Object{"access": []any{in("blue", "boss"), in("admin", "boss")}}))
	green := admin.want(http.StatusOK, "GET", "/api/tenant?name=green", nil)["results"].([]any)[0].(schema.Object)
	admin.refused(http.StatusBadRequest, "of blue is a role of tenant blue", "POST", "/api/user",
		userBody("x", schema.Object{"access": []any{schema.Object{"tenant_ref": green["url"],
			"role_ref": own["url"]}}}))
	tina.lacks("WRITE_ACCESS", "PERMISSION_ROLE", "admin", "PATCH", "/api/role/"+h.uuidOf("role", "pools"),
		schema.Object{"replace": schema.Object{"privileges": []any{}}})
	for _, write := range []request{{"POST", "/api/tenant", schema.Object{"name": "tina's"}, true},
		{"PATCH", "/api/systemconfiguration", schema.Object{"replace": schema.Object{"fips_mode": true}}, true},
		{"POST", "/api/securetoken-generate", nil, true}} {
		tina.refused(http.StatusForbidden, "lacks WRITE_ACCESS", write.method, write.path, write.body)
	}
}

func TestNobodyFindsOutWhichTenantsThereAre(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	uuids := map[string]string{"missing": "tenant-missing"}
	for _, name := range []string{"blue", "green"} {
		made := admin.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": name})
		uuids[name] = made["uuid"].(string)
	}
	admin.user("tina", in("blue", "Tenant-Admin"))
	admin.header.Set("X-Avi-Tenant", "green")
	role := admin.want(http.StatusCreated, "POST", "/api/role", schema.Object{"name": "of green"})
	tina := h.loginAs("tina", userPassword)
	tina.header.Set("X-Avi-Tenant", "blue")
	access := func(tenant, role string) schema.Object {
		return userBody("x", schema.Object{"access": []any{schema.Object{"tenant_ref": tenant, "role_ref": role}}})
	}
	const named = "/api/tenant?name="
	for what, ask := range map[string]func(tenant string) *httptest.ResponseRecorder{
		"access by name": func(tenant string) *httptest.ResponseRecorder {
			return tina.do("POST", "/api/user", access(named+tenant, ""))
		},
		"access by name, with a role by name": func(tenant string) *httptest.ResponseRecorder {
			return tina.do("POST", "/api/user", access(named+tenant, "/api/role?name=of+green"))
		},
		"access by uuid": func(tenant string) *httptest.ResponseRecorder {
			return tina.do("POST", "/api/user", access("/api/tenant/"+uuids[tenant], ""))
		},
		"role of a tenant": func(tenant string) *httptest.ResponseRecorder {
			return tina.do("POST", "/api/user", access(named+"blue", "/api/role?name=of+green&tenant="+tenant))
		},
		"role by uuid": func(tenant string) *httptest.ResponseRecorder {
			uuid := map[string]string{"green": role["uuid"].(string), "missing": "role-missing"}[tenant]
			answer := tina.do("POST", "/api/user", access(named+"blue", "/api/role/"+uuid))
			text := strings.ReplaceAll(answer.Body.String(), uuid, "UUID")
			answer.Body.Reset()
			answer.Body.WriteString(text)
			return answer
		},
		"own tenant": func(tenant string) *httptest.ResponseRecorder {
			body := access(named+"blue", "")
			body["default_tenant_ref"] = named + tenant
			return tina.do("POST", "/api/user", body)
		},
		"object": func(tenant string) *httptest.ResponseRecorder {
			return tina.do("POST", "/api/pool", schema.Object{"name": "x", "tenant_ref": named + tenant})
		},
		"list": func(tenant string) *httptest.ResponseRecorder {
			return tina.do("GET", "/api/pool?tenant="+tenant, nil)
		},
		"tenant of the request": func(tenant string) *httptest.ResponseRecorder {
			tina.header.Set("X-Avi-Tenant", tenant)
			defer tina.header.Set("X-Avi-Tenant", "blue")
			return tina.do("GET", "/api/pool", nil)
		},
		"tenant of the request by uuid": func(tenant string) *httptest.ResponseRecorder {
			tina.header.Del("X-Avi-Tenant")
			tina.header.Set("X-Avi-Tenant-UUID", uuids[tenant])
			defer tina.header.Set("X-Avi-Tenant", "blue")
			defer tina.header.Del("X-Avi-Tenant-UUID")
			return tina.do("GET", "/api/pool", nil)
		},
	} {
		said := map[string]string{}
		for _, tenant := range []string{"green", "missing"} {
			answer := ask(tenant)
			text := strings.NewReplacer(uuids[tenant], "UUID", `\"`+tenant+`\"`, "TENANT", "tenant "+tenant, "TENANT").
				Replace(answer.Body.String())
			if said[tenant] = fmt.Sprint(answer.Code, " ", text); answer.Code < http.StatusBadRequest {
				t.Errorf("%s: %s", what, said[tenant])
			}
		}
		if said["green"] != said["missing"] {
			t.Errorf("%s: the tenant that is there gets\n%s, the missing one\n%s", what, said["green"], said["missing"])
		}
	}
}

func TestARoleByNameIsThatOfTheTenantInWhichItIsGranted(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	roles := map[string]string{}
	for _, tenant := range []string{"blue", "green"} {
		admin.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": tenant})
	}
	for _, tenant := range []string{"admin", "blue", "green"} {
		admin.header.Set("X-Avi-Tenant", tenant)
		for _, name := range []string{"both", "of " + tenant} {
			if name == "both" && tenant == "green" {
				continue
			}
			made := admin.want(http.StatusCreated, "POST", "/api/role", schema.Object{"name": name})
			roles[tenant+" "+name] = "/api/role/" + made["uuid"].(string)
		}
	}
	admin.header.Set("X-Avi-Tenant", "admin")
	for n, c := range []struct{ tenant, ref, want string }{
		{"blue", "?name=of+blue", "blue of blue"}, {"blue", "?name=both", "blue both"},
		{"green", "?name=both", "admin both"}, {"blue", "?name=both&tenant=admin", "admin both"},
		{"blue", "?name=of+blue&tenant=blue", "blue of blue"}, {"*", "?name=both", "admin both"},
	} {
		entry := in(c.tenant, "")
		entry["role_ref"] = "/api/role" + c.ref
		made := admin.want(http.StatusCreated, "POST", "/api/user",
			userBody(fmt.Sprint("user ", n), schema.Object{"access": []any{entry}}))
		got, _, _ := strings.Cut(made["access"].([]any)[0].(schema.Object)["role_ref"].(string), "#")
		if !strings.HasSuffix(got, roles[c.want]) {
			t.Errorf("%+v: it is %s, and not %s", c, got, roles[c.want])
		}
	}
	for ref, want := range map[string]string{"?name=of+green": "there is none named",
		"?name=of+green&tenant=green": "is a role of tenant green", "?name=x&tenant=none": `in tenant \"none\"`} {
		entry := in("blue", "")
		entry["role_ref"] = "/api/role" + ref
		answer := admin.do("POST", "/api/user", userBody("y", schema.Object{"access": []any{entry}}))
		if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), want) {
			t.Errorf("%s: %d %s", ref, answer.Code, answer.Body)
		}
	}
}

func TestARoleIsToldOfPermissionsThatOpenNothing(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	made := admin.role("keepers", privileges("PERMISSION_POOL", "WRITE_ACCESS", "PERMISSION_REBOOT", "NO_ACCESS",
		"PERMISSION_POOL_MAINTENANCE", "WRITE_ACCESS", "PERMISSION_WAFPOLICY", "READ_ACCESS"))
	want := `[map[field:privileges[2].resource message:/api/weir/permission lists what opens something in Weir, and not ` +
		`PERMISSION_POOL_MAINTENANCE, PERMISSION_WAFPOLICY: has no effect]]`
	if got := fmt.Sprint(made["weir_warnings"]); got != want {
		t.Errorf("the warnings are %s", got)
	}
	if made := admin.role("pools", privileges("PERMISSION_POOL", "WRITE_ACCESS")); made["weir_warnings"] != nil {
		t.Errorf("the warnings are %v", made["weir_warnings"])
	}
	all := admin.role("all", everyPrivilege("READ_ACCESS"))
	if got := fmt.Sprint(all["weir_warnings"]); !strings.Contains(got, "PERMISSION_NETWORK") ||
		!strings.Contains(got, " more: has no effect") {
		t.Errorf("the warnings are %s", got)
	}
}

func TestARoleThatIsNotThereIsRefused(t *testing.T) {
	admin, _ := ranks(t)
	for ref, want := range map[string]string{
		"/api/role?name=Nobody":             `Role not found: there is none named "Nobody"`,
		"https://elsewhere/api/role/role-1": "Role not found",
		"/api/pool?name=x":                  "give a role",
	} {
		answer := admin.want(http.StatusBadRequest, "POST", "/api/user", userBody("x", schema.Object{"access": []any{
			schema.Object{"tenant_ref": "/api/tenant/admin", "role_ref": ref}}}))
		if said := answer["error"].(string); !strings.Contains(said, "access[0].role_ref") ||
			!strings.Contains(said, want) {
			t.Errorf("%s: %s", ref, said)
		}
	}
}
