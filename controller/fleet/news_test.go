package fleet

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/sorted"
)

var behindARouter = &kinds.VrfContext{BGP: &kinds.BGPProfile{
	Peers: []kinds.BGPPeer{{PeerIP: &kinds.IPAddr{Addr: "10.0.0.254", Type: "V4"}, AdvertiseVip: true}},
}}

// anyState returns a random next state. It changes no object in place.
func anyState(random *rand.Rand, was reconcile.State) reconcile.State {
	next, m := was, *was.Model
	uuid := fmt.Sprint(random.IntN(3))
	switch random.IntN(4) {
	case 0:
		pool := &model.Pool{Members: []model.Member{{ID: "10.0.0.1:80"}}}
		pool.UUID, pool.Enabled, pool.Members[0].Enabled = "pool-"+uuid, random.IntN(4) > 0, random.IntN(4) > 0
		if random.IntN(2) == 0 {
			pool.HealthMonitors = []*model.HealthMonitor{{}}
		}
		m.Pools = sorted.Edit(m.Pools, map[string]*model.Pool{pool.UUID: pool}, func(p *model.Pool) string {
			return p.UUID
		})
		m.VirtualServices = nil
		// a virtual service that refers to a changed pool is a new one, too
		for _, vs := range was.Model.VirtualServices {
			own := *vs
			if own.Pool != nil && own.Pool.UUID == pool.UUID {
				own.Pool = pool
			}
			m.VirtualServices = append(m.VirtualServices, &own)
		}
	case 1:
		vs := &model.VirtualService{Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}
		vs.UUID, vs.Enabled, vs.TrafficEnabled = "vs-"+uuid, random.IntN(4) > 0, true
		if random.IntN(2) == 0 {
			vs.EnableRHI, vs.VrfContext = true, behindARouter
		}
		if at := random.IntN(3); at < len(m.Pools) {
			vs.Pool = m.Pools[at]
		}
		edits := map[string]*model.VirtualService{vs.UUID: vs}
		if random.IntN(4) == 0 {
			edits[vs.UUID] = nil
		}
		m.VirtualServices = sorted.Edit(m.VirtualServices, edits, func(vs *model.VirtualService) string {
			return vs.UUID
		})
	case 2:
		assignment := place.Assignment{VirtualService: "vs-" + uuid}
		for _, engine := range []string{"se-one", "se-two"} {
			if random.IntN(3) > 0 {
				assignment.Seats = append(assignment.Seats, place.Seat{Engine: engine, State: place.Serving})
			}
		}
		next.Assignments = was.Assignments.With([]place.Assignment{assignment})
	case 3:
		next.Plans = maps.Clone(was.Plans)
		if next.Plans["se-one"] != nil {
			next.Plans["se-one"] = anyPlan(random, uint64(m.Revision)+100)
		}
	}
	m.Revision++
	next.Model = &m
	return next
}

func TestNewsLeadsToTheStatesOfAllThatIsThere(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		quiet, clock := slog.New(slog.DiscardHandler), func() time.Time { return time.Unix(1_000_000, 0) }
		deleted := map[string]bool{}
		find := func(engine string) (string, bool) { return engine, !deleted[engine] }
		f := New(find, events.New(quiet, clock), clock)
		state := reconcile.State{Model: &model.Model{}, Plans: map[string]*enginev1.Plan{"se-one": {}, "se-two": {}}}
		told := map[string]health.State{}
		for step := range 80 {
			engine := []string{"se-one", "se-two"}[random.IntN(2)]
			status := &enginev1.Status{Dataplane: enginev1.DataplaneState(random.IntN(4))}
			switch random.IntN(10) {
			case 0:
				status.Dataplane = enginev1.DataplaneState_DATAPLANE_STATE_RUNNING
				f.Connected(engine, &enginev1.Hello{Status: status})
			case 1:
				f.Applied(engine, anyPlan(random, uint64(100+step)), nil)
			case 2:
				f.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Status{Status: status}})
			case 3:
				f.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Verdicts{Verdicts: &enginev1.ServerVerdicts{
					Verdicts: []*enginev1.ServerVerdict{{
						PoolUuid: fmt.Sprint("pool-", random.IntN(3)), ServerId: "10.0.0.1:80", Up: random.IntN(2) == 0,
					}},
				}}})
			case 4:
				f.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
					Servers: []*dataplanev1.ServerCounters{{
						PoolUuid: fmt.Sprint("pool-", random.IntN(3)), ServerId: "10.0.0.1:80",
						SuspectingWorkers: uint32(random.IntN(2)),
					}},
				}}})
			case 5:
				if random.IntN(4) == 0 {
					f.Disconnected(engine, "gone")
				}
			case 6:
				peer := &enginev1.PeerState{Address: "10.0.0.254",
					State: enginev1.BgpState(random.IntN(2)) * enginev1.BgpState_BGP_STATE_ESTABLISHED}
				f.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Routing{
					Routing: &enginev1.Routing{Peers: []*enginev1.PeerState{peer}},
				}})
			case 7:
				deleted[engine] = !deleted[engine]
				state.Plans = maps.Clone(state.Plans)
				if delete(state.Plans, engine); !deleted[engine] {
					state.Plans[engine] = anyPlan(random, uint64(300+step))
				}
				f.Observe(state)
			default:
				state = anyState(random, state)
				f.Observe(state)
			}
			if random.IntN(3) == 0 {
				continue
			}
			news := f.News()
			for _, uuid := range append(news.PoolsGone, news.ServicesGone...) {
				delete(told, uuid)
			}
			for _, n := range news.Pools {
				told[n.Pool.UUID] = n.Health.State
			}
			for _, n := range news.Services {
				told[n.VirtualService.UUID] = n.Health.State
			}
			all := map[string]health.State{}
			for uuid, vs := range f.known.services {
				all[uuid] = f.known.ServiceHealth(vs).State
			}
			for uuid, pool := range f.known.pools {
				all[uuid] = f.known.PoolHealth(pool).State
			}
			if !maps.Equal(told, all) {
				t.Fatalf("seed %d, step %d: told is %v, and the states are %v", seed, step, told, all)
			}
		}
	}
}
