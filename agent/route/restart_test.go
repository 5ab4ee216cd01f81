package route

import (
	"context"
	"slices"
	"testing"
	"time"

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

func TestSpeaksToRoutersOnlyWhenItKnowsWhatTheDataPlaneServes(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	plan := spokenAt(r)
	agent := startAgent(t, r, true, plan)
	agent.serves(plan)
	if report := next(t, agent.reports, announcing("192.0.2.1/32")); len(report.GetPeers()) != 0 {
		t.Errorf("before that it spoke: %v", report)
	}
	agent.livesOn(t)
	r.hears(t, "192.0.2.1/32")
}

func TestSpeaksAtOnceForADataPlaneThatIsGone(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	plan := spokenAt(r)
	agent := startAgent(t, r, true, plan)
	agent.Prepare(plan)
	agent.Status(&enginev1.Status{Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_STARTING})
	next(t, agent.reports, isUp)
}

func TestTakesItsRoutesBackWhereRoutersWouldNotKeepThem(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	plan := spokenAt(r)
	agent := startAgent(t, r, true, nil)
	agent.serves(plan)
	r.hears(t, "192.0.2.1/32")
	next(t, agent.reports, isUp)
	agent.Leave()
	r.hearsNoMore(t, "192.0.2.1/32")
	next(t, agent.reports, func(report *enginev1.Routing) bool { return isUp(report) && announcing()(report) })
}

func TestRoutersAreNotSpokenToForLongWhenTheDataPlaneSaysNothing(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	plan := spokenAt(r)
	agent := startAgent(t, r, true, plan)
	agent.Prepare(plan)
	next(t, agent.reports, isUp)
}
