package fleet

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

var clock = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// stage is a fleet without a store: two engines, one virtual service "web" with a monitored pool of two servers.
type stage struct {
	*testing.T
	*Fleet
	vs   *model.VirtualService
	pool *model.Pool
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t, Fleet: New(nil, quiet(), events.New(quiet(), time.Now), func() time.Time { return clock })}
	s.pool = &model.Pool{
		Pool: schema.Pool{
			Identity: schema.Identity{UUID: "pool-1"}, Named: schema.Named{Name: "web-pool"}, Enabled: true,
			Servers: []schema.Server{{}, {}},
		},
		Members: []model.Member{member("10.0.0.1"), member("10.0.0.2")},
		HealthMonitors: []*model.HealthMonitor{
			{HealthMonitor: schema.HealthMonitor{Identity: schema.Identity{UUID: "hm-1"}}},
		},
	}
	s.vs = &model.VirtualService{
		VirtualService: schema.VirtualService{
			Identity: schema.Identity{UUID: "vs-1"}, Named: schema.Named{Name: "web"}, Enabled: true, TrafficEnabled: true,
			Vips: []schema.Vip{{VipID: "1"}},
		},
		Pool: s.pool,
	}
	s.observe(10, "vs-1", "pool-1")
	return s
}

func member(address string) model.Member {
	return model.Member{
		Server:  schema.Server{IP: &schema.IPAddr{Addr: address, Type: "V4"}, Enabled: true},
		ID:      address + ":80",
		Address: netip.AddrPortFrom(netip.MustParseAddr(address), 80),
	}
}

// observe gives both engines a Plan of these resources; what a resource holds changes with the revision.
func (s *stage) observe(revision uint64, resources ...string) map[string]*enginev1.Plan {
	group := &model.Group{}
	group.UUID, s.vs.Group = "group-1", group
	plans := map[string]*enginev1.Plan{}
	for _, name := range []string{"one", "two"} {
		engine := &model.Engine{ServiceEngine: schema.ServiceEngine{
			Identity: schema.Identity{UUID: "se-" + name}, Named: schema.Named{Name: name}, EnableState: "SE_STATE_ENABLED",
		}}
		group.Engines = append(group.Engines, engine)
		plans[engine.UUID] = planOf(revision, resources...)
	}
	vs, pool := *s.vs, *s.pool // the test may go on changing its own
	vs.Pool = &pool
	m := &model.Model{
		VirtualServices: []*model.VirtualService{&vs}, Pools: []*model.Pool{&pool}, Groups: []*model.Group{group}, Engines: group.Engines,
	}
	assignments := place.Assignments(nil).With([]place.Assignment{both(s.vs)})
	s.Observe(reconcile.State{Model: m, Assignments: assignments, Plans: plans})
	return plans
}

// both engines serve a virtual service that takes traffic.
func both(vs *model.VirtualService) place.Assignment {
	assignment := place.Assignment{VirtualService: vs.UUID}
	if vs.Enabled && vs.TrafficEnabled {
		for _, engine := range []string{"se-one", "se-two"} {
			assignment.Seats = append(assignment.Seats, place.Seat{Engine: engine, State: place.Serving, Since: clock, Cause: place.New})
		}
	}
	return assignment
}

func planOf(revision uint64, resources ...string) *enginev1.Plan {
	plan := &enginev1.Plan{Revision: revision}
	for _, uuid := range slices.Sorted(slices.Values(resources)) {
		resource := &enginev1.Resource{Uuid: uuid}
		if strings.HasPrefix(uuid, "vs-") {
			resource.Body = &enginev1.Resource_VirtualService{VirtualService: &dataplanev1.VirtualService{Uuid: uuid, Name: fmt.Sprint(revision)}}
		} else {
			resource.Body = &enginev1.Resource_Pool{Pool: &enginev1.Pool{Pool: &dataplanev1.Pool{Uuid: uuid}}}
		}
		plan.Resources = append(plan.Resources, resource)
	}
	return plan
}

var running = &enginev1.Status{Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_RUNNING, DataplanePid: 7}

// serve connects an engine and lets it apply what it shall have.
func (s *stage) serve(engines ...string) {
	for _, uuid := range engines {
		s.Connected(uuid, &enginev1.Hello{Status: running})
		s.Applied(uuid, s.engines[uuid].wanted, nil)
	}
}

func (s *stage) judge(engine, server string, up bool, reason string) {
	s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Verdicts{Verdicts: &enginev1.ServerVerdicts{
		Verdicts: []*enginev1.ServerVerdict{{PoolUuid: "pool-1", ServerId: server, Up: up, Reason: reason}},
	}}})
}

func (s *stage) contains(object any, wants ...string) {
	s.Helper()
	text := fmt.Sprint(object)
	for _, want := range wants {
		if !strings.Contains(text, want) {
			s.Errorf("%q is missing in %s", want, text)
		}
	}
}

func (s *stage) state(want string) {
	s.Helper()
	if status := s.VirtualService("vs-1")["oper_status"].(schema.Object); status["state"] != want {
		s.Errorf("want %s, got %v", want, status)
	}
}

func TestVirtualServiceIsUpWhenOneEngineServesItAndOneServerIsUp(t *testing.T) {
	s := newStage(t)
	s.state("OPER_DOWN")
	s.contains(s.VirtualService("vs-1")["oper_status"], "engine one is not connected", "engine two is not connected")
	s.serve("se-one")
	s.contains(s.VirtualService("vs-1")["oper_status"], "OPER_DOWN", "pool web-pool is not up", "no engine has checked it yet")
	s.judge("se-one", "10.0.0.1:80", false, "connection refused")
	s.contains(s.VirtualService("vs-1")["oper_status"], "OPER_DOWN", "server 10.0.0.1:80: connection refused")
	s.judge("se-one", "10.0.0.2:80", true, "")
	s.state("OPER_UP")
	s.contains(s.VirtualService("vs-1"), "percent_ses_up:50", "applied on 1 of 2 engines", "vip_id:1")
	s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Status{Status: &enginev1.Status{
		Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_BACKING_OFF, Reason: "exit status 101",
	}}})
	s.contains(s.VirtualService("vs-1")["oper_status"], "OPER_DOWN", "engine one has a data plane that is backing off: exit status 101")
}

func TestVirtualServiceThatIsOffSaysSo(t *testing.T) {
	s := newStage(t)
	s.vs.TrafficEnabled = false
	s.observe(11)
	s.contains(s.VirtualService("vs-1")["oper_status"], "OPER_DISABLED", "traffic_enabled is false")
	s.vs.Enabled = false
	s.contains(s.VirtualService("vs-1")["oper_status"], "OPER_DISABLED", "enabled is false")
}

func TestServerIsUpIfOneEngineReachesItAndEachSaysWhatItSees(t *testing.T) {
	s := newStage(t)
	s.serve("se-one", "se-two")
	s.judge("se-one", "10.0.0.1:80", false, "timed out")
	s.judge("se-two", "10.0.0.1:80", true, "")
	servers := s.PoolServers("pool-1")
	s.contains(servers[0]["oper_status"], "OPER_UP")
	s.contains(servers[0]["engines"], "engine:one", "timed out", "engine:two")
	s.contains(servers[1]["oper_status"], "OPER_INITIALIZING")
	s.contains(s.Pool("pool-1"), "num_servers:2", "num_servers_up:1", "percent_servers_up_total:50")
}

func TestPoolIsUpWithAsManyServersAsEnginesServeWith(t *testing.T) {
	s := newStage(t)
	s.serve("se-one")
	s.pool.MinServersUp = 2
	s.contains(s.Pool("pool-1")["oper_status"], "OPER_DOWN")
	s.judge("se-one", "10.0.0.1:80", true, "")
	s.contains(s.Pool("pool-1")["oper_status"], "OPER_UP")
}

func TestServersOfPoolWithoutMonitorCountAsUp(t *testing.T) {
	s := newStage(t)
	s.pool.HealthMonitors = nil
	s.observe(10, "vs-1", "pool-1")
	s.contains(s.Pool("pool-1")["oper_status"], "OPER_UNUSED")
	s.serve("se-one")
	s.contains(s.Pool("pool-1"), "OPER_UP", "num_servers_up:2", "not monitored")
	s.pool.Members = slices.Clone(s.pool.Members)
	s.pool.Members[0].Enabled = false
	s.observe(11, "vs-1", "pool-1")
	s.contains(s.Pool("pool-1"), "num_servers_up:1", "num_servers_enabled:1", "OPER_DISABLED")
}

func TestNewSessionForgetsWhatTheOldOneSaid(t *testing.T) {
	s := newStage(t)
	s.serve("se-one")
	s.judge("se-one", "10.0.0.1:80", true, "")
	s.Connected("se-one", &enginev1.Hello{Status: running, Revision: 10})
	s.contains(s.PoolServers("pool-1")[0]["oper_status"], "OPER_INITIALIZING")
}

func TestEngineThatComesBackWithoutAPlanServesNothing(t *testing.T) {
	s := newStage(t)
	s.serve("se-one")
	if facts := s.Facts()["se-one"]; !facts.Told || facts.Holds.Of("vs-1").Duty == place.NoDuty {
		t.Errorf("got %+v", facts)
	}
	s.Connected("se-one", &enginev1.Hello{Status: running})
	if facts := s.Facts()["se-one"]; !facts.Told || facts.Holds.Of("vs-1").Duty != place.NoDuty {
		t.Errorf("got %+v", facts)
	}
}

func TestWhatAnEngineHasIsNotKnownToAControllerThatBegins(t *testing.T) {
	s := newStage(t)
	s.Connected("se-one", &enginev1.Hello{Status: running, Revision: 9})
	if s.Facts()["se-one"].Told {
		t.Error("it told a revision, and not what is in it")
	}
}

func TestWhatAnEngineHasIsNotKnownWhenItsLastAnswerWasLost(t *testing.T) {
	s := newStage(t)
	s.serve("se-one")
	s.observe(11, "vs-1")
	for revision, told := range map[uint64]bool{10: true, 11: false} {
		s.Connected("se-one", &enginev1.Hello{Status: running, Revision: revision})
		if got := s.Facts()["se-one"].Told; got != told {
			t.Errorf("it has revision %d: told %v", revision, got)
		}
		s.Applied("se-one", planOf(10, "vs-1"), nil)
	}
}

func TestAppliedCountsTheNewestStateOfTheVirtualServiceAndItsParts(t *testing.T) {
	s := newStage(t)
	s.serve("se-one", "se-two")
	s.contains(s.VirtualService("vs-1")["applied"], "applied on 2 of 2 engines", "revision:10")
	plans := s.observe(11, "vs-1", "pool-1")
	s.contains(s.VirtualService("vs-1")["applied"], "applied on 0 of 2 engines", "revision:11")
	s.Applied("se-two", plans["se-two"], nil)
	s.contains(s.VirtualService("vs-1")["applied"], "applied on 1 of 2 engines")
}

func TestRefusalNamesTheEngineAndGoesWithTheNextPlanThatIsApplied(t *testing.T) {
	s := newStage(t)
	s.serve("se-one", "se-two")
	plans := s.observe(11, "vs-1", "pool-1")
	s.Applied("se-two", plans["se-two"], nil)
	s.Refused("se-one", plans["se-one"], []*dataplanev1.Finding{
		{Kind: "virtualservice", Uuid: "vs-1", Name: "web", Field: "services[0]", Message: "in use"},
		{Kind: "virtualservice", Uuid: "vs-2", Name: "other", Field: "services[0]", Message: "not this one's fault"},
	})
	runtime := s.VirtualService("vs-1")
	s.contains(runtime["warnings"], "engine:one", "field:services[0]", "in use")
	if text := fmt.Sprint(runtime["warnings"]); strings.Contains(text, "not this one's fault") {
		t.Errorf("blamed for another: %s", text)
	}
	s.contains(runtime["applied"], "applied on 1 of 2 engines", "refusals", "engine:one")
	s.contains(s.Engine("se-one"), "refusal", "not this one's fault")
	if facts := s.Facts(); facts["se-one"].Refuses == "" || facts["se-two"].Refuses != "" {
		t.Error("who refuses is mixed up")
	}
	s.Applied("se-one", plans["se-one"], nil) // it was tried again
	if warnings := s.VirtualService("vs-1")["warnings"].([]any); len(warnings) != 0 || s.Facts()["se-one"].Refuses != "" {
		t.Errorf("still there: %v", warnings)
	}
}

func TestVirtualServiceThatIsDownForARefusalSaysWhy(t *testing.T) {
	s := newStage(t)
	s.Connected("se-one", &enginev1.Hello{Status: running})
	s.Refused("se-one", s.engines["se-one"].wanted, []*dataplanev1.Finding{
		{Kind: "virtualservice", Uuid: "vs-1", Name: "web", Field: "services[0]", Message: "port 80 is in use"},
	})
	s.contains(s.VirtualService("vs-1")["oper_status"], "OPER_DOWN",
		"engine one refused revision 10: virtualservice web: services[0]: port 80 is in use", "engine two is not connected")
}

func TestRefusalOfAPlanThatIsSentBeforeAllIsDecidedIsHeard(t *testing.T) {
	s := newStage(t)
	s.Connected("se-one", &enginev1.Hello{Status: running})
	early := planOf(11, "vs-2")
	s.Expect(map[string]*enginev1.Plan{"se-one": early})
	s.Refused("se-one", early, []*dataplanev1.Finding{{Kind: "vrfcontext", Uuid: "vrf-1", Name: "global", Message: "no route"}})
	if why := s.Facts()["se-one"].Refuses; why != "vrfcontext global: no route" {
		t.Errorf("it says %q", why)
	}
}

func TestRefusalOfPlanThatIsNoLongerWantedIsForgotten(t *testing.T) {
	s := newStage(t)
	s.Connected("se-one", &enginev1.Hello{Status: running})
	old := s.observe(11, "vs-1")["se-one"]
	s.observe(12, "vs-1")
	s.Refused("se-one", old, []*dataplanev1.Finding{{Kind: "virtualservice", Uuid: "vs-1", Message: "in use"}})
	if s.Facts()["se-one"].Refuses != "" {
		t.Error("an old refusal counts")
	}
}

func TestVirtualServiceThatWaitsForEnginesSaysSoAndWhy(t *testing.T) {
	s := newStage(t)
	s.serve("se-one", "se-two")
	s.judge("se-one", "10.0.0.1:80", true, "")
	lacking := s.Fleet.state
	lacking.Unplaced = []place.Unplaced{{VirtualService: "vs-1", Wanted: 8, Placed: 2, Why: "group web has no engine left: let one join"}}
	s.Observe(lacking)
	s.contains(s.VirtualService("vs-1")["oper_status"], "OPER_UP", "it is on 2 of 8 engines: group web has no engine left: let one join")
	lacking.Unplaced = nil
	s.Observe(lacking)
	if reasons := s.VirtualService("vs-1")["oper_status"].(schema.Object)["reason"].([]any); len(reasons) > 0 {
		t.Errorf("nothing is lacking any more: %v", reasons)
	}
}

func TestKeepsNoMoreVerdictsThanItsLimitAndNoneOfPoolsThatAreGone(t *testing.T) {
	s := newStage(t)
	flood := &enginev1.ServerVerdicts{}
	for i := range verdictsMax + 10 {
		flood.Verdicts = append(flood.Verdicts, &enginev1.ServerVerdict{PoolUuid: "pool-gone", ServerId: fmt.Sprint(i)})
	}
	s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Verdicts{Verdicts: flood}})
	if got := len(s.engines["se-one"].verdicts); got != verdictsMax {
		t.Errorf("%d are kept", got)
	}
	s.observe(11, "vs-1")
	if got := len(s.engines["se-one"].verdicts); got != 0 {
		t.Errorf("%d are kept of a pool that is gone", got)
	}
}

func TestForgetsServersThatLeftAPoolOnceTheEngineHasToo(t *testing.T) {
	s := newStage(t)
	has := func(id string) bool { return s.engines["se-one"].verdicts[serverKey{"pool-1", id}] != nil }
	both := planOf(10, "vs-1", "pool-1")
	for _, member := range s.pool.Members {
		pool := both.Resources[0].GetPool().GetPool()
		pool.Servers = append(pool.Servers, &dataplanev1.Server{Id: member.ID})
	}
	s.Applied("se-one", both, nil)
	s.judge("se-one", "10.0.0.1:80", true, "")
	s.judge("se-one", "10.0.0.2:80", true, "")
	s.pool.Members = s.pool.Members[:1]
	s.observe(11, "vs-1", "pool-1")
	if !has("10.0.0.1:80") || !has("10.0.0.2:80") {
		t.Error("a server that the engine still checks is forgotten")
	}
	s.Applied("se-one", planOf(11, "vs-1", "pool-1"), nil)
	s.observe(12, "vs-1", "pool-1")
	if !has("10.0.0.1:80") || has("10.0.0.2:80") {
		t.Error("want the verdict of the server that is left, and no other")
	}
}

func TestFindingOfTheControllerIsAWarningAndKeepsWhatIsLeftOutDown(t *testing.T) {
	s := newStage(t)
	s.observe(11) // nothing in the Plan
	state := s.Fleet.state
	state.Findings = []model.Finding{
		{Kind: "virtualservice", UUID: "vs-1", Name: "web", Field: "vsvip_ref", Message: "has no address"},
		{Kind: "serviceenginegroup", UUID: "group-1", Name: "group", Field: "se_mtu", Message: "has no effect"},
		{Kind: "pool", UUID: "pool-9", Name: "other", Field: "x", Message: "nothing to do with it"},
	}
	s.Observe(state)
	runtime := s.VirtualService("vs-1")
	s.contains(runtime["oper_status"], "OPER_DOWN", "vsvip_ref: has no address")
	s.contains(runtime["applied"], "applied on 0 of 2 engines")
	if warnings := runtime["warnings"].([]any); len(warnings) != 2 {
		t.Errorf("got %v", warnings)
	}
}

// newStored is a fleet with a real store.
func newStored(t *testing.T) (*Fleet, *store.Store) {
	t.Helper()
	sealer := func() (store.Sealer, error) { return pki.OpenSealer(filepath.Join(t.TempDir(), "key")) }
	objects, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Sealer: sealer, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(objects.Close)
	if err := admit.Bootstrap(t.Context(), objects, "a long password", clock); err != nil {
		t.Fatal(err)
	}
	return New(objects, quiet(), events.New(quiet(), time.Now), func() time.Time { return clock }), objects
}

func TestEngineJoinsWithAnObjectInTheDefaultGroup(t *testing.T) {
	fleet, objects := newStored(t)
	uuid, err := fleet.Join(t.Context(), "edge")
	if err != nil {
		t.Fatal(err)
	}
	record, ok := objects.View().Get(engineKind, uuid)
	if !ok || !fleet.Exists(uuid) || record.Name != "edge" {
		t.Fatalf("got %v", record)
	}
	want := schema.RefPath("serviceenginegroup", schema.BuiltinUUID("serviceenginegroup", "Default-Group"))
	if got := record.Object["se_group_ref"]; got != want {
		t.Errorf("group is %v, want %v", got, want)
	}
}

func TestNameBelongsToOneEngineAtATime(t *testing.T) {
	fleet, _ := newStored(t)
	first, err := fleet.Join(t.Context(), "edge")
	if err != nil {
		t.Fatal(err)
	}
	fleet.Connected(first, &enginev1.Hello{})
	if _, err := fleet.Join(t.Context(), "edge"); !errors.Is(err, ErrNameTaken) {
		t.Errorf("while it is connected: %v", err)
	}
	fleet.Disconnected(first, "gone")
	if again, err := fleet.Join(t.Context(), "edge"); err != nil || again != first {
		t.Errorf("after it left: %s, %v; want %s again", again, err, first)
	}
}

func TestWhatComesOfADeletedEngineAMomentLaterBringsItNotBack(t *testing.T) {
	log := events.New(quiet(), time.Now)
	fleet := New(nil, quiet(), log, time.Now)
	fleet.Reported("se-gone", &enginev1.Report{Body: &enginev1.Report_Status{Status: running}})
	fleet.Applied("se-gone", planOf(1), nil)
	fleet.Refused("se-gone", planOf(1), nil)
	fleet.Disconnected("se-gone", "gone")
	if len(fleet.engines)+len(log.Entries()) > 0 {
		t.Errorf("%v, %v", fleet.engines, log.Entries())
	}
}

func TestDeletedEngineIsForgotten(t *testing.T) {
	fleet, objects := newStored(t)
	uuid, err := fleet.Join(t.Context(), "edge")
	if err != nil {
		t.Fatal(err)
	}
	fleet.Connected(uuid, &enginev1.Hello{})
	fleet.Observe(reconcile.State{Model: &model.Model{}}) // made before it joined: it stays
	if fleet.engines[uuid] == nil {
		t.Fatal("an engine that has just joined is forgotten")
	}
	if err := objects.Update(t.Context(), func(tx *store.Tx) error { tx.Delete(engineKind, uuid); return nil }); err != nil {
		t.Fatal(err)
	}
	fleet.Observe(reconcile.State{Model: &model.Model{}})
	if fleet.engines[uuid] != nil || fleet.Exists(uuid) {
		t.Error("a deleted engine is remembered")
	}
}
