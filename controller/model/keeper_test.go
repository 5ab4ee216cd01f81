package model

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// worldKeeper is a Keeper that finds the changes in a world.
type worldKeeper struct {
	Keeper
	known []Change
}

func (k *worldKeeper) Build(revision int64, w world) (*Model, []Finding) {
	var changes []Change
	for _, former := range k.known {
		is := func(o schema.Object) bool { return o["uuid"] == former.UUID }
		if !slices.ContainsFunc(w[former.Kind], is) {
			changes = append(changes, Change{Kind: former.Kind, UUID: former.UUID})
		}
	}
	k.known = nil
	for kind, objects := range w {
		for _, o := range objects {
			k.known = append(k.known, Change{Kind: kind, UUID: o["uuid"].(string), Object: o})
		}
	}
	return k.Keep(revision, append(changes, k.known...))
}

func TestKeeperMakesOfChangedObjectsWhatBuildMakesOfThem(t *testing.T) {
	steps := []func(w world){
		func(w world) {},
		func(w world) { // one object changes
			pool := schema.Clone(w["pool"][0])
			pool["default_server_port"] = int64(9090)
			w["pool"] = append([]schema.Object{pool}, w["pool"][1:]...)
		},
		func(w world) {
			w.add(t, "virtualservice", "vs-2",
				`{"name":"other","vsvip_ref":"vsvip-1","pool_ref":"pool-1","services":[{"port":81}]}`)
		},
		func(w world) {
			w.add(t, "virtualservice", "vs-3",
				`{"name":"shut","pool_ref":"pool-1","services":[{"port":81}],"waf_policy_ref":"/api/wafpolicy/x"}`)
		},
		func(w world) { w["virtualservice"] = w["virtualservice"][1:] },
		func(w world) { w["serviceengine"] = w["serviceengine"][:1] },
		func(w world) { delete(w, "serviceengine") },
		func(w world) { delete(w, "pool") },
	}
	w, keeper := seed(t), &worldKeeper{}
	var former *Model
	var was string
	for i, step := range steps {
		step(w)
		kept, keptFindings := keeper.Build(int64(i), w)
		built, findings := Build(int64(i), w)
		if !reflect.DeepEqual(kept, built) || !reflect.DeepEqual(keptFindings, findings) {
			t.Errorf("step %d: kept with findings %v, built with findings %v", i, keptFindings, findings)
		}
		if former != nil && shape(former) != was {
			t.Errorf("step %d changed the model before", i)
		}
		former, was = kept, shape(kept)
	}
}

// worldOfMany returns the objects of which the random worlds are made. An uuid may belong to objects of two kinds.
func worldOfMany(t *testing.T) world {
	w := seed(t)
	w.add(t, "cloudconnectoruser", "user-1", `{"name":"user","private_key":"k","public_key":"p"}`)
	w.add(t, "cloud", "cloud-2", `{"name":"other","vtype":"CLOUD_LINUXSERVER",
		"linuxserver_configuration":{"ssh_user_ref":"user-1","hosts":[]}}`)
	w.add(t, "serviceenginegroup", "group-2", `{"name":"second","cloud_ref":"cloud-2"}`)
	w.add(t, "serviceenginegroup", "group-3", `{"name":"third"}`)
	w.add(t, "serviceengine", "se-3", `{"name":"c","se_group_ref":"group-2"}`)
	w.add(t, "serviceengine", "group-2", `{"name":"d","se_group_ref":"group-2"}`)
	w.add(t, "vrfcontext", "vrf-2", `{"name":"blue"}`)
	w.add(t, "pool", "pool-2",
		`{"name":"q","health_monitor_refs":["hm-1"],"ipaddrgroup_ref":"addresses-1",
		"servers":[{"ip":{"addr":"name.example","type":"DNS"}}]}`)
	w.add(t, "prioritylabels", "labels-1", `{"name":"sites","equivalent_labels":[{"labels":["near"]}]}`)
	w.add(t, "poolgroup", "group-of-pools", `{"name":"both","priority_labels_ref":"labels-1","members":[
		{"pool_ref":"pool-1","priority_label":"near"},{"pool_ref":"pool-2","priority_label":"far"}],
		"fail_action":{"type":"FAIL_ACTION_BACKUP_POOL","backup_pool":{"backup_pool_ref":"pool-3"}}}`)
	w.add(t, "pool", "pool-3", `{"name":"sorry","servers":[{"ip":{"addr":"10.0.0.3","type":"V4"}}],
		"fail_action":{"type":"FAIL_ACTION_BACKUP_POOL","backup_pool":{"backup_pool_ref":"pool-1"}}}`)
	w.add(t, "errorpagebody", "body-1", `{"name":"body","error_page_body":"away"}`)
	w.add(t, "errorpageprofile", "pages-1",
		`{"name":"pages","error_pages":[{"index":1,"error_page_body_ref":"body-1"}]}`)
	w.add(t, "virtualservice", "vs-5", `{"name":"grouped","vsvip_ref":"vsvip-1","pool_group_ref":"group-of-pools",
		"error_page_profile_ref":"pages-1","services":[{"port":84}]}`)
	w.add(t, "stringgroup", "strings-1", `{"name":"texts","kv":[{"key":"/a"}]}`)
	w.add(t, "ipaddrgroup", "addresses-1", `{"name":"office","addrs":[{"addr":"10.0.0.1"}]}`)
	w.add(t, "httppolicyset", "set-1", `{"name":"rules",
		"http_security_policy":{"rules":[{"name":"a","index":1,"action":{"action":"HTTP_SECURITY_ACTION_ALLOW"},
			"match":{"client_ip":{"match_criteria":"IS_IN","group_refs":["addresses-1"]}}}]},
		"http_request_policy":{"rules":[{"name":"b","index":1,
			"match":{"path":{"match_criteria":"EQUALS","string_group_refs":["strings-1"]}},
			"switching_action":{"action":"HTTP_SWITCHING_SELECT_POOL","pool_ref":"pool-2"}}]}}`)
	w.add(t, "virtualservice", "vs-4", `{"name":"ruled","vsvip_ref":"vsvip-1","pool_ref":"pool-1",
		"services":[{"port":83}],"http_policies":[{"index":1,"http_policy_set_ref":"set-1"}]}`)
	w.add(t, "vsvip", "vs-3", `{"name":"third","vip":[{"ip_address":{"addr":"192.0.2.3","type":"V4"}}]}`)
	w.add(t, "virtualservice", "vs-2",
		`{"name":"other","vsvip_ref":"vsvip-1","pool_ref":"pool-2","services":[{"port":81}],"se_group_ref":"group-2"}`)
	w.add(t, "virtualservice", "vs-3",
		`{"name":"shut","vsvip_ref":"vs-3","pool_ref":"pool-1","services":[{"port":82}],"waf_policy_ref":"/api/wafpolicy/x"}`)
	return w
}

// alter returns a changed copy of an object: with another name, a reference that leads elsewhere or nowhere, a field
// more or less that closes virtual services, or another address.
func (w world) alter(random *rand.Rand, kind string, o schema.Object) schema.Object {
	o = schema.Clone(o)
	described, _ := schema.Lookup(kind)
	switch references := described.References(o); random.IntN(4) {
	case 0:
		o["name"] = fmt.Sprint("name-", random.IntN(9))
	case 1:
		if field := "waf_policy_ref"; kind == "virtualservice" && o[field] != nil {
			delete(o, field)
		} else if kind == "virtualservice" {
			o[field] = "/api/wafpolicy/x"
		}
	case 2:
		if vips, _ := o["vip"].([]any); len(vips) > 0 {
			setAt(vips[0].(schema.Object), []string{"ip_address", "addr"}, fmt.Sprint("192.0.2.", random.IntN(9)))
		}
	case 3:
		if len(references) > 0 {
			reference := references[random.IntN(len(references))]
			if targets := w[reference.Kind]; len(targets) > 0 && random.IntN(4) > 0 {
				reference.Set(schema.RefPath(reference.Kind, targets[random.IntN(len(targets))]["uuid"].(string)))
			} else {
				reference.Set(schema.RefPath(reference.Kind, "gone"))
			}
		}
	}
	return o
}

// turn adds, changes or deletes a few objects.
func (w world) turn(random *rand.Rand, whole world) {
	for _, kind := range slices.Sorted(maps.Keys(whole)) {
		for _, o := range whole[kind] {
			at := slices.IndexFunc(w[kind], func(own schema.Object) bool { return own["uuid"] == o["uuid"] })
			switch what := random.IntN(24); {
			case what < 3 && at < 0:
				w[kind] = append(slices.Clone(w[kind]), o)
			case what < 2 && at >= 0:
				w[kind] = slices.Replace(slices.Clone(w[kind]), at, at+1, whole.alter(random, kind, w[kind][at]))
			case what == 2:
				w[kind] = slices.Delete(slices.Clone(w[kind]), at, at+1)
			}
		}
	}
}

func TestKeeperAgreesWithBuildOnAnyChanges(t *testing.T) {
	whole, closed, moved := worldOfMany(t), 0, 0
	for seedNumber := range uint64(100) {
		random := rand.New(rand.NewPCG(seedNumber, 0))
		w, keeper := world{}, &worldKeeper{}
		var former *Model
		var was string
		for i := range 40 {
			w.turn(random, whole)
			kept, keptFindings := keeper.Build(int64(i), w)
			built, findings := Build(int64(i), w)
			if !reflect.DeepEqual(kept, built) || !reflect.DeepEqual(keptFindings, findings) {
				t.Fatalf("seed %d, step %d: kept\n%swith %v\nbuilt\n%swith %v", seedNumber, i, shape(kept),
					keptFindings, shape(built), findings)
			}
			if former != nil && shape(former) != was {
				t.Fatalf("seed %d, step %d changed the model before from\n%s\nto\n%s", seedNumber, i,
					was, shape(former))
			}
			former, was = kept, shape(kept)
			for _, vs := range kept.VirtualServices {
				if vs.Closed {
					closed++
				}
			}
			for _, group := range kept.Groups {
				moved += len(group.Engines)
			}
		}
	}
	if closed < 1000 || moved < 1000 {
		t.Errorf("the worlds had %d closed virtual services, and %d engines in groups", closed, moved)
	}
}

func TestKeeperMakesAnewOnlyWhatIsMadeOfWhatChanged(t *testing.T) {
	w, keeper := seed(t), &worldKeeper{}
	w.add(t, "pool", "pool-2", `{"name":"q","servers":[{"ip":{"addr":"10.0.0.9","type":"V4"}}]}`)
	w.add(t, "virtualservice", "vs-2",
		`{"name":"other","vsvip_ref":"vsvip-1","pool_ref":"pool-2","services":[{"port":81}]}`)
	before, _ := keeper.Build(1, w)
	monitors := slices.Clone(w["healthmonitor"])
	last := len(monitors) - 1 // it belongs to pool-1, and so to vs-1
	monitors[last] = schema.Clone(monitors[last])
	monitors[last]["send_interval"] = int64(77)
	w["healthmonitor"] = monitors
	after, _ := keeper.Build(2, w)
	if after.VirtualServices[0] == before.VirtualServices[0] || after.Pools[0] == before.Pools[0] {
		t.Error("what is made of the monitor is as before")
	}
	if after.VirtualServices[1] != before.VirtualServices[1] || after.Pools[1] != before.Pools[1] ||
		after.Groups[0] != before.Groups[0] {
		t.Error("what is not made of the monitor was made anew")
	}
	w["serviceengine"] = w["serviceengine"][1:]
	fewer, _ := keeper.Build(3, w)
	if fewer.VirtualServices[1].Group != fewer.Groups[0] || fewer.Groups[0] == after.Groups[0] ||
		fewer.Engines[0].Group != fewer.Groups[0] {
		t.Error("with an engine less the group is not a new one for all")
	}
}

func TestChangeOfAnEngineLeavesOtherGroupsAsTheyAre(t *testing.T) {
	w, keeper := worldOfMany(t), &worldKeeper{}
	before, _ := keeper.Build(1, w)
	change := func(kind, uuid, field string, value any) *Model {
		at := slices.IndexFunc(w[kind], func(o schema.Object) bool { return o["uuid"] == uuid })
		changed := schema.Clone(w[kind][at])
		changed[field] = value
		w[kind] = slices.Replace(slices.Clone(w[kind]), at, at+1, changed)
		after, _ := keeper.Build(before.Revision+1, w)
		return after
	}
	fresh := func(after *Model) (uuids []string) {
		for _, group := range after.Groups {
			if !slices.Contains(before.Groups, group) {
				uuids = append(uuids, group.UUID)
			}
		}
		for _, engine := range after.Engines {
			if !slices.Contains(before.Engines, engine) {
				uuids = append(uuids, engine.UUID)
			}
		}
		for _, vs := range after.VirtualServices {
			if !slices.Contains(before.VirtualServices, vs) {
				uuids = append(uuids, vs.UUID)
			}
		}
		before = after
		return uuids
	}
	for _, c := range []struct {
		kind, uuid, field string
		value             any
		want              []string
	}{
		{"serviceengine", "se-3", "name", "c-2", []string{"group-2", "group-2", "se-3", "vs-2"}},
		{"serviceengine", "se-3", "se_group_ref", "/api/serviceenginegroup/group-3",
			[]string{"group-2", "group-3", "group-2", "se-3", "vs-2"}},
		{"serviceenginegroup", "group-3", "name", "third-2", []string{"group-3", "se-3"}},
		{"cloudconnectoruser", "user-1", "name", "user-2", []string{"group-2", "group-2", "vs-2"}},
		{"cloud", "cloud-2", "name", "other-2", []string{"group-2", "group-2", "vs-2"}},
	} {
		if got := fresh(change(c.kind, c.uuid, c.field, c.value)); !slices.Equal(got, c.want) {
			t.Errorf("with %s of %s %s new are %v, want %v", c.field, c.kind, c.uuid, got, c.want)
		}
	}
}

func TestAVirtualServiceStaysClosedWhenAnotherObjectWithItsUUIDChanges(t *testing.T) {
	for _, order := range [][]string{{"vsvip", "virtualservice"}, {"virtualservice", "vsvip"}} {
		w := seed(t)
		w.add(t, "vsvip", "shop", `{"name":"shop","vip":[{"ip_address":{"addr":"192.0.2.9","type":"V4"}}]}`)
		w.add(t, "virtualservice", "shop", `{"name":"shop","vsvip_ref":"shop","pool_ref":"pool-1",
			"services":[{"port":81}],"waf_policy_ref":"/api/wafpolicy/x"}`)
		keeper := &worldKeeper{}
		for i, kind := range append([]string{""}, order...) {
			for at, o := range w[kind] {
				if o["uuid"] == "shop" {
					changed := schema.Clone(o)
					changed["name"] = fmt.Sprint("shop-", i)
					w[kind] = slices.Replace(slices.Clone(w[kind]), at, at+1, changed)
				}
			}
			m, _ := keeper.Build(int64(i), w)
			if vs := m.VirtualServices[0]; vs.UUID != "shop" || !vs.Closed || len(vs.Addresses) != 1 {
				t.Errorf("after a change of %q, service %s: closed %t, addresses %v", kind, vs.UUID,
					vs.Closed, vs.Addresses)
			}
		}
	}
}

// shape returns the objects of a model and the relations between them, as text.
func shape(m *Model) string {
	var text strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	for _, group := range m.Groups {
		say("group %s %s, cloud %s", group.UUID, group.Name, nameOf(group.Cloud, func(c *Cloud) string {
			return c.Name + " " + nameOf(c.User, func(u *kinds.CloudConnectorUser) string { return u.Name })
		}))
		for _, engine := range group.Engines {
			say("  engine %s %s of %s", engine.UUID, engine.Name, engine.Group.Name)
		}
	}
	for _, engine := range m.Engines {
		say("engine %s %s of %s", engine.UUID, engine.Name, nameOf(engine.Group, func(g *Group) string {
			return g.Name
		}))
	}
	for _, pool := range m.Pools {
		say("pool %s", shapeOfPool(pool))
	}
	for _, vs := range m.VirtualServices {
		say("service %s %s %v, closed %t, group %s, vrf %s, vip %s, pool %s, profiles %s %s %s, %d certificates",
			vs.UUID,
			vs.Name, vs.Addresses, vs.Closed, nameOf(vs.Group, func(g *Group) string { return g.Name }),
			nameOf(vs.VrfContext, func(v *kinds.VrfContext) string { return v.Name }),
			nameOf(vs.SharedVip, func(v *kinds.VsVip) string { return v.Name }), nameOf(vs.Pool, shapeOfPool),
			nameOf(vs.ApplicationProfile, func(p *kinds.ApplicationProfile) string { return p.Name }),
			nameOf(vs.NetworkProfile, func(p *kinds.NetworkProfile) string { return p.Name }),
			nameOf(vs.SSLProfile, func(p *kinds.SSLProfile) string { return p.Name }), len(vs.Certificates))
	}
	for _, vrf := range m.VrfContexts {
		say("vrf %s %s", vrf.UUID, vrf.Name)
	}
	return text.String()
}

func shapeOfPool(pool *Pool) string {
	text := fmt.Sprint(pool.UUID, " ", pool.Name, " ", pool.DefaultServerPort, " ", pool.Members)
	for _, monitor := range pool.HealthMonitors {
		text += " " + monitor.Name
	}
	return text
}

func nameOf[T any](object *T, name func(*T) string) string {
	if object == nil {
		return "-"
	}
	return name(object)
}

func TestReadsWhenAnObjectWasModifiedAndKeepsTheObjectAsItIs(t *testing.T) {
	object := schema.Object{"uuid": "vs-1", "name": "web"}
	var k Keeper
	k.Keep(1, []Change{{Kind: "virtualservice", UUID: "vs-1", Object: object, Modified: 1_700_000_000_000_000}})
	if read := k.virtualServices.read["vs-1"]; read == nil || read.LastModified != "1700000000000000" {
		t.Errorf("read as %+v", read)
	}
	if _, added := object["_last_modified"]; added || !k.read[subject{"virtualservice", "vs-1"}].is(object) {
		t.Error("the object was changed, or another one is kept")
	}
}
