package route

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/server"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// agentOf is one agent of an engine whose data plane outlives it.
type agentOf struct {
	*world
	end func()
}

func startAgent(t *testing.T, r *router, keeps bool, before *enginev1.Plan) agentOf {
	w := newWorld(Config{Keep: keeps, Plan: before})
	w.settle, w.speaker.port = 10*time.Millisecond, r.port
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		w.Run(ctx)
		close(done)
	}()
	end := func() {
		cancel()
		<-done
	}
	t.Cleanup(end)
	return agentOf{w, end}
}

// livesOn gives the signs of life of a data plane.
func (a agentOf) livesOn(t *testing.T) {
	go func() {
		beats := time.NewTicker(beat / 4)
		defer beats.Stop()
		for t.Context().Err() == nil {
			a.Sampled(&dataplanev1.Sample{})
			<-beats.C
		}
	}()
}

// spokenAt is a Plan with a virtual service and a router to tell of it.
func spokenAt(r *router) *enginev1.Plan {
	plan := planOf(service{uuid: "web", addresses: []string{"192.0.2.1"}})
	speaking := routerWith(65000, peerAt(r.address, 65000, 65000))
	plan.Resources = append(plan.Resources, &enginev1.Resource{Uuid: "router", Body: &enginev1.Resource_BgpRouter{BgpRouter: speaking}})
	return plan
}

func isUp(report *enginev1.Routing) bool { return slices.ContainsFunc(report.GetPeers(), established) }

// holds tells whether the router sends clients to a prefix.
func (r *router) holds(t *testing.T, prefix string) (held bool) {
	t.Helper()
	must(t, r.ListPath(apiutil.ListPathRequest{TableType: api.TableType_TABLE_TYPE_GLOBAL, Family: bgp.RF_IPv4_UC},
		func(found bgp.NLRI, paths []*apiutil.Path) { held = held || found.String() == prefix && len(paths) > 0 }))
	return held
}

// drops counts how often the router lost a route.
func (r *router) drops(t *testing.T) *atomic.Int32 {
	t.Helper()
	var count atomic.Int32
	must(t, r.WatchEvent(t.Context(), server.WatchEventMessageCallbacks{OnBestPath: func(paths []*apiutil.Path, _ time.Time) {
		for _, path := range paths {
			if path.Withdrawal {
				count.Add(1)
			}
		}
	}}, server.WatchBestPath(false)))
	return &count
}

func TestRouterKeepsTheRoutesOfAnAgentThatIsReplacedUntilTheNextSaysOtherwise(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	plan := spokenAt(r)
	first := startAgent(t, r, true, nil)
	first.serves(plan)
	r.hears(t, "192.0.2.1/32")
	next(t, first.reports, isUp)
	drops := r.drops(t)
	first.Leave()
	first.end()

	second := startAgent(t, r, true, plan)
	second.serves(plan)
	if report := next(t, second.reports, announcing("192.0.2.1/32")); len(report.GetPeers()) != 0 || !r.holds(t, "192.0.2.1/32") {
		t.Errorf("before it was known what the data plane serves, there was %v", report)
	}
	second.livesOn(t)
	r.hears(t, "192.0.2.1/32")
	next(t, second.reports, isUp)
	if drops.Load() != 0 || !r.holds(t, "192.0.2.1/32") {
		t.Errorf("the router lost routes %d times", drops.Load())
	}
	second.Leave()
	second.end()
	if !r.holds(t, "192.0.2.1/32") {
		t.Error("the router did not keep the route")
	}

	third := startAgent(t, r, true, plan)
	third.Status(&enginev1.Status{Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_STARTING})
	third.Prepare(plan)
	next(t, third.reports, isUp)
	for limit := time.Now().Add(patience); r.holds(t, "192.0.2.1/32"); {
		if time.Now().After(limit) {
			t.Fatal("the router keeps the route of a data plane that is gone")
		}
	}
}

func TestAgentThatIsNotReplacedTakesItsRoutesBack(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	agent := startAgent(t, r, false, nil)
	agent.serves(spokenAt(r))
	r.hears(t, "192.0.2.1/32")
	next(t, agent.reports, isUp)
	agent.Leave()
	agent.end()
	r.hearsNoMore(t, "192.0.2.1/32")
	if r.holds(t, "192.0.2.1/32") {
		t.Error("the router keeps it")
	}
}

func TestRoutersAreNotSpokenToForLongWhenTheDataPlaneSaysNothing(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	plan := spokenAt(r)
	agent := startAgent(t, r, true, plan)
	agent.Prepare(plan)
	next(t, agent.reports, isUp)
}
