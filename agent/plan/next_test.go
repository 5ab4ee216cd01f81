package plan

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// randomResource is one of a few, with content that differs from time to time.
func randomResource(random *rand.Rand) *enginev1.Resource {
	n, other := random.IntN(3), random.IntN(3)
	uuid := func(kind string, n int) string { return fmt.Sprintf("%s-%d", kind, n) }
	switch random.IntN(6) {
	case 0:
		listeners := []*dataplanev1.Listener{{Address: "192.0.2.1", Port: uint32(80 + other)}}
		return &enginev1.Resource{Uuid: uuid("vs", n), Body: &enginev1.Resource_VirtualService{
			VirtualService: &dataplanev1.VirtualService{Uuid: uuid("vs", n), PoolUuid: uuid("pool", other),
				Listeners: listeners,
				Duty:      dataplanev1.Duty(random.IntN(3))},
		}}
	case 1:
		servers := []*dataplanev1.Server{{Id: uuid("server", other), Address: "10.0.0.1"}}
		return &enginev1.Resource{Uuid: uuid("pool", n), Body: &enginev1.Resource_Pool{Pool: &enginev1.Pool{
			Pool:               &dataplanev1.Pool{Uuid: uuid("pool", n), Servers: servers},
			HealthMonitorUuids: []string{uuid("hm", other)},
		}}}
	case 2:
		return &enginev1.Resource{Uuid: uuid("hm", n), Body: &enginev1.Resource_HealthMonitor{
			HealthMonitor: &enginev1.HealthMonitor{Uuid: uuid("hm", n), FailedChecks: uint32(other)},
		}}
	case 3:
		return &enginev1.Resource{Uuid: uuid("route", n), Body: &enginev1.Resource_Advertisement{
			Advertisement: &enginev1.Advertisement{
				VirtualServiceUuid: uuid("vs", n), Routes: []*enginev1.Route{{Address: fmt.Sprintf(
					"192.0.2.%d", other)}}},
		}}
	case 4:
		return &enginev1.Resource{Uuid: uuid("vrf", n), Body: &enginev1.Resource_BgpRouter{
			BgpRouter: &enginev1.BgpRouter{Uuid: uuid("vrf", n), LocalAs: uint32(other)},
		}}
	default:
		return &enginev1.Resource{Uuid: uuid("certificate", n), Body: &enginev1.Resource_Certificate{
			Certificate: &dataplanev1.Certificate{Uuid: uuid("certificate", n), Name: uuid("name", other)},
		}}
	}
}

// changed are the resources of a Plan after a few random changes.
func changed(random *rand.Rand, before []*enginev1.Resource) []*enginev1.Resource {
	after := slices.Clone(before)
	for range random.IntN(4) {
		resource := randomResource(random)
		after = slices.DeleteFunc(after, func(other *enginev1.Resource) bool {
			return other.GetUuid() == resource.GetUuid()
		})
		if random.IntN(4) > 0 {
			after = append(after, resource)
		}
	}
	slices.SortFunc(after, byUUID)
	return after
}

// patched is what a data plane makes of a Plan and a change, as text.
func patched(before *dataplanev1.Plan, change *dataplanev1.PlanChange) string {
	after := map[string]string{}
	for uuid, message := range objectsOf(before) {
		after[uuid] = message
	}
	removed := change.GetRemoved()
	for _, uuid := range slices.Concat(removed.VirtualServices, removed.Pools, removed.Certificates,
		removed.PkiProfiles) {
		delete(after, uuid)
	}
	for uuid, message := range objectsOf(change.GetChanged()) {
		after[uuid] = message
	}
	return fmt.Sprint(after)
}

func objectsOf(plan *dataplanev1.Plan) map[string]string {
	all := map[string]string{}
	put := func(uuid string, message proto.Message) {
		content, _ := proto.MarshalOptions{Deterministic: true}.Marshal(message)
		all[uuid] = fmt.Sprintf("%x", content)
	}
	for _, each := range plan.GetVirtualServices() {
		put(each.GetUuid(), each)
	}
	for _, each := range plan.GetPools() {
		put(each.GetUuid(), each)
	}
	for _, each := range plan.GetCertificates() {
		put(each.GetUuid(), each)
	}
	return all
}

func TestPlanThatFollowsAnotherIsReadAsIfItWereTheFirst(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		var before *Plan
		var resources []*enginev1.Resource
		for revision := range uint64(20) {
			resources = changed(random, resources)
			wire := &enginev1.Plan{Revision: revision + 1, Resources: resources}
			next, findings := before.Next(wire)
			want, wanted := Read(wire)
			if next == nil || want == nil {
				t.Fatalf("seed %d: %v, %v", seed, findings, wanted)
			}
			if !reflect.DeepEqual(next, want) {
				t.Fatalf("seed %d, revision %d: got %+v, want %+v", seed, revision+1, next, want)
			}
			if before != nil {
				sinceLeadsThere(t, seed, before, next)
			}
			before = next
		}
	}
}

// sinceLeadsThere holds a difference to what it says: applied to the one Plan it gives the other.
func sinceLeadsThere(t *testing.T, seed uint64, before, after *Plan) {
	t.Helper()
	difference := after.Since(before)
	got, want := patched(before.Dataplane(), difference.Change), fmt.Sprint(objectsOf(after.Dataplane()))
	if got != want {
		t.Fatalf("seed %d, revision %d: got %s, want %s", seed, after.Revision, got, want)
	}
	listeners := slices.DeleteFunc(slices.Clone(before.Listeners), func(listener Listener) bool {
		return slices.Contains(difference.Gone, listener)
	})
	listeners = append(listeners, difference.Come...)
	if len(listeners) != len(after.Listeners) {
		t.Fatalf("seed %d, revision %d: listeners %v, want %v", seed, after.Revision, listeners, after.Listeners)
	}
	for _, listener := range after.Listeners {
		if !slices.Contains(listeners, listener) {
			t.Fatalf("seed %d, revision %d: %v is missing", seed, after.Revision, listener)
		}
	}
}

func TestPlanSharesWithTheOneBeforeItWhatDidNotChange(t *testing.T) {
	before := read(t, serviceResource(nil), poolResource(), monitorResource(new(enginev1.HealthMonitor)),
		advertisementResource(nil))
	resources := slices.Clone(before.Wire().GetResources())
	at, _ := before.find("vs-1")
	resources[at] = serviceResource(func(service *dataplanev1.VirtualService) { service.Name = "store" })
	after, findings := before.Next(&enginev1.Plan{Revision: 4, Resources: resources})
	if after == nil {
		t.Fatal(findings)
	}
	if after.Pools[0] != before.Pools[0] {
		t.Error("the pool was read again")
	}
	change := after.Since(before).Change
	if got := len(change.GetChanged().GetVirtualServices()) + len(change.GetChanged().GetPools()); got != 1 {
		t.Errorf("%d objects in the change", got)
	}
}
