package rest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

// reader is a user who is no superuser.
func (h *house) reader(admin *client) *client {
	h.t.Helper()
	admin.want(http.StatusCreated, "POST", "/api/user", schema.Object{"name": "reader", "password": testPassword,
		"access": []any{schema.Object{"tenant_ref": "/api/tenant/admin"}}})
	return h.loginAs("reader", testPassword)
}

func TestSchemaOfAKindHasItsFieldsAndWhatTheUserMayDo(t *testing.T) {
	h := newHouse(t)
	c := h.login()
	pool := c.want(http.StatusOK, "GET", "/api/weir/schema/pool", nil)
	if pool["may_create"] != true || pool["may_delete"] != true || pool["why_not"] != nil || pool["title"] != "Pool" {
		t.Errorf("the administrator reads %v", pool)
	}
	if fields := pool["fields"].([]any); len(fields) < 50 {
		t.Errorf("a pool has %d fields", len(fields))
	}
	engine := c.want(http.StatusOK, "GET", "/api/weir/schema/serviceengine", nil)
	if engine["may_create"] != false || engine["may_change"] != true {
		t.Errorf("engines: %v %v", engine["may_create"], engine["may_change"])
	}
	read := h.reader(c)
	pool = read.want(http.StatusOK, "GET", "/api/weir/schema/pool", nil)
	if pool["may_change"] != false || !strings.Contains(pool["why_not"].(string), "administrators") ||
		pool["may_read"] != true {
		t.Errorf("the reader reads %v", pool)
	}
	if user := read.want(http.StatusOK, "GET", "/api/weir/schema/user", nil); user["may_read"] != false {
		t.Errorf("the reader may read users: %v", user["may_read"])
	}
	if all := read.want(http.StatusOK, "GET", "/api/weir/schema", nil); all["count"] != float64(len(schema.Kinds())) {
		t.Errorf("there are %v kinds", all["count"])
	}
	read.refused(http.StatusNotFound, "nothing", "GET", "/api/weir/schema/frob", nil)
	read.lacks("WRITE_ACCESS", "PERMISSION_POOL", "admin", "POST", "/api/pool", schema.Object{"name": "p"})
}

func TestErrorNamesItsField(t *testing.T) {
	c := newHouse(t).login()
	answer := c.want(http.StatusBadRequest, "POST", "/api/pool", schema.Object{"name": "p",
		"servers": []any{schema.Object{"ip": schema.Object{"addr": "x", "type": "V4"}}}})
	if answer["weir_kind"] != "pool" || answer["weir_field"] != "servers[0].ip.addr" {
		t.Errorf("the answer is %v", answer)
	}
	c.pool("p")
	if answer := c.want(http.StatusConflict, "POST", "/api/pool", schema.Object{"name": "p"}); answer["weir_field"] !=
		"name" {
		t.Errorf("the answer is %v", answer)
	}
}

func TestWriteOfAVersionThatIsGoneIsRefused(t *testing.T) {
	h := newHouse(t)
	c := h.login()
	was := c.pool("p")
	with := func(version any) *client {
		other := *c
		other.header = c.header.Clone()
		other.header.Set("If-Match", `"`+version.(string)+`"`)
		return &other
	}
	h.clock.advance(1)
	is := with(was["_last_modified"]).want(http.StatusOK, "PATCH", path(was),
		schema.Object{"replace": schema.Object{"description": "new"}})
	for _, method := range []string{"PUT", "PATCH", "DELETE"} {
		with(was["_last_modified"]).refused(http.StatusPreconditionFailed, "reload", method, path(was),
			schema.Object{"replace": schema.Object{"description": "lost"}})
	}
	answer := with(is["_last_modified"]).do("DELETE", path(was), nil)
	if answer.Code != http.StatusNoContent || answer.Header().Get("X-Weir-Revision") == "" {
		t.Errorf("the answer is %d with the revision %q", answer.Code, answer.Header().Get("X-Weir-Revision"))
	}
}

func TestProgressOfAWriteIsAskedByItsRevision(t *testing.T) {
	h := newHouse(t)
	c := h.login()
	var asked []any
	h.api.progress = func(revision int64, uuid string) schema.Object {
		asked = append(asked, revision, uuid)
		return schema.Object{"considered": true}
	}
	pool := c.pool("p")
	c.want(http.StatusOK, "GET", "/api/weir/applied?revision=17&kind=pool&uuid="+pool["uuid"].(string), nil)
	c.want(http.StatusOK, "GET", "/api/weir/applied?revision=18", nil)
	if len(asked) != 4 || asked[0] != int64(17) || asked[1] != pool["uuid"] || asked[3] != "" {
		t.Errorf("asked %v", asked)
	}
	c.refused(http.StatusBadRequest, "revision", "GET", "/api/weir/applied", nil)
	c.refused(http.StatusNotFound, "not found", "GET", "/api/weir/applied?revision=1&kind=pool&uuid=pool-x", nil)
}
