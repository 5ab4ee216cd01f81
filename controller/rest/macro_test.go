package rest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

func macro(name string, pool schema.Object) schema.Object {
	return schema.Object{"model_name": "VirtualService", "data": schema.Object{
		"name": name, "services": []any{schema.Object{"port": 80}}, "pool_ref_data": pool,
		"vsvip_ref_data": schema.Object{"name": name, "vip": []any{
			schema.Object{"ip_address": schema.Object{"addr": "10.7.0.1", "type": "V4"}}}},
	}}
}

func TestMacroCreatesATreeOfObjects(t *testing.T) {
	c := newHouse(t).login()
	made := c.want(http.StatusCreated, "POST", "/api/macro", macro("web", schema.Object{"name": "web",
		"frobs": 1, "health_monitor_refs_data": []any{
			schema.Object{"name": "one", "type": "HEALTH_MONITOR_TCP"},
			schema.Object{"name": "two", "type": "HEALTH_MONITOR_TCP"}}}))
	if got := len(made["weir_created"].([]any)); got != 5 {
		t.Errorf("%d objects were created: %v", got, made["weir_created"])
	}
	if pool := made["pool_ref"].(string); !strings.HasSuffix(pool, "#web") {
		t.Errorf("the pool is %s", pool)
	}
	if monitors := c.want(http.StatusOK, "GET", "/api/pool?name=web", nil)["results"].([]any)[0].(schema.Object); len(
		monitors["health_monitor_refs"].([]any)) != 2 {
		t.Errorf("the pool has %v", monitors)
	}
	warning := made["weir_warnings"].([]any)[0].(schema.Object)
	if warning["field"] != "pool: frobs" {
		t.Errorf("warnings are %v", made["weir_warnings"])
	}
}

func TestMacroCreatesNothingIfOneObjectIsRefused(t *testing.T) {
	c := newHouse(t).login()
	answer := c.want(http.StatusBadRequest, "POST", "/api/macro", macro("web",
		schema.Object{"name": "web", "default_server_port": 70000}))
	if answer["weir_kind"] != "pool" || answer["weir_field"] != "default_server_port" {
		t.Errorf("the answer is %v", answer)
	}
	for _, kind := range []string{"vsvip", "pool", "virtualservice"} {
		if found := c.want(http.StatusOK, "GET", "/api/"+kind, nil)["count"]; found != float64(0) {
			t.Errorf("there are %v objects of kind %s", found, kind)
		}
	}
}

func TestMacroIsRefusedWhereItMakesNoSense(t *testing.T) {
	c := newHouse(t).login()
	c.refused(http.StatusBadRequest, "is no kind", "POST", "/api/macro", schema.Object{"model_name": "Frob"})
	c.refused(http.StatusBadRequest, "must be an object", "POST", "/api/macro", schema.Object{"model_name": "Pool"})
	c.refused(http.StatusBadRequest, "has no reference", "POST", "/api/macro",
		schema.Object{"model_name": "Pool", "data": schema.Object{"frob_ref_data": schema.Object{}}})
	c.refused(http.StatusMethodNotAllowed, "not allowed", "DELETE", "/api/macro", nil)
	many := make([]any, maxMacro)
	for i := range many {
		many[i] = schema.Object{"name": "x"}
	}
	c.refused(http.StatusBadRequest, "more than", "POST", "/api/macro", schema.Object{"model_name": "Pool",
		"data": schema.Object{"name": "p", "health_monitor_refs_data": many}})
	c.refused(http.StatusMethodNotAllowed, "not allowed", "POST", "/api/macro",
		schema.Object{"model_name": "ServiceEngine", "data": schema.Object{"name": "e"}})
}
