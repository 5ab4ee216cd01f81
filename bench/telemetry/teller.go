package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/weir-lb/weir/agent/link"
	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/agent/state"
	"github.com/weir-lb/weir/api/engine/enrollment"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// teller is an engine as the controller knows it: the agent's own link, Plans that it acknowledges at once, and a
// sample each second. It moves no bytes: many data planes would take the cores from the controller that is measured.
type teller struct {
	acked    func(uuid, name string, at time.Time)
	isActive func(name string) bool

	mu       sync.Mutex
	link     *link.Link
	session  link.Session
	plan     *plan.Plan
	names    map[string]string
	services []*dataplanev1.VirtualServiceCounters
	servers  []*dataplanev1.ServerCounters
	active   map[string]bool // uuids of services and pools that have traffic
	second   uint32
	all      bool // everything has traffic
	fault    error
	end      func()
}

// perSecond is the number of requests of an active virtual service.
const perSecond = 40

// dial joins the controller, and begins to send samples.
func (t *teller) dial(address, name string, token enrollment.Token) {
	t.names, t.active = map[string]string{}, map[string]bool{}
	t.link = link.New(link.Config{Address: address, Name: name, Token: &token, Engine: t,
		Log: slog.New(slog.DiscardHandler)})
	talking, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := t.link.Run(talking); err != nil {
			t.mu.Lock()
			t.fault = err
			t.mu.Unlock()
		}
	})
	running.Go(func() { t.sampleEachSecond(talking) })
	t.end = func() { stop(); running.Wait() }
}

func (t *teller) Joined(*state.Identity)  {}
func (t *teller) Renewed(*state.Identity) {}

// status is that of an engine that serves.
func (t *teller) status() *enginev1.Status {
	return &enginev1.Status{Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_RUNNING, DataplanePid: 7,
		ServingRevision: t.session.Revision()}
}

// Hello begins a stream.
func (t *teller) Hello() *enginev1.Hello {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.session.Opened()
	return &enginev1.Hello{Version: "bench", Revision: t.session.Revision(), Status: t.status(),
		Resources: &enginev1.Resources{Cores: 1, MemoryBytes: 2 << 30, Hostname: "bench"},
		Verdicts:  new(enginev1.ServerVerdicts), Routing: new(enginev1.Routing), Detours: new(enginev1.Detours)}
}

func (t *teller) Share(*dataplanev1.KeyShares) {}

// Ask is not answered: there is no data plane, and nobody asks here.
func (t *teller) Ask(*dataplanev1.Question) {}

// Heartbeat says that the engine lives.
func (t *teller) Heartbeat() *enginev1.Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status()
}

// Receive takes a Plan and acknowledges it.
func (t *teller) Receive(delta *enginev1.PlanDelta) {
	t.mu.Lock()
	defer t.mu.Unlock()
	received, answer := t.session.Receive(delta)
	if answer != nil {
		t.link.Send(answer)
		return
	}
	t.link.Send(t.session.Applied(received, nil))
	at := time.Now()
	for _, change := range plan.Changes(t.plan, received) {
		if change.Kind != "virtualservice" {
			continue
		}
		if change.How == plan.IsNoMore {
			delete(t.names, change.UUID)
		} else if t.names[change.UUID] != change.Name {
			t.names[change.UUID] = change.Name
			t.acked(change.UUID, change.Name, at)
		}
	}
	t.plan = received
	t.recount()
}

// recount makes rows of what the Plan has. What has traffic is told by the first name of a virtual service.
func (t *teller) recount() {
	services, servers := map[string]*dataplanev1.VirtualServiceCounters{}, map[string]*dataplanev1.ServerCounters{}
	for _, row := range t.services {
		services[row.GetUuid()] = row
	}
	for _, row := range t.servers {
		servers[row.GetPoolUuid()+" "+row.GetServerId()] = row
	}
	t.services, t.servers = nil, nil
	for _, resource := range t.plan.Wire().GetResources() {
		if vs := resource.GetVirtualService(); vs != nil {
			row := services[vs.GetUuid()]
			if row == nil {
				row = &dataplanev1.VirtualServiceCounters{Uuid: vs.GetUuid()}
				t.active[vs.GetUuid()] = t.isActive(vs.GetName())
			}
			t.services = append(t.services, row)
		}
		pool := resource.GetPool().GetPool()
		for _, server := range pool.GetServers() {
			row := servers[pool.GetUuid()+" "+server.GetId()]
			if row == nil {
				row = &dataplanev1.ServerCounters{PoolUuid: pool.GetUuid(), ServerId: server.GetId()}
				t.active[pool.GetUuid()] = t.isActive(pool.GetName())
			}
			t.servers = append(t.servers, row)
		}
	}
}

func (t *teller) sampleEachSecond(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.mu.Lock()
			t.link.Send(t.sample())
			t.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// sample counts on, and tells all rows. The rows of a sample never change afterwards, as the link may still hold it.
func (t *teller) sample() *enginev1.Report {
	t.second++
	now := uint64(time.Now().UnixMilli())
	sample := &dataplanev1.Sample{UnixMs: now, Pid: 7, Workers: 1, RssBytes: 12 << 20,
		CpuUserUs: 100_000 * uint64(t.second), WorkerCounters: []*dataplanev1.WorkerCounters{{}}}
	for i, row := range t.services {
		if t.all || t.active[row.GetUuid()] {
			t.services[i] = countedOn(row)
		}
	}
	for i, row := range t.servers {
		if t.all || t.active[row.GetPoolUuid()] {
			t.servers[i] = serverCountedOn(row)
		}
	}
	sample.VirtualServices, sample.Servers = append(sample.VirtualServices, t.services...),
		append(sample.Servers, t.servers...)
	return &enginev1.Report{Body: &enginev1.Report_Sample{Sample: sample}}
}

// wake gives all that the engine has traffic.
func (t *teller) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = true
}

func countedOn(row *dataplanev1.VirtualServiceCounters) *dataplanev1.VirtualServiceCounters {
	requests := row.GetRequestsTotal() + perSecond
	next := &dataplanev1.VirtualServiceCounters{Uuid: row.GetUuid(), RequestsTotal: requests,
		ConnectionsTotal: requests / 10,
		OpenConnections:  8, ResponsesTotal: []uint64{0, requests - requests/100, 0, 0, requests / 100},
		ReceivedBytesTotal: 300 * requests, SentBytesTotal: 9000 * requests, ClientRtt: times(requests/80, 80, 24),
		Times: &dataplanev1.Times{Total: times(requests, 120, 40), Wait: times(requests, 60, 24),
			Response: times(requests, 110, 40), Transfer: times(requests, 70, 24), ServerRtt: times(requests, 60, 16),
			AppResponse: times(requests, 110, 40)}}
	return next
}

func serverCountedOn(row *dataplanev1.ServerCounters) *dataplanev1.ServerCounters {
	requests := row.GetRequestsTotal() + perSecond/serversEach
	return &dataplanev1.ServerCounters{PoolUuid: row.GetPoolUuid(), ServerId: row.GetServerId(),
		RequestsTotal: requests, ConnectionsTotal: requests / 10, ReusedTotal: requests - requests/10,
		ConnectTicksTotal: 300 * requests, AppResponse: times(requests, 27, 10)}
}

// times has so many times, spread over some buckets from a first one on.
func times(count uint64, first, buckets uint32) *dataplanev1.Histogram {
	h := &dataplanev1.Histogram{First: first, Counts: make([]uint32, buckets),
		SumTicks: count * uint64(math.Exp2(float64(first)/8))}
	for i := range h.Counts {
		h.Counts[i] = uint32(count/uint64(buckets)) + 1
	}
	return h
}

func (t *teller) state() (services int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fault != nil {
		return 0, errors.Join(errors.New("an engine has no link"), t.fault)
	}
	return len(t.names), nil
}
