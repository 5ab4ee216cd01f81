package rest

import (
	"net/http"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

func TestRoutesOfAnEngineAreBelowIt(t *testing.T) {
	h := newHouse(t)
	h.must(h.store.Update(t.Context(), func(tx *store.Tx) error {
		tx.Put(&store.Record{Kind: "serviceengine", UUID: "se-1", Tenant: "admin", Name: "edge",
			Object: schema.Object{"uuid": "se-1", "name": "edge", "tenant_ref": "/api/tenant/admin"}})
		return nil
	}))
	c := h.login()
	whole := c.want(http.StatusOK, "GET", "/api/serviceengine/se-1/bgp", nil)
	if peer := whole["peers"].([]any)[0].(schema.Object); peer["peer_ip"] != "10.0.0.1" {
		t.Errorf("got %v", whole)
	}
	for below, count := range map[string]float64{"bgp/peer_status": 1, "bgp/advertised_routes/": 1,
		"bfd/session_status": 0} {
		if list := c.want(http.StatusOK, "GET", "/api/serviceengine/se-1/"+below, nil); list["count"] != count {
			t.Errorf("%s: %v", below, list)
		}
	}
	routes := c.want(http.StatusOK, "GET", "/api/serviceengine/se-1/bgp/advertised_routes", nil)
	services := routes["results"].([]any)[0].(schema.Object)["virtualservice_refs"].([]any)
	if services[0] != "https://"+testHost+"/api/virtualservice/vs-1" {
		t.Errorf("refers to %v", services)
	}
	c.refused(http.StatusNotFound, "ServiceEngine object not found!", "GET", "/api/serviceengine/se-unknown/bgp", nil)
}
