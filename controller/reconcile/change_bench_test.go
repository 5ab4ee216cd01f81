package reconcile_test

import (
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/schema"
)

const benchEngines = 8

// house is a controller without its store: objects, a step, a fleet, and engines that obey at once.
type house struct {
	*testing.B
	keeper     model.Keeper
	reconciler reconcile.Reconciler
	fleet      *fleet.Fleet
	model      *model.Model
	findings   []model.Finding
	stored     place.Assignments
	revision   int64
	held       map[string]*enginev1.Plan
}

// objectsOf returns a number of virtual services, each with a finding and a pool of four servers, on the engines of one
// group.
func objectsOf(b *testing.B, services int) []model.Change {
	var changes []model.Change
	add := func(kind, uuid, body string) {
		described, _ := schema.Lookup(kind)
		object, err := described.Decode([]byte(body))
		if err != nil {
			b.Fatal(err)
		}
		object["uuid"] = uuid
		described.Fill(object)
		for _, reference := range described.References(object) {
			target, err := schema.ParseRef(reference.Kind, reference.Value)
			if err != nil {
				b.Fatal(err)
			}
			if target.UUID == "" {
				target.UUID = schema.BuiltinUUID(target.Kind, target.Name)
			}
			reference.Set(target.Path())
		}
		changes = append(changes, model.Change{Kind: kind, UUID: uuid, Object: object})
	}
	for _, builtin := range schema.Builtins() {
		changes = append(changes, model.Change{Kind: builtin.Kind.Name, UUID: builtin.UUID, Object: builtin.Object})
	}
	add("serviceenginegroup", "seg-bench", `{"name":"bench","max_vs_per_se":1000,"algo":"PLACEMENT_ALGO_DISTRIBUTED"}`)
	for i := range benchEngines {
		add("serviceengine", fmt.Sprint("se-", i), fmt.Sprintf(
			`{"name":"se-%d","se_group_ref":"/api/serviceenginegroup/seg-bench"}`, i))
	}
	for i := range services {
		servers, at := "", netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 0})
		for range 4 {
			at = at.Next()
			servers += fmt.Sprintf(`{"ip":{"addr":%q,"type":"V4"},"port":80},`, at)
		}
		add("pool", fmt.Sprintf("pool-%05d", i), fmt.Sprintf(`{"name":"p-%d","servers":[%s]}`, i,
			servers[:len(servers)-1]))
		add("virtualservice", uuidOfService(i), serviceNamed(i, 0))
	}
	return changes
}

func uuidOfService(i int) string { return fmt.Sprintf("virtualservice-%05d", i) }

func serviceNamed(i, version int) string {
	return fmt.Sprintf(
		`{"name":"service-%d-%d","pool_ref":"/api/pool/pool-%05d","services":[{"port":80}],"limit_doser":true,
		"se_group_ref":"/api/serviceenginegroup/seg-bench","vip":[{"ip_address":{"addr":"127.64.%d.%d","type":"V4"}}]}`,
		i, version, i, i>>8, i&0xff)
}

// rename returns the change that gives a virtual service another name.
func rename(objects []model.Change, i, version int) model.Change {
	at := len(objects) - 1 - 2*i
	object := schema.Clone(objects[at].Object)
	object["name"] = fmt.Sprint("renamed-", version)
	return model.Change{Kind: "virtualservice", UUID: objects[at].UUID, Object: object}
}

func newHouse(b *testing.B, objects []model.Change) *house {
	quiet := slog.New(slog.DiscardHandler)
	h := &house{B: b, fleet: fleet.New(func(uuid string) (string, bool) {
		return uuid, true
	}, events.New(quiet, time.Now), time.Now), held: map[string]*enginev1.Plan{}}
	for i := range benchEngines {
		h.fleet.Connected(fmt.Sprint("se-", i),
			&enginev1.Hello{Status: &enginev1.Status{Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_RUNNING}})
	}
	h.change(objects...)
	for range 5 {
		h.step()
	}
	return h
}

func (h *house) change(changes ...model.Change) {
	h.revision++
	h.model, h.findings = h.keeper.Keep(h.revision, changes)
}

// step does what the loop does: it decides, writes and sends until nothing is new, and tells the fleet that engines
// have their Plans.
func (h *house) step() (changed int) {
	for {
		out := h.reconciler.Step(reconcile.Input{
			Input: place.Input{Model: h.model, Engines: h.fleet.Facts(), Before: h.stored,
				Began: h.fleet.Began(), Now: time.Now()},
			Findings: h.findings, Secret: func() []byte { return make([]byte, 32) },
			Usage: h.fleet.Usage,
		})
		if out.State != nil {
			h.fleet.Observe(*out.State)
		}
		for uuid, plan := range out.Plans {
			if h.held[uuid] != plan {
				h.held[uuid] = plan
				h.fleet.Applied(uuid, plan, nil)
				changed++
			}
		}
		if out.Write != nil {
			h.stored = h.stored.With(out.Write.Changed, out.Write.Gone...)
			h.change()
			continue
		}
		return changed
	}
}

// The benchmark decides a change, sends it, acknowledges it, and decides again.
func BenchmarkChange(b *testing.B) {
	for _, services := range []int{1, 100, 5000} {
		b.Run(fmt.Sprint(services), func(b *testing.B) {
			objects := objectsOf(b, services)
			h := newHouse(b, objects)
			if len(h.stored) != services {
				b.Fatalf("%d of %d are placed", len(h.stored), services)
			}
			b.ReportAllocs()
			version := 0
			for b.Loop() {
				version++
				h.change(rename(objects, version%services, version))
				if changed := h.step(); changed != 1 {
					b.Fatalf("%d engines have another Plan", changed)
				}
				if changed := h.step(); changed != 0 {
					b.Fatalf("%d engines have another Plan again", changed)
				}
			}
		})
	}
}
