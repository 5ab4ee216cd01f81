package rest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

func TestInventoriesHaveObjectsWithTheirRuntimeAndScore(t *testing.T) {
	h, _, admin, blue, web, _ := measuring(t)
	told := h.api.reports["virtualservice"]["runtime"]
	h.api.reports["virtualservice"]["runtime"] = func(uuid string) any {
		page := told(uuid).(schema.Object)
		page["health_score"] = schema.Object{"health_score": int64(97)}
		return page
	}
	listed := admin.want(http.StatusOK, "GET",
		"/api/virtualservice-inventory?include_name=true&page_size=200&name=web&"+
			"include=runtime,health_score,metrics&metric_id=l7_client.avg_total_requests,l7_client.apdexr&step=5&limit=1",
		nil)
	if listed["count"] != 1.0 {
		t.Fatalf("got %v", listed)
	}
	item := listed["results"].([]any)[0].(schema.Object)
	config, runtime := item["config"].(schema.Object), item["runtime"].(schema.Object)
	if item["uuid"] != web || config["name"] != "web" || fmt.Sprint(
		config["vip"].([]any)[0].(schema.Object)["ip_address"]) !=
		"map[addr:10.1.0.1 type:V4]" {
		t.Errorf("config: %v", item)
	}
	if state := runtime["oper_status"].(schema.Object)["state"]; state != "OPER_UP" || runtime["health_score"] != nil ||
		item["health_score"].(schema.Object)["health_score"] != 97.0 {
		t.Errorf("runtime: %v, score: %v", runtime, item["health_score"])
	}
	if pools := fmt.Sprint(item["pools"]); item["app_profile_type"] != "APPLICATION_PROFILE_TYPE_HTTP" ||
		pools != fmt.Sprint([]any{config["pool_ref"]}) {
		t.Errorf("relations: %v", item)
	}
	metrics := item["metrics"].(schema.Object)
	if metrics["l7_client.avg_total_requests"].(schema.Object)["value"] != 7.5 ||
		metrics["l7_client.apdexr"].(schema.Object)["value"] != nil {
		t.Errorf("metrics: %v", metrics)
	}
	one := admin.want(http.StatusOK, "GET", "/api/virtualservice-inventory/"+web+"/?include=health_score", nil)
	if one["runtime"] != nil || one["health_score"] == nil || one["config"].(schema.Object)["name"] != "web" {
		t.Errorf("one: %v", one)
	}
	pools := admin.want(http.StatusOK, "GET", "/api/pool-inventory?include_name=true", nil)["results"].([]any)
	services := pools[0].(schema.Object)["virtualservices"].([]any)
	if len(pools) != 1 || services[0].(schema.Object)["uuid"] != web {
		t.Errorf("pools: %v", pools)
	}
	blue.want(http.StatusNotFound, "GET", "/api/virtualservice-inventory/"+web, nil)
	for _, kind := range append([]string{"vsvip", "serviceenginegroup", "cloud"}, emptyInventories...) {
		admin.want(http.StatusOK, "GET", "/api/"+kind+"-inventory", nil)
	}
	admin.want(http.StatusNotFound, "GET", "/api/nonsense-inventory", nil)
	admin.refused(http.StatusBadRequest, "vsvip has no metrics", "GET",
		"/api/vsvip-inventory?metric_id=l7_client.apdexr", nil)
}

func TestInventoryListsPageByPage(t *testing.T) {
	_, _, admin, _, _, _ := measuring(t)
	admin.pool("more")
	first := admin.want(http.StatusOK, "GET", "/api/pool-inventory?page_size=1", nil)
	if next := first["next"]; next != "https://"+testHost+"/api/pool-inventory?page=2&page_size=1" {
		t.Errorf("next: %v", next)
	}
	if last := admin.want(http.StatusOK, "GET", "/api/pool-inventory?page_size=1&page=2", nil); last["next"] != nil {
		t.Errorf("last: %v", last)
	}
}
