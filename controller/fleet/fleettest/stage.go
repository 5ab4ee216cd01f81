// Package fleettest gives tests a fleet without a store: two engines, and one virtual service "web" with a monitored
// pool of two servers.
package fleettest

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
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

// Clock is the time at which a stage begins.
var Clock = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// Running is the status of an engine that serves.
var Running = &enginev1.Status{Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_RUNNING, DataplanePid: 7}

// Stage is the fleet, with the model that it is given.
type Stage struct {
	*testing.T
	*fleet.Fleet
	Events  *events.Log
	Now     time.Time
	VS      *model.VirtualService
	WebPool *model.Pool
	State   reconcile.State // the last one that the fleet observed
	Deleted map[string]bool // engines that are deleted
}

// Empty returns a fleet with an empty model.
func Empty(t *testing.T) *Stage {
	t.Helper()
	s := &Stage{T: t, Now: Clock, Deleted: map[string]bool{}}
	quiet, now := slog.New(slog.DiscardHandler), func() time.Time { return s.Now }
	s.Events = events.New(quiet, now)
	s.Fleet = fleet.New(s.find, s.Events, now)
	return s
}

// find returns "one" for "se-one".
func (s *Stage) find(engineUUID string) (name string, exists bool) {
	return strings.TrimPrefix(engineUUID, "se-"), !s.Deleted[engineUUID]
}

// New gives both engines a Plan of revision 10. No engine has connected.
func New(t *testing.T) *Stage {
	t.Helper()
	s := Empty(t)
	s.WebPool = &model.Pool{
		Pool: kinds.Pool{
			Identity: kinds.Identity{UUID: "pool-1"}, Named: kinds.Named{Name: "web-pool"}, Enabled: true,
			Servers: []kinds.Server{{}, {}},
		},
		Members: []model.Member{Member("10.0.0.1"), Member("10.0.0.2")},
		HealthMonitors: []*model.HealthMonitor{
			{HealthMonitor: kinds.HealthMonitor{Identity: kinds.Identity{UUID: "hm-1"}}},
		},
	}
	s.VS = &model.VirtualService{
		VirtualService: kinds.VirtualService{
			Identity: kinds.Identity{UUID: "vs-1"}, Named: kinds.Named{Name: "web"}, Enabled: true,
			TrafficEnabled: true,
			Vips:           []kinds.Vip{{VipID: "1"}},
		},
		Pool: s.WebPool,
	}
	s.Want(10, "vs-1", "pool-1")
	return s
}

// Member returns a server at port 80.
func Member(address string) model.Member {
	return model.Member{
		Server:  kinds.Server{IP: &kinds.IPAddr{Addr: address, Type: "V4"}, Enabled: true},
		ID:      address + ":80",
		Address: netip.AddrPortFrom(netip.MustParseAddr(address), 80),
	}
}

// Want gives both engines a Plan with these resources. Their content changes with the revision.
func (s *Stage) Want(revision uint64, resources ...string) map[string]*enginev1.Plan {
	group := &model.Group{}
	group.UUID, s.VS.Group = "group-1", group
	plans := map[string]*enginev1.Plan{}
	for _, name := range []string{"one", "two"} {
		engine := &model.Engine{ServiceEngine: kinds.ServiceEngine{
			Identity: kinds.Identity{UUID: "se-" + name}, Named: kinds.Named{Name: name},
			EnableState: "SE_STATE_ENABLED",
		}}
		group.Engines = append(group.Engines, engine)
		plans[engine.UUID] = PlanOf(revision, resources...)
	}
	vs, pool := *s.VS, *s.WebPool // the test may change its own afterwards
	vs.Pool = &pool
	m := &model.Model{
		VirtualServices: []*model.VirtualService{&vs}, Pools: []*model.Pool{&pool}, Groups: []*model.Group{group},
		Engines: group.Engines, Revision: int64(revision),
	}
	assignments := place.Assignments(nil).With([]place.Assignment{Both(s.VS)})
	s.Observe(reconcile.State{Model: m, Assignments: assignments, Plans: plans})
	return plans
}

// Observe calls that of Fleet, and keeps the state.
func (s *Stage) Observe(state reconcile.State) {
	s.State = state
	s.Fleet.Observe(state)
}

// Both assigns a virtual service to both engines, if it takes traffic.
func Both(vs *model.VirtualService) place.Assignment {
	assignment := place.Assignment{VirtualService: vs.UUID}
	if vs.Enabled && vs.TrafficEnabled {
		for _, engine := range []string{"se-one", "se-two"} {
			seat := place.Seat{Engine: engine, State: place.Serving, Since: Clock, Cause: place.New}
			assignment.Seats = append(assignment.Seats, seat)
		}
	}
	return assignment
}

// PlanOf returns a Plan with virtual services and pools of these uuids.
func PlanOf(revision uint64, resources ...string) *enginev1.Plan {
	plan := &enginev1.Plan{Revision: revision}
	for _, uuid := range slices.Sorted(slices.Values(resources)) {
		resource := &enginev1.Resource{Uuid: uuid}
		if strings.HasPrefix(uuid, "vs-") {
			resource.Body = &enginev1.Resource_VirtualService{
				VirtualService: &dataplanev1.VirtualService{Uuid: uuid, Name: fmt.Sprint(revision)},
			}
		} else {
			resource.Body = &enginev1.Resource_Pool{Pool: &enginev1.Pool{Pool: &dataplanev1.Pool{Uuid: uuid}}}
		}
		plan.Resources = append(plan.Resources, resource)
	}
	return plan
}

// Serve connects engines, and has them apply their Plans.
func (s *Stage) Serve(engines ...string) {
	for _, uuid := range engines {
		s.Connected(uuid, &enginev1.Hello{Status: Running})
		s.Applied(uuid, s.State.Plans[uuid], nil)
	}
}

// Judge has an engine report that its monitors find a server up or down.
func (s *Stage) Judge(engine, server string, up bool, reason string) {
	s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Verdicts{Verdicts: &enginev1.ServerVerdicts{
		Verdicts: []*enginev1.ServerVerdict{{PoolUuid: "pool-1", ServerId: server, Up: up, Reason: reason}},
	}}})
}

// Status has an engine report the state of its data plane.
func (s *Stage) Status(engine string, status *enginev1.Status) {
	s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Status{Status: status}})
}

// Sampled has an engine report a number of clients that are connected to the virtual service.
func (s *Stage) Sampled(engine string, open uint64) {
	s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
		VirtualServices: []*dataplanev1.VirtualServiceCounters{{Uuid: "vs-1", OpenConnections: open}},
	}}})
}

// Suspected has an engine report that a server is suspect to some of its two workers.
func (s *Stage) Suspected(engine, server string, workers uint32) {
	s.told(engine, &dataplanev1.ServerCounters{ServerId: server, SuspectingWorkers: workers})
}

// Ejected has an engine report that some of its two workers have ejected a server.
func (s *Stage) Ejected(engine, server string, workers uint32) {
	s.told(engine, &dataplanev1.ServerCounters{ServerId: server, SuspectingWorkers: workers, EjectingWorkers: workers})
}

// told has an engine with two workers report on a server of the pool that its monitors find up.
func (s *Stage) told(engine string, server *dataplanev1.ServerCounters) {
	server.PoolUuid, server.Up = "pool-1", true
	s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
		Workers: 2, UnixMs: uint64(Clock.UnixMilli()), Servers: []*dataplanev1.ServerCounters{server},
	}}})
}

// Timed has a process of an engine report what it has counted of the virtual service, some time after Clock.
func (s *Stage) Timed(engine string, pid uint32, after time.Duration, times *dataplanev1.Times) {
	s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
		Pid: pid, UnixMs: uint64(Clock.Add(after).UnixMilli()),
		VirtualServices: []*dataplanev1.VirtualServiceCounters{{Uuid: "vs-1", Times: times}},
	}}})
}

// Times are those of a number of equal requests: 2^10 ticks of waiting, 2^14 for the response, 2^12 for the transfer.
// Of the response, 2^12 ticks are the round trip to the server.
func Times(requests uint32) *dataplanev1.Times {
	all := func(ticks uint64, bucket uint32) *dataplanev1.Histogram {
		return &dataplanev1.Histogram{
			SumTicks: ticks * uint64(requests), First: bucket, Counts: []uint32{requests},
		}
	}
	return &dataplanev1.Times{
		Total: all(1<<10+1<<14+1<<12, 116), Wait: all(1<<10, 80), Response: all(1<<14, 112), Transfer: all(1<<12, 96),
		ServerRtt: all(1<<12, 96), AppResponse: all(3<<12, 109),
	}
}

// ServerTimed has a process of an engine report what it has counted of the first server, some time after Clock:
// requests as ServerTimes has them, and a connect of 2^10 ticks for each.
func (s *Stage) ServerTimed(engine string, pid uint32, after time.Duration, requests uint32) {
	s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
		Pid: pid, UnixMs: uint64(Clock.Add(after).UnixMilli()),
		Servers: []*dataplanev1.ServerCounters{{
			PoolUuid: "pool-1", ServerId: "10.0.0.1:80", ConnectionsTotal: uint64(requests),
			ConnectTicksTotal: uint64(requests) << 10, AppResponse: ServerTimes(requests),
		}},
	}}})
}

// ServerTimes are those of a number of requests: half of them need 2^14 ticks, the others 2^16.
func ServerTimes(requests uint32) *dataplanev1.Histogram {
	half := requests / 2
	return &dataplanev1.Histogram{
		SumTicks: uint64(half)<<14 + uint64(requests-half)<<16, First: 28,
		Counts: []uint32{half, 0, 0, 0, requests - half},
	}
}

// Routed has an engine report its BGP sessions and routes.
func (s *Stage) Routed(engine string, routing *enginev1.Routing) {
	s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Routing{Routing: routing}})
}

// Routing returns the report of an engine with two routers. The session with one of them is down.
func Routing() *enginev1.Routing {
	return &enginev1.Routing{
		Peers: []*enginev1.PeerState{
			{
				Address: "10.0.0.1", LocalAs: 65000, RemoteAs: 65000, State: enginev1.BgpState_BGP_STATE_ESTABLISHED,
				RouterId:     "10.0.0.1",
				LocalAddress: "10.0.0.11", HoldS: 180, SinceUnixMs: 1_000, EstablishedCount: 1,
				Bfd: enginev1.BfdState_BFD_STATE_UP,
			},
			{Address: "10.0.0.2", State: enginev1.BgpState_BGP_STATE_OPEN_SENT, Reason: "hold timer expired"},
		},
		Routes: []*enginev1.AnnouncedRoute{{
			Prefix: "3.3.3.3/32", Peers: []string{"10.0.0.1"}, Communities: []uint32{65000<<16 | 7, 0xffffff01},
			LocalPreference:     300,
			VirtualServiceUuids: []string{"vs-1"}, SinceUnixMs: 2_000,
		}},
	}
}

// Contains fails if the text of a page lacks one of the wants.
func (s *Stage) Contains(page any, wants ...string) {
	s.Helper()
	text := fmt.Sprint(page)
	for _, want := range wants {
		if !strings.Contains(text, want) {
			s.Errorf("%q is missing in %s", want, text)
		}
	}
}

// Told returns the events that some steps add, oldest first: "ID kind name message".
func (s *Stage) Told(steps func()) (told []string) {
	before := len(s.Events.Entries())
	steps()
	entries := s.Events.Entries()
	for i := len(entries) - before - 1; i >= 0; i-- {
		told = append(told, strings.Join([]string{entries[i].ID, entries[i].Kind, entries[i].Name, entries[i].Message},
			" "))
	}
	return told
}
