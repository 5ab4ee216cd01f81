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
	all := joined([]*enginev1.Resource{b, settings, resource("a", "of another"), settings}, swapPort)
	var uuids string
	for _, resource := range all {
		uuids += resource.GetUuid() + " "
	}
	if uuids != "a b settings " {
		t.Errorf("got %s", uuids)
	}
	if port := all[0].GetVirtualService().GetListeners()[0].GetPort(); port != swapPort {
		t.Errorf("it listens at port %d", port)
	}
	if port := b.GetVirtualService().GetListeners()[0].GetPort(); port != servicePort {
		t.Errorf("the engine's own Plan was changed: port %d", port)
	}
}

func TestRenamingLeavesTheResourceBeforeAsItWas(t *testing.T) {
	before := []*enginev1.Resource{resource("a", "old"), resource("b", "other")}
	next := renamed(before, "a", "new")
	if len(next) != 1 || next[0].GetUuid() != "a" || next[0].GetVirtualService().GetName() != "new" {
		t.Errorf("got %v", next)
	}
	if name := before[0].GetVirtualService().GetName(); name != "old" {
		t.Errorf("the one before has the name %s", name)
	}
}
