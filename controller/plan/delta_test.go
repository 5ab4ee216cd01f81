package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// apply does what an agent does with a delta.
func apply(base *enginev1.Plan, delta *enginev1.PlanDelta) *enginev1.Plan {
	resources := map[string]*enginev1.Resource{}
	for _, resource := range base.GetResources() {
		resources[resource.GetUuid()] = resource
	}
	for _, resource := range delta.GetChanged() {
		resources[resource.GetUuid()] = resource
	}
	for _, uuid := range delta.GetRemoved() {
		delete(resources, uuid)
	}
	sorted := slices.SortedFunc(maps.Values(resources), func(a, b *enginev1.Resource) int {
		return strings.Compare(a.GetUuid(), b.GetUuid())
	})
	return &enginev1.Plan{Revision: delta.GetRevision(), Resources: sorted}
}

func randomPlan(random *rand.Rand, revision uint64) *enginev1.Plan {
	plan := &enginev1.Plan{Revision: revision}
	for i := range 12 {
		if random.IntN(2) == 0 {
			continue
		}
		uuid := fmt.Sprintf("%02d", i)
		plan.Resources = append(plan.Resources, &enginev1.Resource{
			Uuid: uuid,
			Body: &enginev1.Resource_HealthMonitor{HealthMonitor: &enginev1.HealthMonitor{
				Uuid: uuid, Name: fmt.Sprint(random.IntN(3)), SendIntervalMs: uint32(random.IntN(2)),
			}},
		})
	}
	return plan
}

func TestDeltaTurnsAnyPlanIntoAnyOther(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 0))
		old, next := randomPlan(random, 1), randomPlan(random, 2)
		delta := Delta(old, next)
		if got := apply(old, delta); !proto.Equal(got, next) {
			t.Fatalf("seed %d: %v\nwith %v\nis   %v\nwant %v", seed, old, delta, got, next)
		}
		if delta.GetBaseRevision() != 1 || len(delta.GetChanged()) > len(next.GetResources()) {
			t.Fatalf("seed %d: %v", seed, delta)
		}
		if got := apply(nil, Delta(nil, next)); !proto.Equal(got, next) {
			t.Fatalf("seed %d: whole Plan is %v, want %v", seed, got, next)
		}
	}
}

func TestDeltaNamesNothingThatStays(t *testing.T) {
	for seed := range uint64(200) {
		plan := randomPlan(rand.New(rand.NewPCG(seed, 1)), 1)
		copied := proto.Clone(plan).(*enginev1.Plan)
		copied.Revision = 2
		if delta := Delta(plan, copied); len(delta.GetChanged())+len(delta.GetRemoved()) != 0 || !Same(plan, copied) {
			t.Fatalf("seed %d: %v", seed, delta)
		}
	}
}
