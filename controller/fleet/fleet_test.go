package fleet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/reconcile"
)

func TestKeepsNoMoreVerdictsThanItsLimitAndNoneOfPoolsThatAreGone(t *testing.T) {
	const sent = 50_010
	s := fleettest.New(t)
	flood := &enginev1.ServerVerdicts{}
	for i := range sent {
		flood.Verdicts = append(flood.Verdicts, &enginev1.ServerVerdict{PoolUuid: "pool-gone", ServerId: fmt.Sprint(i)})
	}
	kept := func() (count int) {
		for i := range sent {
			if verdict(s, "se-one", fleet.ServerKey{Pool: "pool-gone", Server: fmt.Sprint(i)}) != nil {
				count++
			}
		}
		return count
	}
	s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Verdicts{Verdicts: flood}})
	if got := kept(); got != 50_000 {
		t.Errorf("%d are kept", got)
	}
	s.Want(11, "vs-1")
	if got := kept(); got != 0 {
		t.Errorf("%d are kept of a pool that is gone", got)
	}
}

func TestForgetsServersThatLeftAPoolOnceTheEngineHasToo(t *testing.T) {
	s := fleettest.New(t)
	has := func(id string) bool { return verdict(s, "se-one", fleet.ServerKey{Pool: "pool-1", Server: id}) != nil }
	both := fleettest.PlanOf(10, "vs-1", "pool-1")
	for _, member := range s.WebPool.Members {
		pool := both.Resources[0].GetPool().GetPool()
		pool.Servers = append(pool.Servers, &dataplanev1.Server{Id: member.ID})
	}
	s.Applied("se-one", both, nil)
	s.Judge("se-one", "10.0.0.1:80", true, "")
	s.Judge("se-one", "10.0.0.2:80", true, "")
	s.WebPool.Members = s.WebPool.Members[:1]
	s.Want(11, "vs-1", "pool-1")
	if !has("10.0.0.1:80") || !has("10.0.0.2:80") {
		t.Error("a server that the engine still checks is forgotten")
	}
	s.Applied("se-one", fleettest.PlanOf(11, "vs-1", "pool-1"), nil)
	s.Want(12, "vs-1", "pool-1")
	if !has("10.0.0.1:80") || has("10.0.0.2:80") {
		t.Error("want the verdict of the server that is left, and no other")
	}
}

// checking returns a Plan with the pool of the stage, its servers enabled, with or without a monitor.
func checking(s *fleettest.Stage, revision uint64, monitors ...string) *enginev1.Plan {
	plan := fleettest.PlanOf(revision, "vs-1", "pool-1")
	pool := plan.Resources[0].GetPool()
	pool.HealthMonitorUuids = monitors
	for _, member := range s.WebPool.Members {
		pool.Pool.Servers = append(pool.Pool.Servers, &dataplanev1.Server{Id: member.ID, Enabled: true})
	}
	return plan
}

func TestVerdictEndsWhenTheEngineCeasesToCheckTheServer(t *testing.T) {
	const server = "10.0.0.1:80"
	for what, leave := range map[string]func(*enginev1.Plan){
		"the pool":     func(p *enginev1.Plan) { p.Resources = p.Resources[1:] },
		"the monitors": func(p *enginev1.Plan) { p.Resources[0].GetPool().HealthMonitorUuids = nil },
		"the server":   func(p *enginev1.Plan) { p.Resources[0].GetPool().Pool.Servers = nil },
		"the enabling": func(p *enginev1.Plan) { p.Resources[0].GetPool().Pool.Servers[0].Enabled = false },
	} {
		s := fleettest.New(t)
		has := func() bool { return verdict(s, "se-one", fleet.ServerKey{Pool: "pool-1", Server: server}) != nil }
		s.Connected("se-one", &enginev1.Hello{Status: fleettest.Running})
		s.Applied("se-one", checking(s, 10, "hm-1"), nil)
		s.Judge("se-one", server, true, "")
		if s.Applied("se-one", checking(s, 11, "hm-2"), nil); !has() {
			t.Errorf("%s: the engine keeps a verdict when one monitor replaces another, and the controller does not",
				what)
		}
		left := checking(s, 12, "hm-2")
		leave(left)
		s.Applied("se-one", left, nil)
		if s.Applied("se-one", checking(s, 13, "hm-2"), nil); has() {
			t.Errorf("%s left the engine and came back, and the old verdict counts", what)
		}
	}
}

func TestVerdictThatAnEngineBroughtEndsIfItsFirstPlanLacksTheServer(t *testing.T) {
	s := fleettest.New(t)
	hello := &enginev1.Hello{Status: fleettest.Running, Revision: 9, Verdicts: &enginev1.ServerVerdicts{}}
	for _, server := range []string{"10.0.0.1:80", "10.0.0.2:80"} {
		hello.Verdicts.Verdicts = append(hello.Verdicts.Verdicts,
			&enginev1.ServerVerdict{PoolUuid: "pool-1", ServerId: server, Up: true})
	}
	s.Connected("se-one", hello)
	first := checking(s, 10, "hm-1")
	first.Resources[0].GetPool().Pool.Servers[1].Enabled = false
	s.Applied("se-one", first, nil)
	for server, want := range map[string]bool{"10.0.0.1:80": true, "10.0.0.2:80": false} {
		if has := verdict(s, "se-one", fleet.ServerKey{Pool: "pool-1", Server: server}) != nil; has != want {
			t.Errorf("%s: the verdict is kept: %v, want %v", server, has, want)
		}
	}
}

func TestWhatComesOfADeletedEngineAMomentLaterBringsItNotBack(t *testing.T) {
	s := fleettest.Empty(t)
	s.Status("se-gone", fleettest.Running)
	s.Applied("se-gone", fleettest.PlanOf(1), nil)
	s.Refused("se-gone", fleettest.PlanOf(1), nil)
	s.Disconnected("se-gone", "gone")
	if isKnown(s, "se-gone") || len(s.Events.Entries()) > 0 {
		t.Errorf("it is known, or told of: %v", s.Events.Entries())
	}
}

func TestDeletedEngineIsForgotten(t *testing.T) {
	s := fleettest.Empty(t)
	s.Connected("se-1", &enginev1.Hello{})
	// the model was made before the engine joined, so the engine stays
	s.Observe(reconcile.State{Model: &model.Model{}})
	if !isKnown(s, "se-1") || !s.IsConnected("se-1") {
		t.Fatal("an engine that has just joined is forgotten")
	}
	s.Deleted["se-1"] = true
	s.Observe(reconcile.State{Model: &model.Model{}})
	if isKnown(s, "se-1") || s.IsConnected("se-1") {
		t.Error("a deleted engine is remembered")
	}
}

func TestHelloOfADeletedEngineIsNotHeard(t *testing.T) {
	s := fleettest.Empty(t)
	s.Deleted["se-1"] = true
	s.Connected("se-1", &enginev1.Hello{Status: fleettest.Running}) // its session ends a moment later
	if isKnown(s, "se-1") || len(s.Events.Entries()) > 0 {
		t.Errorf("it is known, or told of: %v", s.Events.Entries())
	}
}

func isKnown(s *fleettest.Stage, engine string) (known bool) {
	s.Read(func(all *fleet.Known) { known = all.Engine(engine) != nil })
	return known
}

// verdict returns the last verdict of an engine about a server.
func verdict(s *fleettest.Stage, engine string, server fleet.ServerKey) (verdict *enginev1.ServerVerdict) {
	s.Read(func(all *fleet.Known) { verdict = all.Engine(engine).Verdict(server) })
	return verdict
}

func TestNewsIsWhatMayBeUpOrDownAndNothingElse(t *testing.T) {
	s := fleettest.New(t)
	isNews := func() bool { news := s.News(); return len(news.Services) > 0 && len(news.Pools) > 0 }
	plan := fleettest.PlanOf(13, "vs-1", "pool-1")
	for what, happens := range map[string]func(){
		"connected": func() { s.Connected("se-one", &enginev1.Hello{Status: fleettest.Running}) },
		"applied":   func() { s.Applied("se-one", plan, nil) },
		"status": func() {
			s.Status("se-one", &enginev1.Status{Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_STARTING})
		},
		"verdict":   func() { s.Judge("se-one", "10.0.0.1:80", true, "") },
		"routing":   func() { s.Routed("se-one", nil) },
		"plans":     func() { s.Want(12, "pool-1") },
		"suspected": func() { s.Suspected("se-one", "10.0.0.1:80", 1) },
		"gone":      func() { s.Disconnected("se-one", "gone") },
	} {
		s.Serve("se-one")
		s.Suspected("se-one", "10.0.0.1:80", 0)
		s.Want(11, "vs-1", "pool-1")
		s.News()
		if happens(); !isNews() {
			t.Errorf("%s is no news", what)
		}
	}
	s.Serve("se-one")
	s.Suspected("se-one", "10.0.0.1:80", 0)
	s.News()
	if s.Sampled("se-one", 1); isNews() {
		t.Error("a sample says nothing of it")
	}
	if s.Status("se-one", fleettest.Running); isNews() {
		t.Error("a heartbeat says nothing of it")
	}
	if s.Refused("se-one", s.State.Plans["se-one"], nil); isNews() {
		t.Error("who refuses a Plan serves what it served")
	}
}

func TestNewsOfOneVirtualServiceIsNoneOfAnother(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	s.News()
	state := s.State
	next := *state.Model
	other := &model.VirtualService{}
	other.UUID = "vs-2"
	next.VirtualServices = append(slices.Clone(next.VirtualServices), other)
	state.Model = &next
	s.Observe(state)
	if news := s.News(); len(news.Services) != 1 || news.Services[0].VirtualService != other || len(news.Pools) > 0 {
		t.Errorf("news is %+v", news)
	}
	before := *state.Model
	before.VirtualServices = before.VirtualServices[:1]
	state.Model = &before
	s.Observe(state)
	if news := s.News(); len(news.Services) > 0 || !slices.Equal(news.ServicesGone, []string{"vs-2"}) {
		t.Errorf("it is gone, and news is %+v", news)
	}
}

func TestNewsOfAnEngineIsOnlyOfWhatItHas(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	state := s.State
	next := *state.Model
	for i := range 3 { // virtual services without a pool, and a pool that nothing uses
		other := &model.VirtualService{}
		other.UUID = fmt.Sprint("vs-", 2+i)
		next.VirtualServices = append(slices.Clone(next.VirtualServices), other)
	}
	unused := &model.Pool{}
	unused.UUID = "pool-2"
	next.Pools, state.Model = append(slices.Clone(next.Pools), unused), &next
	s.Observe(state)
	s.News()
	for what, happens := range map[string]func(){
		"its routes":    func() { s.Routed("se-one", fleettest.Routing()) },
		"its suspicion": func() { s.Suspected("se-one", "10.0.0.1:80", 1) },
		"its end":       func() { s.Disconnected("se-one", "gone") },
	} {
		happens()
		if news := s.News(); len(news.Services) != 1 || len(news.Pools) != 1 {
			t.Errorf("%s: news is %+v", what, news)
		}
	}
	before := *state.Model
	before.Pools, state.Model = before.Pools[:1], &before
	s.Observe(state)
	if news := s.News(); len(news.Services) > 0 || !slices.Equal(news.PoolsGone, []string{"pool-2"}) {
		t.Errorf("a pool that nothing used is gone, and news is %+v", news)
	}
}

func TestPoolThatOnlyRulesChooseIsUsedAndNewsOfItIsNewsOfTheirVirtualService(t *testing.T) {
	s := fleettest.New(t)
	state := s.State
	next, ruled := *state.Model, *state.Model.VirtualServices[0]
	ruled.Pool, ruled.Policies = nil, []*model.HTTPPolicySet{{Pools: next.Pools}}
	next.VirtualServices = []*model.VirtualService{&ruled}
	state.Model = &next
	s.Observe(state)
	s.Serve("se-one")
	s.Judge("se-one", "10.0.0.1:80", true, "")
	s.News()
	s.Judge("se-one", "10.0.0.1:80", false, "refused")
	news := s.News()
	if len(news.Services) != 1 || len(news.Pools) != 1 {
		t.Fatalf("news is %+v", news)
	}
	if pool := news.Pools[0].Health; pool.State != health.Down {
		t.Errorf("the pool is %v", pool.Status)
	}
	if service := news.Services[0].Health; service.State != health.Up || len(service.Reasons) != 1 ||
		!strings.Contains(service.Reasons[0], "pool web-pool, which rules choose, is not up") {
		t.Errorf("the virtual service is %v", service)
	}
}
