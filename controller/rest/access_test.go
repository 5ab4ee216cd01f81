package rest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

// paths are all paths that tenants, or those who watch, may read; "*" stands for x.
func paths() (list []struct{ method, path string }) {
	add := func(path string, of endpoint) {
		if of.audience != tenants && of.audience != watchers {
			return
		}
		for method := range of.methods {
			list = append(list, struct{ method, path string }{method, "/" + strings.ReplaceAll(path, "*", "x")})
		}
	}
	for path, of := range endpoints {
		add(path, of)
	}
	for path, of := range areas {
		add(path, of)
	}
	for _, kind := range emptyInventories {
		add("api/"+kind+"-inventory", endpoint{tenants, nothing, methods{"GET": nil}})
	}
	for _, kind := range schema.Kinds() {
		add("api/"+kind.Name+"-inventory", endpoint{tenants, nothing, methods{"GET": nil}})
		add("api/"+kind.Name+"-inventory/*", endpoint{tenants, nothing, methods{"GET": nil}})
		add("api/"+kind.Name, endpoint{tenants, nothing, methods{"GET": nil}})
	}
	return list
}

func TestNobodyReadsAnythingOfATenantWithoutAccess(t *testing.T) {
	h, _, admin, _, _, _ := measuring(t)
	anonymous := &client{h: h, header: http.Header{}}
	for name, access := range map[string][]any{
		"without access":    nil,
		"of another tenant": {schema.Object{"tenant_ref": "/api/tenant/?name=blue"}},
	} {
		admin.want(http.StatusCreated, "POST", "/api/user", schema.Object{"name": name, "username": name,
			"password": testPassword, "access": access})
		user := h.loginAs(name, testPassword)
		for _, at := range paths() {
			if answer := user.do(at.method, at.path, nil); answer.Code != http.StatusForbidden {
				t.Errorf("%s: %s %s: %d %s", name, at.method, at.path, answer.Code, answer.Body)
			}
		}
	}
	for _, at := range paths() {
		if answer := anonymous.do(at.method, at.path, nil); answer.Code != http.StatusUnauthorized {
			t.Errorf("nobody: %s %s: %d %s", at.method, at.path, answer.Code, answer.Body)
		}
	}
}
