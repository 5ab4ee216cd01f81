package rest

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// The files in testdata are answers of a real controller (host avi-controller). A reply must have everything in them.
// "…" stands for any text.
func TestRepliesHaveWhatARealControllerAnswers(t *testing.T) {
	h := newHouse(t)
	c := h.login()
	for _, kind := range []string{"pool", "vsvip", "virtualservice"} {
		sent, err := os.ReadFile("testdata/" + kind + ".request.json")
		h.must(err)
		golden, err := os.ReadFile("testdata/" + kind + ".reply.json")
		h.must(err)
		var want schema.Object
		h.must(json.Unmarshal(golden, &want))
		got := c.want(http.StatusCreated, "POST", "/api/"+kind, string(sent))
		compare(t, kind, got, want)
	}
}

func compare(t *testing.T, at string, got, want any) {
	t.Helper()
	switch w := want.(type) {
	case schema.Object:
		g, ok := got.(schema.Object)
		if !ok {
			t.Errorf("%s is %v, want an object", at, got)
			return
		}
		for name := range w {
			compare(t, at+"."+name, g[name], w[name])
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			t.Errorf("%s is %v, want %v", at, got, want)
			return
		}
		for i := range w {
			compare(t, fmt.Sprintf("%s[%d]", at, i), g[i], w[i])
		}
	case string:
		if before, after, wild := strings.Cut(w, "…"); wild {
			g, _ := got.(string)
			if !strings.HasPrefix(g, before) || !strings.HasSuffix(g, after) || len(g) <= len(before)+len(after) {
				t.Errorf("%s is %v, want %v", at, got, want)
			}
			return
		}
		if got != want {
			t.Errorf("%s is %v, want %v", at, got, want)
		}
	default:
		if got != want {
			t.Errorf("%s is %v, want %v", at, got, want)
		}
	}
}

func TestCreatedObjectIsReadBackWithoutNames(t *testing.T) {
	c := newHouse(t).login()
	answer := c.do("POST", "/api/pool", schema.Object{"name": "p"})
	if location := answer.Header().Get("Location"); !strings.HasPrefix(location, "https://"+testHost+
		"/api/pool/pool-") {
		t.Errorf("Location is %q", location)
	}
	var made schema.Object
	c.h.must(json.Unmarshal(answer.Body.Bytes(), &made))
	if url := made["url"].(string); !strings.HasSuffix(url, "#p") {
		t.Errorf("url after a write is %s", url)
	}
	read := c.want(http.StatusOK, "GET", path(made), nil)
	if ref := read["tenant_ref"]; ref != "https://"+testHost+"/api/tenant/admin" {
		t.Errorf("tenant_ref of a read is %v", ref)
	}
	named := c.want(http.StatusOK, "GET", path(made)+"?include_name", nil)
	if ref := named["tenant_ref"]; ref != "https://"+testHost+"/api/tenant/admin#admin" {
		t.Errorf("tenant_ref with include_name is %v", ref)
	}
	if named["_last_modified"] != made["_last_modified"] || named["_last_modified"] == "" {
		t.Errorf("_last_modified %v, after the write %v", named["_last_modified"], made["_last_modified"])
	}
}

func TestStaleReplacementIsRefused(t *testing.T) {
	c := newHouse(t).login()
	made := c.pool("p")
	c.want(http.StatusOK, "PATCH", path(made), schema.Object{"replace": schema.Object{"description": "x"}})
	made["description"] = "y"
	c.refused(http.StatusPreconditionFailed, "Need to reload object data", "PUT", path(made), made)
	delete(made, "_last_modified")
	c.want(http.StatusOK, "PUT", path(made), made)
}

func TestReplacementDropsWhatItLeavesOut(t *testing.T) {
	c := newHouse(t).login()
	made := c.pool("p")
	c.want(http.StatusOK, "PATCH", path(made), schema.Object{"add": schema.Object{"description": "x"}})
	replaced := c.want(http.StatusOK, "PUT", path(made), schema.Object{"name": "renamed"})
	if _, kept := replaced["description"]; kept || replaced["servers"] != nil || replaced["name"] != "renamed" {
		t.Errorf("after the replacement: %v", replaced)
	}
	if replaced["uuid"] != made["uuid"] || replaced["tenant_ref"] != made["tenant_ref"] ||
		replaced["cloud_ref"] != made["cloud_ref"] {
		t.Errorf("the replacement changed who the object is: %v", replaced)
	}
}

func TestBadFieldsAreNamed(t *testing.T) {
	c := newHouse(t).login()
	for _, bad := range []struct {
		body  string
		names string
	}{
		{`{"name":"p","default_server_port":70000}`, "default_server_port"},
		{`{"name":"p","lb_algorithm":"BEST"}`, "lb_algorithm"},
		{`{"name":"p","servers":[{"ip":{"addr":"10.0.0.1","type":"V4"},"port":"http"}]}`, "servers[0].port"},
		{`{"name":"p","health_monitor_refs":["/api/healthmonitor?name=none"]}`, "health_monitor_refs[0]"},
		{`{"name":"p","health_monitor_refs":["healthmonitor-unknown"]}`, "health_monitor_refs[0]"},
		{`{"default_server_port":80}`, "name"},
		{`{"name":`, "JSON"},
		{`[]`, "JSON object"},
	} {
		c.refused(http.StatusBadRequest, bad.names, "POST", "/api/pool", bad.body)
	}
	if n := c.want(http.StatusOK, "GET", "/api/pool", nil)["count"]; n != 0.0 {
		t.Errorf("%v pools were made", n)
	}
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	c := newHouse(t).login()
	made := c.want(http.StatusCreated, "POST", "/api/pool", `{"name":"p","no_such_field":1}`)
	if _, kept := made["no_such_field"]; kept {
		t.Error("an unknown field was kept")
	}
}

func TestReferencesAreTakenInEveryForm(t *testing.T) {
	c := newHouse(t).login()
	pool := c.pool("the pool")
	uuid := pool["uuid"].(string)
	want := "https://" + testHost + "/api/pool/" + uuid
	for i, form := range []string{
		"https://elsewhere:9443/api/pool/" + uuid, want + "#the pool", "/api/pool/" + uuid, uuid,
		"/api/pool?name=the pool", "/api/pool/?name=the%20pool", "/api/pool/?name=the+pool&cloud=Default-Cloud",
	} {
		vs := c.virtualService(fmt.Sprint("vs", i), form)
		read := c.want(http.StatusOK, "GET", path(vs), nil)
		if read["pool_ref"] != want {
			t.Errorf("%s became %v", form, read["pool_ref"])
		}
	}
	c.refused(http.StatusBadRequest, "pool_ref", "POST", "/api/virtualservice",
		onVip(c.vip("v"), "vs", "/api/pool/?name=the pool&cloud=Other"))
}

func TestObjectInUseIsNotDeleted(t *testing.T) {
	c := newHouse(t).login()
	pool := c.pool("p")
	vs := c.virtualService("v", pool["uuid"])
	c.refused(http.StatusPreconditionFailed, "Cannot delete, object is referred by: ['VirtualService v']",
		"DELETE", path(pool), nil)
	c.want(http.StatusNoContent, "DELETE", path(vs), nil)
	c.want(http.StatusNoContent, "DELETE", path(pool), nil)
	c.refused(http.StatusNotFound, "Pool object not found!", "GET", path(pool), nil)
	c.refused(http.StatusNotFound, "Pool object not found!", "DELETE", path(pool), nil)
}

func TestBuiltInObjectsChangeButStay(t *testing.T) {
	c := newHouse(t).login()
	listed := c.want(http.StatusOK, "GET", "/api/applicationprofile?name=System-Secure-HTTP", nil)
	found := listed["results"].([]any)[0].(schema.Object)
	c.refused(http.StatusBadRequest, "system default", "DELETE", "/api/applicationprofile/"+found["uuid"].(string), nil)
	found["description"] = "ours"
	c.want(http.StatusOK, "PUT", "/api/applicationprofile/"+found["uuid"].(string), found)
}

func TestNamesAreUniqueWithinTenantAndKind(t *testing.T) {
	c := newHouse(t).login()
	c.pool("p")
	c.refused(http.StatusConflict, "p", "POST", "/api/pool", schema.Object{"name": "p"})
	c.virtualService("p", nil)
	other := c.pool("q")
	c.refused(http.StatusConflict, "p", "PATCH", path(other), schema.Object{"replace": schema.Object{"name": "p"}})
}

func TestClientChoosesTheUUIDWithSlug(t *testing.T) {
	c := newHouse(t).login()
	c.header.Set("Slug", "pool-force-42")
	if made := c.pool("p"); made["uuid"] != "pool-force-42" {
		t.Errorf("uuid is %v", made["uuid"])
	}
	c.refused(http.StatusConflict, "pool-force-42", "POST", "/api/pool", schema.Object{"name": "q"})
	c.header.Set("Slug", "../etc")
	c.refused(http.StatusBadRequest, "uuid", "POST", "/api/pool", schema.Object{"name": "q"})
}

func TestSecretsAreWrittenAndNotReadBack(t *testing.T) {
	h := newHouse(t)
	c := h.login()
	order := schema.Object{"name": "c", "certificate": schema.Object{"self_signed": true,
		"subject": schema.Object{"common_name": "x.example"}},
		"key_params": schema.Object{"algorithm": "SSL_KEY_ALGORITHM_EC"}}
	made := c.want(http.StatusCreated, "POST", "/api/sslkeyandcertificate", order)
	if made["key"] != schema.Sensitive {
		t.Errorf("key reads %v", made["key"])
	}
	certificate := made["certificate"].(schema.Object)
	if subject := certificate["subject"].(schema.Object); subject["common_name"] != "x.example" {
		t.Errorf("subject is %v", subject)
	}
	stored, _ := h.store.View().Get("sslkeyandcertificate", made["uuid"].(string))
	key := stored.Object["key"].(string)
	if !strings.Contains(key, "PRIVATE KEY") {
		t.Fatalf("stored key is %q", key)
	}
	c.want(http.StatusOK, "PUT", path(made), made)
	stored, _ = h.store.View().Get("sslkeyandcertificate", made["uuid"].(string))
	if stored.Object["key"] != key {
		t.Error("putting <sensitive> back changed the key")
	}
	if exported := c.want(http.StatusOK, "GET", path(made)+"?export_key=true", nil); exported["key"] != key {
		t.Errorf("exported key is %v", exported["key"])
	}
	user := c.want(http.StatusOK, "GET", "/api/user/user-1?export_key=true", nil)
	if user["password"] != schema.Sensitive {
		t.Errorf("the password of admin reads %v", user["password"])
	}
}

func TestPatchDoesNotReadSecrets(t *testing.T) {
	h := newHouse(t)
	c := h.login()
	secret := func() any {
		stored, _ := h.store.View().Get("user", "user-1")
		return stored.Object["password"]
	}
	before := secret()
	copied := c.want(http.StatusOK, "PATCH", "/api/user/user-1", schema.Object{"json_patch": []any{
		schema.Object{"op": "copy", "from": "/password", "path": "/full_name"}}})
	if copied["full_name"] != schema.Sensitive {
		t.Errorf("full_name is %v", copied["full_name"])
	}
	c.refused(http.StatusBadRequest, "test expects", "PATCH", "/api/user/user-1", schema.Object{"json_patch": []any{
		schema.Object{"op": "test", "path": "/password", "value": before}}})
	if secret() != before {
		t.Error("the patch changed the password")
	}
}

func TestObjectsOfOneTenantAreHiddenFromAnother(t *testing.T) {
	c := newHouse(t).login()
	tenant := c.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": "blue"})
	c.header.Set("X-Avi-Tenant", "blue")
	pool := c.pool("p")
	if ref := pool["tenant_ref"].(string); !strings.HasSuffix(ref, "#blue") {
		t.Errorf("tenant_ref is %s", ref)
	}
	count := func() any { return c.want(http.StatusOK, "GET", "/api/pool?name=p", nil)["count"] }
	if count() != 1.0 {
		t.Error("blue does not see its own pool")
	}
	if profiles := c.want(http.StatusOK, "GET", "/api/applicationprofile?name=System-HTTP",
		nil); profiles["count"] != 1.0 {
		t.Error("blue does not see the built-in profiles")
	}
	c.header.Set("X-Avi-Tenant", "admin")
	if count() != 0.0 {
		t.Error("admin sees the pool of blue")
	}
	c.refused(http.StatusNotFound, "Pool object not found!", "GET", path(pool), nil)
	c.refused(http.StatusNotFound, "Pool object not found!", "DELETE", path(pool), nil)
	c.refused(http.StatusBadRequest, "pool_ref", "POST", "/api/virtualservice", onVip(c.vip("v"), "v", pool["uuid"]))
	c.header.Del("X-Avi-Tenant")
	c.header.Set("X-Avi-Tenant-UUID", tenant["uuid"].(string))
	if count() != 1.0 {
		t.Error("blue by its uuid does not see its pool")
	}
	c.header.Del("X-Avi-Tenant-UUID")
	c.header.Set("X-Avi-Tenant", "*")
	if count() != 1.0 {
		t.Error("* does not see the pool of blue")
	}
	c.refused(http.StatusPreconditionFailed, "Pool p", "DELETE", path(tenant), nil)
	c.header.Set("X-Avi-Tenant", "green")
	c.refused(http.StatusForbidden, "Tenant 'green' does not exist!", "GET", "/api/pool", nil)
}

func TestSingletonIsReadAndReplacedWithoutUUID(t *testing.T) {
	c := newHouse(t).login()
	config := c.want(http.StatusOK, "GET", "/api/systemconfiguration", nil)
	if config["uuid"] != "default" || config["results"] != nil {
		t.Errorf("got %v", config)
	}
	c.want(http.StatusOK, "PUT", "/api/systemconfiguration", "")
	config["welcome_workflow_complete"] = true
	if changed := c.want(http.StatusOK, "PUT", "/api/systemconfiguration",
		config); changed["welcome_workflow_complete"] != true {
		t.Errorf("got %v", changed)
	}
	c.refused(http.StatusMethodNotAllowed, "Method 'DELETE' not allowed", "DELETE", "/api/systemconfiguration", nil)
	c.refused(http.StatusMethodNotAllowed, "Method 'POST' not allowed", "POST", "/api/serviceengine",
		schema.Object{"name": "se"})
}

func TestParallelPatchesAllArrive(t *testing.T) {
	c := newHouse(t).login()
	made := c.want(http.StatusCreated, "POST", "/api/pool", schema.Object{"name": "p"})
	const writers = 50
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			server := schema.Object{"ip": schema.Object{"addr": fmt.Sprintf("10.0.1.%d", i), "type": "V4"}}
			answer := c.do("PATCH", path(made), schema.Object{"add": schema.Object{"servers": []any{server}}})
			if answer.Code != http.StatusOK {
				t.Errorf("patch %d: %d %s", i, answer.Code, answer.Body)
			}
		})
	}
	group.Wait()
	if servers := c.want(http.StatusOK, "GET", path(made), nil)["servers"].([]any); len(servers) != writers {
		t.Errorf("%d of %d servers arrived", len(servers), writers)
	}
}

func TestTooLargeBodyIsRefusedWithItsLimit(t *testing.T) {
	c := newHouse(t).login()
	body := `{"name":"p","description":"` + strings.Repeat("x", maxBodyBytes) + `"}`
	c.refused(http.StatusRequestEntityTooLarge, "1 MiB", "POST", "/api/pool", body)
}

func TestDeeplyNestedBodyIsRefused(t *testing.T) {
	c := newHouse(t).login()
	body := `{"name":` + strings.Repeat(`[`, 500) + strings.Repeat(`]`, 500) + `}`
	c.refused(http.StatusBadRequest, "nested", "POST", "/api/pool", body)
}

func TestRuntimeIsOfTheObjectThatTheTenantSees(t *testing.T) {
	h := newHouse(t)
	h.runtime.servers = []schema.Object{{"ip_addr": schema.Object{"addr": "10.0.0.1"}, "port": 80}}
	c := h.login()
	vs := c.virtualService("v", nil)
	runtime := c.want(http.StatusOK, "GET", path(vs)+"/runtime/", nil)
	engine := runtime["vip_summary"].([]any)[0].(schema.Object)["service_engine"].([]any)[0].(schema.Object)
	if engine["se_ref"] != "https://"+testHost+"/api/serviceengine/se-1" {
		t.Errorf("se_ref is %v", engine["se_ref"])
	}
	pool := c.pool("p")
	for _, below := range []string{"/runtime/server", "/runtime/server/detail/"} {
		if list := c.want(http.StatusOK, "GET", path(pool)+below, nil); list["count"] != 1.0 {
			t.Errorf("%s: %v", below, list)
		}
	}
	if joined := c.want(http.StatusOK, "GET", path(pool)+"?join_subresources=runtime", nil); joined["runtime"] == nil {
		t.Error("the runtime was not joined")
	}
	c.refused(http.StatusNotFound, "Pool object not found!", "GET", "/api/pool/pool-unknown/runtime", nil)
}

func TestSkipDefaultLeavesOnlyWhatWasSaid(t *testing.T) {
	c := newHouse(t).login()
	lean := c.want(http.StatusOK, "GET", path(c.pool("p"))+"?skip_default=true", nil)
	if _, ok := lean["lb_algorithm"]; ok {
		t.Errorf("a default is left: %v", lean)
	}
	server := lean["servers"].([]any)[0].(schema.Object)
	if _, ok := server["ratio"]; ok {
		t.Errorf("a default is left in a server: %v", server)
	}
}

func TestNameWithAControlCharacterIsRefused(t *testing.T) {
	c := newHouse(t).login()
	for _, name := range []string{"a\x00b", "a\nb", "a\x7fb", "a\u0085b"} {
		c.refused(http.StatusBadRequest, fmt.Sprintf("pool: name: %q contains a control character", name), "POST",
			"/api/pool", schema.Object{"name": name})
	}
	made := c.pool("größer als 1")
	c.refused(http.StatusBadRequest, "pool: name:", "PATCH", path(made),
		schema.Object{"replace": schema.Object{"name": "a\tb"}})
}

func TestObjectKeepsANameWithAControlCharacterThatItAlreadyHas(t *testing.T) {
	h := newHouse(t)
	c := h.login()
	made := c.pool("p")
	h.must(h.store.Update(t.Context(), func(tx *store.Tx) error {
		stored, _ := tx.View().Get("pool", made["uuid"].(string))
		next := *stored
		next.Name, next.Object = "p\n", schema.Clone(stored.Object)
		next.Object["name"] = next.Name
		tx.Put(&next)
		return nil
	}))
	changed := c.want(http.StatusOK, "PATCH", path(made), schema.Object{"replace": schema.Object{"description": "old"}})
	if changed["name"] != "p\n" || changed["description"] != "old" {
		t.Errorf("answered %v", changed)
	}
}

func TestObjectIsFoundByItsNameWithoutAListOfAll(t *testing.T) {
	const pools = 2000
	h := newHouse(t)
	h.must(h.store.Update(t.Context(), func(tx *store.Tx) error {
		for i := range pools {
			tx.Put(barePool(fmt.Sprint("pool-", i)))
		}
		return nil
	}))
	kind, _ := schema.Lookup("pool")
	fewest := uint64(math.MaxUint64)
	for range 5 { // other goroutines allocate, too
		h.must(h.store.Update(t.Context(), func(tx *store.Tx) error {
			tx.Put(barePool("pool-7"))
			return nil
		}))
		c := &call{view: h.store.View(), query: url.Values{"name": {"pool-7"}}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found := c.candidates(kind)
		runtime.ReadMemStats(&after)
		fewest = min(fewest, after.TotalAlloc-before.TotalAlloc)
		if len(found) != 1 || found[0].UUID != "pool-7" {
			t.Fatalf("found %v", found)
		}
	}
	if fewest >= 8*pools {
		t.Errorf("took %d bytes", fewest)
	}
}

func barePool(name string) *store.Record {
	return &store.Record{Kind: "pool", UUID: name, Tenant: admit.AdminTenant, Name: name,
		Object: schema.Object{"name": name}}
}
