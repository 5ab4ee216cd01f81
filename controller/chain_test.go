package controller

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/plan"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// chain goes from views of a store to Plans, as the loop does. Its engines are up and report nothing.
type chain struct {
	*testing.T
	objects    *store.Store
	reader     reader
	reconciler reconcile.Reconciler
}

func (c *chain) step(view *store.View, now time.Time) reconcile.Output {
	c.Helper()
	read, err := c.reader.read(view)
	must(c.T, err)
	engines := map[string]place.Engine{}
	for _, engine := range read.model.Engines {
		engines[engine.UUID] = place.Engine{Up: true, Told: true, Plan: place.Settled}
	}
	return c.reconciler.Step(reconcile.Input{
		Input:    place.Input{Model: read.model, Engines: engines, Before: read.before, Began: now, Now: now},
		Findings: read.findings, Rings: read.rings, Secret: newSecret,
	})
}

func (c *chain) write(base *store.View, write reconcile.Write) {
	c.Helper()
	_, err := settle(c.Context(), c.objects, base, write.Changed, write.Gone)
	must(c.T, err)
	must(c.T, keepRings(c.Context(), c.objects, base, write.Rings))
}

// anyObject writes one object as an operator sends it, or deletes the object. Each virtual service has a port of its
// own: which of two gets a port depends on the Plan before.
func anyObject(t *testing.T, tx *store.Tx, random *rand.Rand) {
	t.Helper()
	i := random.IntN(4)
	kind := []string{"virtualservice", "virtualservice", "pool", "pool", "serviceengine", "serviceenginegroup",
		"vrfcontext"}[random.IntN(7)]
	uuid := fmt.Sprintf("%s-%d", kind, i)
	if random.IntN(4) == 0 && kind != "serviceenginegroup" {
		tx.Delete(kind, uuid)
		return
	}
	group := fmt.Sprintf(`"se_group_ref":"/api/serviceenginegroup/serviceenginegroup-%d"`, random.IntN(4))
	writeObject(t, tx, kind, uuid, map[string]string{
		"virtualservice": fmt.Sprintf(`{"name":"vs-%d","pool_ref":"/api/pool/pool-%d",%s,"services":[{"port":%d}],
			"vip":[{"ip_address":{"addr":"192.0.2.%d","type":"V4"}}],"enable_rhi":%t,"limit_doser":%t,
			"vrf_context_ref":"/api/vrfcontext/vrfcontext-%d"}`, random.IntN(99), random.IntN(4), group, 80+i,
			random.IntN(3), random.IntN(2) == 0, random.IntN(2) == 0, random.IntN(2)),
		"pool": fmt.Sprintf(`{"name":"pool-%d","servers":[{"ip":{"addr":"10.0.0.%d","type":"V4"},"port":80}],
			"request_queue_enabled":%t}`, random.IntN(99), random.IntN(9), random.IntN(2) == 0),
		"serviceengine":      fmt.Sprintf(`{"name":"se-%d",%s}`, random.IntN(99), group),
		"serviceenginegroup": fmt.Sprintf(`{"name":"group-%d","min_scaleout_per_vs":%d}`, i, 1+random.IntN(2)),
		"vrfcontext": fmt.Sprintf(`{"name":"vrf-%d","bgp_profile":{"local_as":%d,"ibgp":true,"peers":[
			{"peer_ip":{"addr":"10.9.0.1","type":"V4"}}]}}`, i, 65000+random.IntN(9)),
	}[kind])
}

func writeObject(t *testing.T, tx *store.Tx, kind, uuid, body string) {
	t.Helper()
	described, _ := schema.Lookup(kind)
	object, err := described.Decode([]byte(body))
	must(t, err)
	object["uuid"] = uuid
	described.Fill(object)
	for _, reference := range described.References(object) {
		target, err := schema.ParseRef(reference.Kind, reference.Value)
		must(t, err)
		if target.UUID == "" {
			target.UUID = schema.BuiltinUUID(target.Kind, target.Name)
		}
		reference.Set(target.Path())
	}
	tx.Put(&store.Record{Kind: kind, UUID: uuid, Name: uuid, Tenant: "admin", Object: object})
}

func TestAControllerThatRunsDecidesAndPlansWhatOneThatStartsWould(t *testing.T) {
	objects, random, planned, found := emptyStore(t), rand.New(rand.NewPCG(1, 0)), 0, 0
	kept, now := &chain{T: t, objects: objects}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	must(t, objects.Update(t.Context(), func(tx *store.Tx) error {
		for _, builtin := range schema.Builtins() {
			tx.Put(&store.Record{Kind: builtin.Kind.Name, UUID: builtin.UUID, Name: builtin.UUID, Tenant: "admin",
				Object: schema.Clone(builtin.Object)})
		}
		for i := range 4 {
			writeObject(t, tx, "serviceenginegroup", fmt.Sprint("serviceenginegroup-", i),
				fmt.Sprintf(`{"name":"g-%d"}`, i))
		}
		return nil
	}))
	for i := range 150 {
		must(t, objects.Update(t.Context(), func(tx *store.Tx) error {
			for range 1 + random.IntN(4) {
				anyObject(t, tx, random)
			}
			return nil
		}))
		for {
			now = now.Add(time.Second)
			view := objects.View()
			out, fresh := kept.step(view, now), (&chain{T: t, objects: objects}).step(view, now)
			if (out.Write == nil) != (fresh.Write == nil) {
				t.Fatalf("step %d: kept writes %+v, and fresh %+v", i, out.Write, fresh.Write)
			}
			if out.State != nil {
				mustPlanTheSame(t, *out.State, *fresh.State)
				planned, found = planned+1, found+len(out.State.Findings)
			}
			if out.Write == nil {
				break
			}
			if !reflect.DeepEqual(out.Write.Changed, fresh.Write.Changed) ||
				!slices.Equal(out.Write.Gone, fresh.Write.Gone) {
				t.Fatalf("step %d: kept writes\n%+v\nand fresh\n%+v", i, out.Write, fresh.Write)
			}
			kept.write(view, *out.Write)
		}
	}
	if planned < 150 || found < 150 {
		t.Errorf("%d revisions were planned, with %d findings", planned, found)
	}
}

func mustPlanTheSame(t *testing.T, kept, fresh reconcile.State) {
	t.Helper()
	if !reflect.DeepEqual(kept.Model, fresh.Model) || !slices.Equal(kept.Findings, fresh.Findings) ||
		!slices.Equal(kept.Unplaced, fresh.Unplaced) || len(kept.Plans) != len(fresh.Plans) {
		t.Fatalf("kept is\n%+v\nand fresh\n%+v", kept, fresh)
	}
	for engine, is := range fresh.Plans {
		if !plan.Same(kept.Plans[engine], is) {
			t.Fatalf("%s has\n%v\nand fresh\n%v", engine, kept.Plans[engine], is)
		}
	}
}
