package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

func TestVirtualServiceWithASecurityPolicyIsInNoPlanAndSaysWhy(t *testing.T) {
	const why = "engines do not apply security policies yet: it is not served while this is set"
	house := start(t, t.TempDir())
	engine := house.connect(house.join("edge-1"))
	guarded := house.createService("guarded", 8443)
	delta, _ := engine.planWith(guarded["uuid"])
	engine.ack(delta)
	house.runtimeUntil("virtualservice", guarded, "applied on 1 of 1 engines")

	guarded["security_policy_ref"] = "/api/securitypolicy?name=ours"
	guarded, err := house.api.Replace(house.Context(), "virtualservice", guarded)
	house.must(err)
	if said := fmt.Sprint(guarded["weir_warnings"]); !strings.Contains(said, why) {
		t.Errorf("the reply says %s", said)
	}
	delta = engine.plan()
	if !slices.Contains(delta.GetRemoved(), fmt.Sprint(guarded["uuid"])) ||
		strings.Contains(fmt.Sprint(delta.GetChanged()), fmt.Sprint(guarded["uuid"])) {
		t.Errorf("it is not taken away: %v", delta)
	}
	engine.ack(delta)
	house.runtimeUntil("virtualservice", guarded, "OPER_DOWN",
		"virtualservice guarded: security_policy_ref: "+why)

	delete(guarded, "security_policy_ref")
	_, err = house.api.Replace(house.Context(), "virtualservice", guarded)
	house.must(err)
	delta, _ = engine.planWith(guarded["uuid"])
	engine.ack(delta)
	house.runtimeUntil("virtualservice", guarded, "applied on 1 of 1 engines")
}

func TestVirtualServicesAreNotServedByAnObjectThatWouldKeepSomebodyOut(t *testing.T) {
	house := start(t, t.TempDir())
	engine := house.connect(house.join("edge-1"))
	monitored := house.createService("monitored", 8443)
	delta, _ := engine.planWith(monitored["uuid"])
	engine.ack(delta)
	group, err := house.api.ByName(house.Context(), "serviceenginegroup", "Default-Group")
	house.must(err)
	house.must(house.api.Patch(house.Context(), "serviceenginegroup", fmt.Sprint(group["uuid"]), client.Object{
		"iptables": []any{client.Object{"table": "filter"}}}))
	if delta = engine.plan(); !slices.Contains(delta.GetRemoved(), fmt.Sprint(monitored["uuid"])) {
		t.Errorf("it is not taken away: %v", delta)
	}
	engine.ack(delta)
	house.runtimeUntil("virtualservice", monitored, "OPER_DOWN", "iptables",
		"no virtual service with this serviceenginegroup is served")
}
