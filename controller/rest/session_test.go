package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

func TestLoginTakesAFormAndJSON(t *testing.T) {
	h := newHouse(t)
	for contentType, body := range map[string]string{
		"application/x-www-form-urlencoded": "username=admin&password=a+good+password",
		"application/json":                  `{"username":"admin","password":"a good password"}`,
	} {
		c := &client{h: h, header: http.Header{"Content-Type": {contentType}}}
		answer := c.do("POST", "/login", body)
		if answer.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", contentType, answer.Code, answer.Body)
		}
		cookies := map[string]*http.Cookie{}
		for _, cookie := range answer.Result().Cookies() {
			cookies[cookie.Name] = cookie
		}
		if cookies[csrfCookie] == nil || cookies[csrfCookie].HttpOnly || !cookies[csrfCookie].Secure {
			t.Errorf("csrftoken is %v", cookies[csrfCookie])
		}
		for _, name := range []string{sessionCookie, legacyCookie} {
			if cookies[name] == nil || !cookies[name].HttpOnly || cookies[name].Value != cookies[sessionCookie].Value {
				t.Errorf("%s is %v", name, cookies[name])
			}
		}
		var said schema.Object
		h.must(json.Unmarshal(answer.Body.Bytes(), &said))
		if said["session_cookie_name"] != sessionCookie || said["user"].(schema.Object)["is_superuser"] != true {
			t.Errorf("login says %v", said)
		}
	}
}

func TestWrongCredentialsAreRefusedAndThenSlowedDown(t *testing.T) {
	h := newHouse(t)
	anonymous := &client{h: h, header: http.Header{}}
	wrong := schema.Object{"username": "admin", "password": "wrong"}
	for range 5 {
		anonymous.refused(http.StatusUnauthorized, "Invalid credentials", "POST", "/login", wrong)
	}
	anonymous.refused(http.StatusTooManyRequests, "Too many failed logins", "POST", "/login", wrong)
	right := schema.Object{"username": "admin", "password": testPassword}
	anonymous.refused(http.StatusTooManyRequests, "Too many failed logins", "POST", "/login", right)
	anonymous.refused(http.StatusUnauthorized, "Invalid credentials", "POST", "/login",
		schema.Object{"username": "nobody", "password": "x"})
	h.clock.advance(2 * time.Second)
	anonymous.want(http.StatusOK, "POST", "/login", right)
}

func TestWritesNeedTheTokenOfTheSession(t *testing.T) {
	c := newHouse(t).login()
	right := c.csrf
	for _, csrf := range []string{"", "wrong"} {
		c.csrf = csrf
		answer := c.do("POST", "/api/pool", schema.Object{"name": "p"})
		if answer.Code != http.StatusUnauthorized || answer.Body.String() != "CSRF token missing or incorrect." {
			t.Errorf("token %q: %d %s", csrf, answer.Code, answer.Body)
		}
		c.want(http.StatusOK, "GET", "/api/pool", nil)
	}
	c.csrf = right
	c.header.Set("Referer", "https://elsewhere.example/page")
	if answer := c.do("POST", "/api/pool", schema.Object{"name": "p"}); answer.Code != http.StatusUnauthorized {
		t.Errorf("another site's page may write: %d", answer.Code)
	}
}

func TestIdleSessionExpiresAndUsedOneLives(t *testing.T) {
	h := newHouse(t)
	c := h.login()
	for range 3 {
		h.clock.advance(admit.IdleTimeout - time.Minute)
		c.want(http.StatusOK, "GET", "/api/pool", nil)
	}
	h.clock.advance(admit.IdleTimeout + time.Minute)
	c.refused(statusSessionExpired, "log in again", "GET", "/api/pool", nil)
	c.refused(http.StatusUnauthorized, "credentials were not provided", "GET", "/api/pool", nil)
}

func TestSessionSurvivesARestartOfTheController(t *testing.T) {
	h := newHouse(t)
	c := h.login()
	gate, err := admit.Open(t.Context(), h.store, h.clock.now, h.api.log)
	h.must(err)
	h.api.gate = gate
	c.want(http.StatusOK, "GET", "/api/pool", nil)
	h.clock.advance(admit.IdleTimeout + time.Minute)
	gate, err = admit.Open(t.Context(), h.store, h.clock.now, h.api.log)
	h.must(err)
	h.api.gate = gate
	c.refused(http.StatusUnauthorized, "credentials were not provided", "GET", "/api/pool", nil)
}

func TestLogoutEndsTheSession(t *testing.T) {
	c := newHouse(t).login()
	c.want(http.StatusOK, "POST", "/logout", nil)
	c.refused(http.StatusUnauthorized, "credentials were not provided", "GET", "/api/pool", nil)
}

func TestNewPasswordKeepsTheSessionThatSetItAndEndsTheOthers(t *testing.T) {
	h := newHouse(t)
	c, elsewhere := h.login(), h.login()
	c.refused(http.StatusBadRequest, "old_password", "PUT", "/api/useraccount",
		schema.Object{"old_password": "x", "password": "another password"})
	c.refused(http.StatusBadRequest, "password", "PUT", "/api/useraccount",
		schema.Object{"old_password": testPassword, "password": "short"})
	answer := c.do("PUT", "/api/useraccount", schema.Object{"username": "admin", "old_password": testPassword,
		"password": "another password"})
	if answer.Code != http.StatusOK || answer.Body.Len() != 0 {
		t.Fatalf("got %d %s", answer.Code, answer.Body)
	}
	c.pool("by who set it")
	elsewhere.refused(http.StatusUnauthorized, "credentials were not provided", "GET", "/api/pool", nil)
	h.loginAs("admin", "another password")

	gate, err := admit.Open(t.Context(), h.store, h.clock.now, h.api.log)
	h.must(err)
	h.api.gate = gate
	c.want(http.StatusOK, "GET", "/api/pool", nil)
}

func TestLastGoodOneOfSeveralSessionCookiesCounts(t *testing.T) {
	h := newHouse(t)
	h.login().want(http.StatusCreated, "POST", "/api/user", schema.Object{"name": "eve", "password": "eve's password"})
	valueOf := func(c *client) string {
		for _, cookie := range c.cookies {
			if cookie.Name == sessionCookie {
				return cookie.Value
			}
		}
		return ""
	}
	admin, eve, over := valueOf(h.login()), valueOf(h.loginAs("eve", "eve's password")), h.login()
	over.want(http.StatusOK, "POST", "/logout", nil)
	for _, sent := range []struct{ cookies, want string }{
		{sessionCookie + "=" + admin + "; " + sessionCookie + "=" + eve, "eve"},
		{sessionCookie + "=" + eve + "; " + sessionCookie + "=" + admin, "admin"},
		{sessionCookie + "=" + admin + "; " + sessionCookie + "=" + valueOf(over), "admin"},
		{sessionCookie + "=old; " + sessionCookie + "=" + admin + "; " + sessionCookie + "=", "admin"},
		{sessionCookie + "=old; " + legacyCookie + "=" + eve, "eve"},
	} {
		r := httptest.NewRequest("GET", "https://"+testHost+"/api/useraccount", nil)
		r.Header.Set("Cookie", sent.cookies)
		answer := httptest.NewRecorder()
		h.api.ServeHTTP(answer, r)
		var account schema.Object
		if answer.Code != http.StatusOK || json.Unmarshal(answer.Body.Bytes(), &account) != nil ||
			account["username"] != sent.want {
			t.Errorf("%s: %d %s, want %s", sent.cookies, answer.Code, answer.Body, sent.want)
		}
	}
}

func TestLogoutEndsTheSessionsOfAllCookies(t *testing.T) {
	h := newHouse(t)
	c, before := h.login(), h.login()
	c.cookies = append(before.cookies, c.cookies...)
	c.want(http.StatusOK, "POST", "/logout", nil)
	c.refused(http.StatusUnauthorized, "credentials were not provided", "GET", "/api/pool", nil)
	before.refused(http.StatusUnauthorized, "credentials were not provided", "GET", "/api/pool", nil)
}

func TestUserTokenLogsInUntilItIsRevokedOrExpires(t *testing.T) {
	h := newHouse(t)
	c := h.login()
	made := c.want(http.StatusOK, "POST", "/api/user-token", schema.Object{"hours": "2"})
	login := schema.Object{"username": "admin", "token": made["token"]}
	anonymous := &client{h: h, header: http.Header{}}
	anonymous.want(http.StatusOK, "POST", "/login", login)
	list := c.want(http.StatusOK, "GET", "/api/user-token", nil)
	if list["count"] != 1.0 || strings.Contains(list["results"].([]any)[0].(schema.Object)["url"].(string),
		made["token"].(string)) {
		t.Errorf("tokens: %v", list)
	}
	h.clock.advance(2*time.Hour + time.Second)
	anonymous.refused(http.StatusUnauthorized, "Invalid credentials", "POST", "/login", login)

	c = h.login()
	made = c.want(http.StatusOK, "POST", "/api/user-token", schema.Object{"hours": 1})
	c.want(http.StatusNoContent, "DELETE", "/api/user-token/"+made["uuid"].(string), nil)
	login["token"] = made["token"]
	anonymous.refused(http.StatusUnauthorized, "Invalid credentials", "POST", "/login", login)
	c.refused(http.StatusBadRequest, "hours", "POST", "/api/user-token", schema.Object{"hours": "many"})
	c.refused(http.StatusBadRequest, "hours", "POST", "/api/user-token", schema.Object{"hours": 0})
}

func TestBasicAuthenticationIsOffUntilTheSystemConfigurationAllowsIt(t *testing.T) {
	h := newHouse(t)
	r := httptest.NewRequest("GET", "https://"+testHost+"/api/pool", nil)
	r.SetBasicAuth("admin", testPassword)
	ask := func() int {
		answer := httptest.NewRecorder()
		h.api.ServeHTTP(answer, r)
		return answer.Code
	}
	if code := ask(); code != http.StatusUnauthorized {
		t.Errorf("before: %d", code)
	}
	h.login().want(http.StatusOK, "PATCH", "/api/systemconfiguration",
		schema.Object{"add": schema.Object{"portal_configuration": schema.Object{"allow_basic_authentication": true}}})
	if code := ask(); code != http.StatusOK {
		t.Errorf("after: %d", code)
	}
	r.SetBasicAuth("admin", "wrong")
	if code := ask(); code != http.StatusUnauthorized {
		t.Errorf("wrong password: %d", code)
	}
}

func TestPageOfAnotherSiteWritesNothingWithBasicAuthentication(t *testing.T) {
	h := newHouse(t)
	h.login().want(http.StatusOK, "PATCH", "/api/systemconfiguration",
		schema.Object{"add": schema.Object{"portal_configuration": schema.Object{"allow_basic_authentication": true}}})
	for _, sent := range []struct {
		method, header, value string
		want                  int
	}{
		{"POST", "Referer", "https://elsewhere.example/page", http.StatusUnauthorized},
		{"POST", "Origin", "https://elsewhere.example", http.StatusUnauthorized},
		{"POST", "Origin", "null", http.StatusUnauthorized},
		{"POST", "Sec-Fetch-Site", "cross-site", http.StatusUnauthorized},
		{"GET", "Referer", "https://elsewhere.example/page", http.StatusOK},
		{"POST", "Referer", "https://" + testHost, http.StatusCreated}, // as avisdk
		{"POST", "Accept", "*/*", http.StatusCreated},                  // as curl
	} {
		body := strings.NewReader(`{"name":"` + sent.header + sent.value + `"}`)
		r := httptest.NewRequest(sent.method, "https://"+testHost+"/api/pool", body)
		r.SetBasicAuth("admin", testPassword)
		r.Header.Set(sent.header, sent.value)
		answer := httptest.NewRecorder()
		h.api.ServeHTTP(answer, r)
		if answer.Code != sent.want {
			t.Errorf("%s with %s: %s is %d, want %d", sent.method, sent.header, sent.value, answer.Code, sent.want)
		}
	}
}

func TestUserWhoIsNoSuperuserReadsAndDoesNotWrite(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	user := admin.want(http.StatusCreated, "POST", "/api/user",
		schema.Object{"name": "eve", "password": "eve's password",
			"access": []any{schema.Object{"tenant_ref": "/api/tenant/admin"}}})
	if user["password"] != schema.Sensitive {
		t.Errorf("password reads %v", user["password"])
	}
	eve := h.loginAs("eve", "eve's password")
	eve.want(http.StatusOK, "GET", "/api/pool", nil)
	eve.lacks("WRITE_ACCESS", "PERMISSION_POOL", "admin", "POST", "/api/pool", schema.Object{"name": "p"})
	eve.lacks("READ_ACCESS", "PERMISSION_USER", "admin", "GET", "/api/user", nil)
	eve.lacks("WRITE_ACCESS", "PERMISSION_SE_TOKEN", "admin", "POST", "/api/securetoken-generate", nil)
	eve.lacks("READ_ACCESS", "PERMISSION_SYSTEMREPORT", "*", "GET", "/api/audit", nil)
	admin.want(http.StatusOK, "PATCH", path(user),
		schema.Object{"replace": schema.Object{"password": "eve's next password"}})
	eve.refused(http.StatusUnauthorized, "credentials were not provided", "GET", "/api/pool", nil)
	eve = h.loginAs("eve", "eve's next password")
	admin.want(http.StatusOK, "PATCH", path(user), schema.Object{"replace": schema.Object{"is_active": false}})
	eve.refused(http.StatusUnauthorized, "credentials were not provided", "GET", "/api/pool", nil)
	admin.want(http.StatusNoContent, "DELETE", path(user), nil)
}

func TestAuditTellsWhoDidWhat(t *testing.T) {
	c := newHouse(t).login()
	c.pool("p")
	c.want(http.StatusConflict, "POST", "/api/pool", schema.Object{"name": "p"})
	entries := c.want(http.StatusOK, "GET", "/api/audit", nil)["results"].([]any)
	refused, done := entries[0].(schema.Object), entries[1].(schema.Object)
	if refused["refused"] == nil || done["refused"] != nil || done["user"] != "admin" || done["kind"] != "pool" ||
		done["name"] != "p" {
		t.Errorf("newest entries: %v, %v", refused, done)
	}
}

func TestJoinTokenIsGiven(t *testing.T) {
	c := newHouse(t).login()
	if made := c.want(http.StatusOK, "POST", "/api/securetoken-generate",
		nil); made["auth_token"] != "weir1.fingerprint.secret" {
		t.Errorf("got %v", made)
	}
}

func TestUserWorksOnlyInTenantsWithAccess(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	for _, name := range []string{"blue", "green"} {
		admin.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": name})
	}
	admin.want(http.StatusCreated, "POST", "/api/user", schema.Object{"name": "eve", "password": "eve's password",
		"access": []any{schema.Object{"tenant_ref": "/api/tenant?name=blue"}}})
	eve := h.loginAs("eve", "eve's password")
	eve.header.Set("X-Avi-Tenant", "blue")
	eve.want(http.StatusOK, "GET", "/api/pool", nil)
	eve.refused(http.StatusForbidden, "no access to tenant green", "GET", "/api/pool?tenant=green", nil)
	for _, name := range []string{"green", "admin", "*"} {
		eve.header.Set("X-Avi-Tenant", name)
		eve.refused(http.StatusForbidden, "no access to tenant "+name, "GET", "/api/pool", nil)
	}
}

func TestRequestThatNamesNoTenantWorksInOneThatTheUserHasAccessTo(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	admin.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": "blue"})
	admin.pool("of admin")
	admin.header.Set("X-Avi-Tenant", "blue")
	admin.pool("of blue")
	admin.header.Set("X-Avi-Tenant", "admin")
	admin.want(http.StatusCreated, "POST", "/api/user", schema.Object{"name": "eve", "password": "eve's password",
		"access": []any{schema.Object{"tenant_ref": "/api/tenant?name=blue"}}})
	eve := h.loginAs("eve", "eve's password")
	eve.header.Del("X-Avi-Tenant")
	list := eve.want(http.StatusOK, "GET", "/api/pool", nil)
	if list["count"] != 1.0 || list["results"].([]any)[0].(schema.Object)["name"] != "of blue" {
		t.Errorf("eve reads %v", list)
	}
}

func TestUserLearnsOnlyOfTenantsWithAccess(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	green := admin.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": "green"})
	blue := admin.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": "blue"})
	admin.want(http.StatusCreated, "POST", "/api/user", schema.Object{"name": "eve", "password": "eve's password",
		"access": []any{schema.Object{"tenant_ref": "/api/tenant?name=blue"}}})
	eve := h.loginAs("eve", "eve's password")
	eve.header.Set("X-Avi-Tenant", "blue")
	for target, field := range map[string]string{"/api/initial-data": "tenants", "/api/tenant": "results"} {
		if shown := eve.want(http.StatusOK, "GET", target, nil)[field].([]any); len(shown) != 1 ||
			shown[0].(schema.Object)["name"] != "blue" {
			t.Errorf("%s shows %v", target, shown)
		}
	}
	eve.want(http.StatusOK, "GET", path(blue), nil)
	eve.refused(http.StatusNotFound, "Tenant", "GET", path(green), nil)
	if all := admin.want(http.StatusOK, "GET", "/api/initial-data", nil)["tenants"].([]any); len(all) != 3 {
		t.Errorf("the administrator sees %v", all)
	}
}

func TestUserWithoutAnyAccessKeepsTheAccount(t *testing.T) {
	h := newHouse(t)
	h.login().want(http.StatusCreated, "POST", "/api/user", schema.Object{"name": "eve", "password": "eve's password"})
	eve := h.loginAs("eve", "eve's password")
	eve.refused(http.StatusForbidden, "no access to tenant admin", "GET", "/api/pool", nil)
	eve.want(http.StatusOK, "GET", "/api/useraccount", nil)
	eve.want(http.StatusOK, "POST", "/logout", nil)
}

func TestBuiltInAdministratorCannotBeShutOut(t *testing.T) {
	c := newHouse(t).login()
	for _, field := range []string{"is_superuser", "is_active"} {
		c.refused(http.StatusBadRequest, field, "PATCH", "/api/user/user-1",
			schema.Object{"replace": schema.Object{field: false}})
	}
	c.refused(http.StatusBadRequest, "system default", "DELETE", "/api/user/user-1", nil)
}

func TestUsernameBelongsToOneUser(t *testing.T) {
	c := newHouse(t).login()
	impostor := schema.Object{"name": "aaa", "username": "admin", "password": "aaa's password"}
	c.refused(http.StatusConflict, "User with this Username already exists: admin", "POST", "/api/user", impostor)
	other := c.want(http.StatusCreated, "POST", "/api/user", schema.Object{"name": "aaa", "password": "aaa's password"})
	c.refused(http.StatusConflict, "admin", "PATCH", path(other),
		schema.Object{"replace": schema.Object{"username": "admin"}})
	c.want(http.StatusOK, "PATCH", path(other), schema.Object{"replace": schema.Object{"full_name": "A. A. A."}})
	c.h.login()
}

// Earlier versions stored the roles of users as they were sent, by name and of any controller. Only names of built-in
// roles count: whoever may create a role could choose another one's name.
func TestRolesThatEarlierVersionsStoredCountIfTheyAreBuiltIn(t *testing.T) {
	h := newHouse(t)
	admin := h.login()
	admin.role("Nobody", everyPrivilege("WRITE_ACCESS"))
	for i, c := range []struct {
		role  string
		reads int
		write int
	}{
		{"/api/role?name=Application-Operator", http.StatusOK, http.StatusForbidden},
		{"/api/role?name=System-Admin", http.StatusOK, http.StatusCreated},
		{"https://elsewhere/api/role/role-1#System-Admin", http.StatusForbidden, http.StatusForbidden},
		{"/api/role?name=Application-Operator#System-Admin", http.StatusOK, http.StatusForbidden},
		{"/api/role?name=Nobody", http.StatusForbidden, http.StatusForbidden},
	} {
		name := fmt.Sprint("user", i)
		made := admin.want(http.StatusCreated, "POST", "/api/user", schema.Object{"name": name,
			"password": "a long password", "access": []any{schema.Object{"tenant_ref": "/api/tenant/admin"}}})
		h.must(h.store.Update(t.Context(), func(tx *store.Tx) error {
			record, _ := tx.View().Get("user", made["uuid"].(string))
			older := *record
			older.Object = schema.Clone(record.Object)
			older.Object["access"].([]any)[0].(schema.Object)["role_ref"] = c.role
			tx.Put(&older)
			return nil
		}))
		user := h.loginAs(name, "a long password")
		if answer := user.do("GET", "/api/pool", nil); answer.Code != c.reads ||
			c.reads == http.StatusForbidden && !strings.Contains(answer.Body.String(), "there is no role "+c.role) {
			t.Errorf("%s: %d %s", c.role, answer.Code, answer.Body)
		}
		user.want(c.write, "POST", "/api/pool", schema.Object{"name": name})
	}
}
