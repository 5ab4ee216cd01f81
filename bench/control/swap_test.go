package control

import (
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

func resource(uuid, name string) *enginev1.Resource {
	service := &dataplanev1.VirtualService{
		Uuid: uuid, Name: name, Listeners: []*dataplanev1.Listener{{Address: "127.64.0.0", Port: servicePort}}}
	return &enginev1.Resource{Uuid: uuid, Body: &enginev1.Resource_VirtualService{VirtualService: service}}
}

func TestPlansOfSeveralEnginesAreJoinedToOneAtAnotherPort(t *testing.T) {
	settings := &enginev1.Resource{
		Uuid: "settings", Body: &enginev1.Resource_EngineSettings{EngineSettings: &enginev1.EngineSettings{}}}
	b := resource("b", "of one engine")
	plan := joined([]*enginev1.Resource{b, settings, resource("a", "of another"), settings}, swapPort)
	var uuids string
	for _, resource := range plan.GetResources() {
		uuids += resource.GetUuid() + " "
	}
	if uuids != "a b settings " {
		t.Errorf("got %s", uuids)
	}
	if port := plan.GetResources()[0].GetVirtualService().GetListeners()[0].GetPort(); port != swapPort {
		t.Errorf("it listens at port %d", port)
	}
	if port := b.GetVirtualService().GetListeners()[0].GetPort(); port != servicePort {
		t.Errorf("the engine's own Plan was changed: port %d", port)
	}
}

func TestRenamingLeavesThePlanBeforeAsItWas(t *testing.T) {
	before := &enginev1.Plan{Revision: 7, Resources: []*enginev1.Resource{resource("a", "old"), resource("b", "other")}}
	next := renamed(before, "a", "new")
	if names := namesIn(next); next.GetRevision() != 8 || names["a"] != "new" || names["b"] != "other" {
		t.Errorf("got %v at %d", names, next.GetRevision())
	}
	if names := namesIn(before); names["a"] != "old" {
		t.Errorf("the Plan before has %v", names)
	}
}
