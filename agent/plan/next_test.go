package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// randomResource is one of a few, with content that differs from time to time. Some of them share uuids with resources
// of other kinds.
func randomResource(random *rand.Rand) *enginev1.Resource {
	n, other := random.IntN(3), random.IntN(3)
	name := func(kind string, n int) string { return fmt.Sprintf("%s-%d", kind, n) }
	uuid := func(kind string) string {
		if random.IntN(6) == 0 {
			kind = "any"
		}
		return name(kind, n)
	}
	switch random.IntN(11) {
	case 0:
		service := &dataplanev1.VirtualService{
			Uuid: uuid("vs"), PoolUuid: name("pool", other), Duty: dataplanev1.Duty(random.IntN(3)),
			Listeners: []*dataplanev1.Listener{{Address: "192.0.2.1", Port: uint32(80 + other)}},
		}
		if other > 0 {
			service.ListenWhileUp = &dataplanev1.ListenWhileUp{CountedPoolUuids: []string{name("pool", n)}}
		}
		return &enginev1.Resource{Uuid: service.Uuid, Body: &enginev1.Resource_VirtualService{VirtualService: service}}
	case 1:
		pool := &enginev1.Pool{
			Pool: &dataplanev1.Pool{
				Uuid: uuid("pool"), Servers: []*dataplanev1.Server{{Id: name("server", other), Address: "10.0.0.1"}},
			},
			HealthMonitorUuids: []string{name("hm", other)},
		}
		return &enginev1.Resource{Uuid: pool.Pool.Uuid, Body: &enginev1.Resource_Pool{Pool: pool}}
	case 2:
		monitor := &enginev1.HealthMonitor{Uuid: uuid("hm"), FailedChecks: uint32(other)}
		return &enginev1.Resource{Uuid: monitor.Uuid, Body: &enginev1.Resource_HealthMonitor{HealthMonitor: monitor}}
	case 3:
		routes := []*enginev1.Route{{Address: fmt.Sprintf("192.0.2.%d", other)}}
		return &enginev1.Resource{Uuid: uuid("route"), Body: &enginev1.Resource_Advertisement{
			Advertisement: &enginev1.Advertisement{VirtualServiceUuid: name("vs", n), Routes: routes},
		}}
	case 4:
		router := &enginev1.BgpRouter{Uuid: uuid("vrf"), LocalAs: uint32(other)}
		return &enginev1.Resource{Uuid: router.Uuid, Body: &enginev1.Resource_BgpRouter{BgpRouter: router}}
	case 5:
		profile := &dataplanev1.PkiProfile{Uuid: uuid("pki"), Name: name("name", other)}
		return &enginev1.Resource{Uuid: profile.Uuid, Body: &enginev1.Resource_PkiProfile{PkiProfile: profile}}
	case 6:
		set := &dataplanev1.HttpPolicySet{Uuid: uuid("set"), Name: name("name", other)}
		return &enginev1.Resource{Uuid: set.Uuid, Body: &enginev1.Resource_HttpPolicySet{HttpPolicySet: set}}
	case 7:
		group := &dataplanev1.StringGroup{Uuid: uuid("strings"), Name: name("name", other)}
		return &enginev1.Resource{Uuid: group.Uuid, Body: &enginev1.Resource_StringGroup{StringGroup: group}}
	case 8:
		group := &dataplanev1.AddressGroup{Uuid: uuid("addresses"), Name: name("name", other)}
		return &enginev1.Resource{Uuid: group.Uuid, Body: &enginev1.Resource_AddressGroup{AddressGroup: group}}
	case 9:
		settings := &enginev1.EngineSettings{WorkerPinning: dataplanev1.WorkerPinning(other)}
		return &enginev1.Resource{Uuid: uuid("settings"), Body: &enginev1.Resource_EngineSettings{
			EngineSettings: settings,
		}}
	default:
		certificate := &dataplanev1.Certificate{Uuid: uuid("certificate"), Name: name("name", other)}
		return &enginev1.Resource{Uuid: certificate.Uuid, Body: &enginev1.Resource_Certificate{
			Certificate: certificate,
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
	after := objectsOf(before)
	removed := change.GetRemoved()
	for kind, uuids := range map[string][]string{
		"vs": removed.GetVirtualServices(), "pool": removed.GetPools(), "certificate": removed.GetCertificates(),
		"pki": removed.GetPkiProfiles(), "set": removed.GetHttpPolicySets(), "strings": removed.GetStringGroups(),
		"addresses": removed.GetAddressGroups(),
	} {
		for _, uuid := range uuids {
			delete(after, [2]string{kind, uuid})
		}
	}
	maps.Copy(after, objectsOf(change.GetChanged()))
	return fmt.Sprint(after)
}

// objectsOf are the objects of a Plan by kind and uuid.
func objectsOf(plan *dataplanev1.Plan) map[[2]string]string {
	all := map[[2]string]string{{"pinning", ""}: plan.GetWorkerPinning().String()}
	put := func(kind, uuid string, message proto.Message) {
		content, _ := proto.MarshalOptions{Deterministic: true}.Marshal(message)
		all[[2]string{kind, uuid}] = fmt.Sprintf("%x", content)
	}
	for _, each := range plan.GetVirtualServices() {
		put("vs", each.GetUuid(), each)
	}
	for _, each := range plan.GetPools() {
		put("pool", each.GetUuid(), each)
	}
	for _, each := range plan.GetCertificates() {
		put("certificate", each.GetUuid(), each)
	}
	for _, each := range plan.GetPkiProfiles() {
		put("pki", each.GetUuid(), each)
	}
	for _, each := range plan.GetHttpPolicySets() {
		put("set", each.GetUuid(), each)
	}
	for _, each := range plan.GetStringGroups() {
		put("strings", each.GetUuid(), each)
	}
	for _, each := range plan.GetAddressGroups() {
		put("addresses", each.GetUuid(), each)
	}
	return all
}

// membersThatDiffer are the servers of pools that are not the same resource in both lists.
func membersThatDiffer(before, after []*enginev1.Resource) map[Member]bool {
	all := map[Member]bool{}
	for _, lists := range [][2][]*enginev1.Resource{{before, after}, {after, before}} {
		for _, one := range lists[0] {
			same := func(other *enginev1.Resource) bool { return proto.Equal(one, other) }
			for _, server := range one.GetPool().GetPool().GetServers() {
				if !slices.ContainsFunc(lists[1], same) {
					all[Member{one.GetUuid(), server.GetId()}] = true
				}
			}
		}
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
	members := map[Member]bool{}
	for _, member := range difference.Members {
		members[member] = true
	}
	differ := membersThatDiffer(before.Wire().GetResources(), after.Wire().GetResources())
	if !maps.Equal(members, differ) {
		t.Fatalf("seed %d, revision %d: got %v, want %v", seed, after.Revision, members, differ)
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

func TestResourceWithAnotherUUIDThanItsObjectIsRefused(t *testing.T) {
	for _, resource := range []*enginev1.Resource{
		serviceResource(nil), poolResource(),
		{Uuid: "c", Body: &enginev1.Resource_Certificate{Certificate: &dataplanev1.Certificate{Uuid: "c"}}},
		{Uuid: "p", Body: &enginev1.Resource_PkiProfile{PkiProfile: &dataplanev1.PkiProfile{Uuid: "p"}}},
		{Uuid: "h", Body: &enginev1.Resource_HttpPolicySet{HttpPolicySet: &dataplanev1.HttpPolicySet{Uuid: "h"}}},
		{Uuid: "s", Body: &enginev1.Resource_StringGroup{StringGroup: &dataplanev1.StringGroup{Uuid: "s"}}},
		{Uuid: "a", Body: &enginev1.Resource_AddressGroup{AddressGroup: &dataplanev1.AddressGroup{Uuid: "a"}}},
	} {
		if plan, findings := Read(&enginev1.Plan{Resources: []*enginev1.Resource{resource}}); plan == nil {
			t.Errorf("%v", findings)
		}
		resource.Uuid = "other"
		plan, findings := Read(&enginev1.Plan{Resources: []*enginev1.Resource{resource}})
		if plan != nil || len(findings) != 1 || findings[0].Field != "uuid" {
			t.Errorf("got %v, %v", plan, findings)
		}
	}
}

func TestRefusesAPlanThatIsTooLongAsAWholeAlthoughTheChangeIsShort(t *testing.T) {
	set := func(uuid string, bytes int) *enginev1.Resource {
		return &enginev1.Resource{Uuid: uuid, Body: &enginev1.Resource_ScriptSet{ScriptSet: &dataplanev1.ScriptSet{
			Uuid: uuid, Name: uuid, Scripts: []*dataplanev1.Script{{Source: strings.Repeat("-", bytes)}}}}}
	}
	large := set("a", bytesMost-1000)
	first, findings := Read(&enginev1.Plan{Revision: 1, Resources: []*enginev1.Resource{large}})
	if first == nil {
		t.Fatal(findings)
	}
	next, findings := first.Next(&enginev1.Plan{Revision: 2, Resources: []*enginev1.Resource{large, set("b", 1000)}})
	if next != nil || len(findings) != 1 || findings[0].Object.UUID != "a" {
		t.Errorf("found %v", findings)
	}
}
