package fleettest

import (
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// ServersEach is the number of servers of each virtual service of a Crowd.
const ServersEach = 4

// Crowd is a fleet of many engines, each with its share of many virtual services, of which some have requests.
type Crowd struct {
	*fleet.Fleet
	Events *events.Log
	Now    time.Time

	served  [][]int // numbers of the virtual services, by engine
	active  int     // one in so many has requests
	seconds uint64  // that engines have counted
}

// NewCrowd returns a fleet whose engines serve, and have counted nothing. One in so many virtual services is active.
func NewCrowd(tb testing.TB, engines, services, active int) *Crowd {
	tb.Helper()
	c := &Crowd{Now: Clock, served: make([][]int, engines), active: active}
	now := func() time.Time { return c.Now }
	c.Events = events.New(slog.New(slog.DiscardHandler), now)
	c.Fleet = fleet.New(func(uuid string) (string, bool) { return uuid, true }, c.Events, now)
	m, resources, assignments := &model.Model{Revision: 1}, make([][]string, engines), place.Assignments(nil)
	group := &model.Group{}
	for n := range services {
		vs := ofCrowd(n)
		vs.Group = group
		m.VirtualServices, m.Pools = append(m.VirtualServices, vs), append(m.Pools, vs.Pool)
		at := n % engines
		c.served[at] = append(c.served[at], n)
		resources[at] = append(resources[at], vs.UUID, vs.Pool.UUID)
		assignments = assignments.With([]place.Assignment{{VirtualService: vs.UUID, Seats: []place.Seat{
			{Engine: engineOf(at), State: place.Serving, Since: Clock, Cause: place.New}}}})
	}
	plans := map[string]*enginev1.Plan{}
	for at := range engines {
		engine := &model.Engine{ServiceEngine: kinds.ServiceEngine{Identity: kinds.Identity{UUID: engineOf(at)},
			Named: kinds.Named{Name: engineOf(at)}, EnableState: "SE_STATE_ENABLED"}}
		group.Engines = append(group.Engines, engine)
		plans[engine.UUID] = PlanOf(1, resources[at]...)
	}
	m.Engines, m.Groups = group.Engines, []*model.Group{group}
	c.Observe(reconcile.State{Model: m, Plans: plans, Assignments: assignments})
	for uuid, plan := range plans {
		c.Connected(uuid, &enginev1.Hello{Status: Running})
		c.Applied(uuid, plan, nil)
	}
	return c
}

func engineOf(number int) string { return fmt.Sprintf("se-%02d", number) }

func ofCrowd(number int) *model.VirtualService {
	pool := &model.Pool{Pool: kinds.Pool{Identity: kinds.Identity{UUID: fmt.Sprintf("pool-%05d", number)},
		Named: kinds.Named{Name: fmt.Sprintf("pool %d", number)}, Enabled: true,
		Servers: make([]kinds.Server, ServersEach)}}
	for server := range ServersEach {
		pool.Members = append(pool.Members, Member(fmt.Sprintf("10.%d.%d.%d", number>>8, number&255, server+1)))
	}
	return &model.VirtualService{VirtualService: kinds.VirtualService{
		Identity: kinds.Identity{UUID: fmt.Sprintf("vs-%05d", number)}, Named: kinds.Named{Name: fmt.Sprintf(
			"service %d", number)}, Enabled: true, TrafficEnabled: true,
		Vips: []kinds.Vip{{VipID: "1"}}}, Pool: pool, HTTP: &kinds.HTTPProfile{}}
}

// Pass lets a second pass, and has all engines send a sample: at first all rows, then those that changed.
func (c *Crowd) Pass() {
	c.Now = c.Now.Add(time.Second)
	c.seconds++
	for at := range c.served {
		c.Reported(engineOf(at), &enginev1.Report{Body: &enginev1.Report_Sample{Sample: c.sample(at)}})
	}
}

// perSecond is the number of requests of an active virtual service.
const perSecond = 40

func (c *Crowd) sample(at int) *dataplanev1.Sample {
	sample := &dataplanev1.Sample{Pid: 7, Workers: 1, UnixMs: uint64(c.Now.UnixMilli()), RssBytes: 12 << 20,
		CpuUserUs: 100_000 * c.seconds, Changes: c.seconds > 1}
	for _, n := range c.served[at] {
		vs := &dataplanev1.VirtualServiceCounters{Uuid: fmt.Sprintf("vs-%05d", n)}
		requests := c.seconds * perSecond
		if n%c.active != 0 {
			if requests = 0; sample.Changes {
				continue
			}
		} else {
			vs.RequestsTotal, vs.ConnectionsTotal, vs.OpenConnections = requests, requests/10, 8
			vs.ResponsesTotal = []uint64{0, requests - requests/100, 0, 0, requests / 100}
			vs.ReceivedBytesTotal, vs.SentBytesTotal = 300*requests, 9000*requests
			vs.Times = &dataplanev1.Times{Total: spread(requests, 120), Wait: spread(requests, 60),
				Response: spread(requests, 110), Transfer: spread(requests, 70), ServerRtt: spread(requests, 60),
				AppResponse: spread(requests, 110)}
		}
		sample.VirtualServices = append(sample.VirtualServices, vs)
		for server := range ServersEach {
			row := &dataplanev1.ServerCounters{PoolUuid: fmt.Sprintf("pool-%05d", n), Up: true,
				ServerId: fmt.Sprintf("10.%d.%d.%d:80", n>>8, n&255, server+1)}
			if requests > 0 {
				row.RequestsTotal, row.ConnectionsTotal = requests/ServersEach, requests/10/ServersEach
				row.AppResponse = spread(requests/ServersEach, 27)
			}
			sample.Servers = append(sample.Servers, row)
		}
	}
	return sample
}

// spread is a number of times in 24 buckets.
func spread(count uint64, first uint32) *dataplanev1.Histogram {
	h := &dataplanev1.Histogram{SumTicks: count << 10, First: first, Counts: make([]uint32, 24)}
	for i := range h.Counts {
		h.Counts[i] = uint32(count / 24)
	}
	return h
}

// InUse is the memory that is not garbage.
func InUse() int64 {
	runtime.GC()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}
