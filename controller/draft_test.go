package controller

import (
	"maps"
	"slices"
	"testing"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/plan"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
)

func TestADraftIsCompiledAsWhatIsStored(t *testing.T) {
	objects := emptyStore(t)
	const group = "/api/serviceenginegroup/group-1"
	must(t, objects.Update(t.Context(), func(tx *store.Tx) error {
		putWhole(tx, "serviceenginegroup", "group-1", schema.Object{})
		putWhole(tx, "serviceengine", "se-1", schema.Object{"se_group_ref": group, "enable_state": "SE_STATE_ENABLED"})
		putWhole(tx, "applicationprofile", "http", schema.Object{"type": "APPLICATION_PROFILE_TYPE_HTTP"})
		putWhole(tx, "networkprofile", "tcp",
			schema.Object{"profile": schema.Object{"type": "PROTOCOL_TYPE_TCP_PROXY"}})
		putWhole(tx, "pool", "pool-1", schema.Object{"enabled": true, "servers": []any{schema.Object{"enabled": true,
			"ip": schema.Object{"addr": "10.0.0.1", "type": "V4"}, "port": 80, "ratio": 1}}})
		putWhole(tx, "virtualservice", "vs-1", schema.Object{"enabled": true, "traffic_enabled": true,
			"pool_ref": "/api/pool/pool-1", "se_group_ref": group, "type": "VS_TYPE_NORMAL",
			"application_profile_ref": "/api/applicationprofile/http", "network_profile_ref": "/api/networkprofile/tcp",
			"services": []any{schema.Object{"port": 80, "port_range_end": 80}},
			"vip": []any{schema.Object{"vip_id": "1", "ip_address": schema.Object{"addr": "192.0.2.1",
				"type": "V4"}}}})
		record, err := store.RecordOf(assignmentKind, "vs-1", place.Assignment{VirtualService: "vs-1",
			Seats: []place.Seat{{Engine: "se-1", State: place.Serving, Cause: place.New}}})
		tx.Put(record)
		return err
	}))
	read, err := (&reader{}).read(objects.View())
	must(t, err)
	compiler := plan.Compiler{LimitSecret: []byte("secret")}
	compiler.Turn(read.model, read.rings, read.before)
	has, findings := compiler.Compile("se-1", nil)
	if !slices.ContainsFunc(has.GetResources(), func(r *enginev1.Resource) bool { return r.GetUuid() == "vs-1" }) {
		t.Fatalf("it is not served: %v", findings)
	}

	drafts := newDrafts(fleettest.Empty(t).Fleet, &data{}, []byte("secret"))
	same, err := drafts.of(objects.View())
	must(t, err)
	change := same.Change("se-1", has)
	if all := change.GetChanged(); len(all.GetVirtualServices())+len(all.GetPools()) != 0 ||
		change.GetBaseRevision() != has.GetRevision() {
		t.Errorf("what is stored differs from itself: %v", change)
	}

	view, err := objects.Draft(func(tx *store.Tx) error {
		putWhole(tx, "httppolicyset", "house", schema.Object{"http_request_policy": schema.Object{"rules": []any{
			schema.Object{"name": "gone", "index": int64(1), "enable": true, "switching_action": schema.Object{
				"action": "HTTP_SWITCHING_SELECT_LOCAL", "status_code": "HTTP_LOCAL_RESPONSE_STATUS_CODE_404"}},
			schema.Object{"name": "late", "index": int64(2), "enable": true, "switching_action": schema.Object{
				"action": "HTTP_SWITCHING_SELECT_LOCAL", "status_code": "HTTP_LOCAL_RESPONSE_STATUS_CODE_404"}}}}})
		record, _ := tx.View().Get("virtualservice", "vs-1")
		vs := schema.Clone(record.Object)
		vs["http_policies"] = []any{schema.Object{"index": int64(1), "http_policy_set_ref": "/api/httppolicyset/house"}}
		putWhole(tx, "virtualservice", "vs-1", vs)
		return nil
	})
	must(t, err)
	if _, stored := objects.View().Get("httppolicyset", "house"); stored {
		t.Fatal("the draft is stored")
	}
	draft, err := drafts.of(view)
	must(t, err)
	if engines := draft.Engines("vs-1"); !slices.Equal(engines, []string{"se-1"}) {
		t.Errorf("got %v", engines)
	}
	changed := draft.Change("se-1", has).GetChanged()
	if len(changed.GetHttpPolicySets()) != 1 || len(changed.GetVirtualServices()) != 1 ||
		len(changed.GetPools()) != 0 {
		t.Errorf("got %v", changed)
	}
	if !slices.ContainsFunc(draft.Findings(), func(finding model.Finding) bool { return finding.Rule == "late" }) {
		t.Errorf("no finding about the rule that never matches: %v", draft.Findings())
	}

	for _, fields := range []schema.Object{{"enabled": false}, {"traffic_enabled": false},
		{"se_group_ref": "/api/serviceenginegroup/group-2"}} {
		view, err := objects.Draft(func(tx *store.Tx) error {
			putWhole(tx, "serviceenginegroup", "group-2", schema.Object{})
			record, _ := tx.View().Get("virtualservice", "vs-1")
			vs := schema.Clone(record.Object)
			maps.Copy(vs, fields)
			putWhole(tx, "virtualservice", "vs-1", vs)
			return nil
		})
		must(t, err)
		draft, err := drafts.of(view)
		must(t, err)
		if engines := draft.Engines("vs-1"); !slices.Equal(engines, []string{"se-1"}) {
			t.Errorf("%v: asked %v", fields, engines)
		}
		removed := draft.Change("se-1", has).GetRemoved().GetVirtualServices()
		if !slices.Equal(removed, []string{"vs-1"}) {
			t.Errorf("%v: %v is removed", fields, removed)
		}
	}
	if _, _, err := gateOf(t, objects).Draft(t.Context(), admit.Write{Who: admit.System("test"),
		Tenant: admit.Tenant{UUID: "admin"}}, nil); err != nil {
		t.Error(err)
	}
}

func TestANewVirtualServiceIsAskedAboutAtAnEngineOfItsGroup(t *testing.T) {
	s := fleettest.New(t)
	engine := func(uuid, name string) *model.Engine {
		return &model.Engine{ServiceEngine: kinds.ServiceEngine{Identity: kinds.Identity{UUID: uuid},
			Named: kinds.Named{Name: name}}}
	}
	group := &model.Group{Engines: []*model.Engine{engine("se-two", "b"), engine("se-one", "a")}}
	drafts := newDrafts(s.Fleet, &data{}, nil)
	if got := drafts.ready(group); got != "" {
		t.Errorf("%s is not connected", got)
	}
	for _, uuid := range []string{"se-two", "se-one"} {
		s.Connected(uuid, &enginev1.Hello{Status: fleettest.Running})
		s.Applied(uuid, s.Want(11, "vs-1", "pool-1")[uuid], nil)
	}
	if got := drafts.ready(group); got != "se-one" {
		t.Errorf("got %q", got)
	}
	m := &model.Model{VirtualServices: []*model.VirtualService{
		{VirtualService: kinds.VirtualService{Identity: kinds.Identity{UUID: "vs-new"}}, Group: group},
		{VirtualService: kinds.VirtualService{Identity: kinds.Identity{UUID: "vs-old"}}, Group: group},
	}}
	before := place.Assignments(nil).With([]place.Assignment{{VirtualService: "vs-old",
		Seats: []place.Seat{{Engine: "x"}}}})
	if seated := drafts.first(m, before); len(seated) != 1 || seated[0].VirtualService != "vs-new" ||
		seated[0].Seats[0].Engine != "se-one" {
		t.Errorf("got %+v", seated)
	}
}

// putWhole stores an object with the defaults of its kind.
func putWhole(tx *store.Tx, kind, uuid string, object schema.Object) {
	known, _ := schema.Lookup(kind)
	known.Fill(object)
	put(tx, kind, uuid, object)
}
