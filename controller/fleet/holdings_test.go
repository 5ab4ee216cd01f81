package fleet

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/plan"
)

// anyPlan returns a random Plan: some virtual services with random duties, some of them advertised.
func anyPlan(random *rand.Rand, revision uint64) *enginev1.Plan {
	made := &enginev1.Plan{Revision: revision}
	for i := range 5 {
		uuid := fmt.Sprint("vs-", i)
		if random.IntN(3) == 0 {
			continue
		}
		service := &dataplanev1.VirtualService{Uuid: uuid, Duty: dataplanev1.Duty(random.IntN(4)),
			Name: fmt.Sprint(random.IntN(2))}
		made.Resources = append(made.Resources, &enginev1.Resource{Uuid: uuid,
			Body: &enginev1.Resource_VirtualService{VirtualService: service}})
		if random.IntN(2) == 0 {
			advertisement := &enginev1.Advertisement{Uuid: plan.AdvertisementUUID(uuid), VirtualServiceUuid: uuid}
			made.Resources = append(made.Resources, &enginev1.Resource{
				Uuid: advertisement.GetUuid(), Body: &enginev1.Resource_Advertisement{Advertisement: advertisement},
			})
		}
	}
	slices.SortFunc(made.Resources, func(a, b *enginev1.Resource) int {
		return strings.Compare(a.GetUuid(), b.GetUuid())
	})
	return made
}

func TestHoldingsAreThoseThatALookAtAllWouldFind(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		quiet, now := slog.New(slog.DiscardHandler), time.Unix(1_000_000, 0)
		clock := func() time.Time { return now }
		s := New(func(uuid string) (string, bool) { return uuid, true }, events.New(quiet, clock), clock)
		running := &enginev1.Status{Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_RUNNING}
		s.Connected("se-one", &enginev1.Hello{Status: running})
		e, plans := s.known.engines["se-one"], []*enginev1.Plan{nil}
		for step := range 60 {
			switch random.IntN(8) {
			case 7:
				e.leaveOut(map[string]bool{fmt.Sprint("vs-", random.IntN(5)): random.IntN(2) == 0})
			case 0, 1:
				plans = append(plans, anyPlan(random, uint64(100+step)))
				e.expect(plans[len(plans)-1])
			case 2, 3: // mostly the newest Plan
				e.apply(plans[max(0, len(plans)-1-random.IntN(3)*random.IntN(2))], nil, now)
			case 4:
				s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Routing{Routing: &enginev1.Routing{
					Routes: []*enginev1.AnnouncedRoute{
						{VirtualServiceUuids: []string{fmt.Sprint("vs-", random.IntN(5))}, Peers: []string{"10.0.0.1"}},
					},
				}}})
			case 5:
				sample := &dataplanev1.Sample{}
				for i := range 5 {
					sample.VirtualServices = append(sample.VirtualServices, &dataplanev1.VirtualServiceCounters{
						Uuid: fmt.Sprint("vs-", i), OpenConnections: uint64(random.IntN(6) / 5),
					})
				}
				s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Sample{Sample: sample}})
			case 6:
				if s.Disconnected("se-one", "gone"); random.IntN(2) == 0 {
					s.Connected("se-one", &enginev1.Hello{Status: running, Revision: e.Held.GetRevision()})
				}
			}
			if random.IntN(3) == 0 {
				continue
			}
			kept := e.look()
			fresh := *e
			fresh.holdings = holdings{unknown: true, stale: map[string]bool{}, open: map[string]bool{}}
			same := func(a, b *place.Holding) bool { return *a == *b }
			if whole := fresh.look(); !slices.EqualFunc(kept, whole, same) {
				t.Fatalf("seed %d, step %d: %s\nand a look at all finds %s", seed, step, shown(kept), shown(whole))
			}
		}
	}
}

func TestNothingIsOpenOnceAnEngineHasAppliedEverything(t *testing.T) {
	e, random, now := Unheard(time.Unix(1_000_000, 0)), rand.New(rand.NewPCG(1, 0)), time.Unix(1_000_000, 0)
	opened := 0
	for revision := range uint64(20) {
		plan := anyPlan(random, 100+revision)
		e.expect(plan)
		e.look()
		opened += len(e.holdings.open)
		e.apply(plan, nil, now)
		if e.look(); len(e.holdings.open) > 0 {
			t.Fatalf("revision %d: the engine has applied all, and open is %v", revision, e.holdings.open)
		}
	}
	if opened == 0 {
		t.Error("no Plan opened anything")
	}
}

func shown(all place.Holdings) (text string) {
	for _, holding := range all {
		text += fmt.Sprintf("\n%+v", *holding)
	}
	return text
}
