package route

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/api"

	"github.com/weir-lb/weir/agent/plan"
)

// agentOf is one agent of an engine whose data plane outlives it.
type agentOf struct {
	*world
	end func()
}

func startAgent(t *testing.T, r *router, before *plan.Plan, resume time.Duration) agentOf {
	w := newWorld(Config{Keep: true, Plan: before})
	w.settle, w.resume, w.speaker.port = 10*time.Millisecond, resume, r.port
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
			a.Sampled(nil)
			<-beats.C
		}
	}()
}

// spokenAt is a Plan with a virtual service and a router to tell of it.
func spokenAt(r *router) *plan.Plan {
	plan := planOf(service{uuid: "web", addresses: []string{"192.0.2.1"}})
	plan.Router = routerWith(65000, peerAt(r.address, 65000, 65000))
	return plan
}

func isUp(report *Routing) bool { return slices.ContainsFunc(report.Peers, established) }

func TestSpeaksToRoutersOnlyWhenItKnowsWhatTheDataPlaneServes(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	plan := spokenAt(r)
	agent := startAgent(t, r, plan, time.Hour)
	agent.serves(plan)
	if report := next(t, agent.reports, announcing("192.0.2.1/32")); len(report.Peers) != 0 {
		t.Errorf("before that it spoke: %v", report)
	}
	agent.livesOn(t)
	r.hears(t, "192.0.2.1/32")
}

func TestSpeaksAtOnceForADataPlaneThatIsGone(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	plan := spokenAt(r)
	agent := startAgent(t, r, plan, time.Hour)
	agent.Prepare(plan)
	agent.Status(Away)
	next(t, agent.reports, isUp)
}

func TestTakesItsRoutesBackWhereRoutersWouldNotKeepThem(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	plan := spokenAt(r)
	agent := startAgent(t, r, nil, 0)
	agent.serves(plan)
	r.hears(t, "192.0.2.1/32")
	next(t, agent.reports, isUp)
	agent.Leave()
	r.hearsNoMore(t, "192.0.2.1/32")
	next(t, agent.reports, func(report *Routing) bool { return isUp(report) && announcing()(report) })
}

func TestRoutersAreNotSpokenToForLongWhenTheDataPlaneSaysNothing(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	plan := spokenAt(r)
	agent := startAgent(t, r, plan, beat/10)
	agent.Prepare(plan)
	next(t, agent.reports, isUp)
}

func TestRoutersKeepRoutesForTheTimeThatADataPlaneMayTakeToAnswer(t *testing.T) {
	if w := newWorld(Config{}); w.resume < restartTime/2 || w.resume > restartTime-connectTime {
		t.Errorf("waits %v", w.resume)
	}
}

func TestRoutersKeepTheRoutesOfAnAgentThatEndsAndDropThemWithTheDataPlane(t *testing.T) {
	for name, c := range map[string]struct {
		dataplane Dataplane
		want      api.PeerState_DisconnectReason
	}{
		"it serves":     {Serves, api.PeerState_DISCONNECT_REASON_GRACEFUL_RESTART},
		"it ends first": {Away, api.PeerState_DISCONNECT_REASON_NOTIFICATION_RECEIVED},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRouter(t, "127.0.0.2", 65000, 65000, "")
			r.keepRoutes(t)
			plan := spokenAt(r)
			// the library that is the router watches routes not quite safely that it keeps
			plan.Router.Peers[0].AdvertisesVIPs = false
			agent := startAgent(t, r, nil, 0)
			agent.serves(plan)
			next(t, agent.reports, func(report *Routing) bool {
				return isUp(report) && announcing("192.0.2.1/32")(report)
			})
			agent.Leave()
			agent.Status(c.dataplane)
			agent.end()
			if got := r.untilEnded(t); got != c.want {
				t.Errorf("the session ended by %v", got)
			}
		})
	}
}

func TestRoutersAreGivenTheTimeToHearWhatTheyKeep(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	r.keepRoutes(t)
	plan := spokenAt(r)
	plan.Router.Peers[0].AdvertisesVIPs = false // see above
	agent := startAgent(t, r, plan, time.Hour)
	agent.serves(plan)
	agent.livesOn(t)
	stands := next(t, agent.reports, isUp).Peers[0].SinceUnixMs
	if agent.Leave(); time.Since(time.UnixMilli(int64(stands))) < deferralS*time.Second {
		t.Error("leaves before the routes were told, and routers drop them with the second session that ends")
	}
	agent.end()
	if got := r.untilEnded(t); got != api.PeerState_DISCONNECT_REASON_GRACEFUL_RESTART {
		t.Errorf("the session ended by %v", got)
	}
}

func TestAgentWithoutAPredecessorRestartsNothing(t *testing.T) {
	for _, config := range []Config{{Keep: true}, {Plan: planOf()}} {
		if w := newWorld(config); w.speaker.follows {
			t.Errorf("goes on with sessions of strangers: %+v", config)
		}
	}
}

func TestRouterThatOnlyHelpsIsKnownWithoutARestartTime(t *testing.T) {
	if !helps(
		&api.Capability{Cap: &api.Capability_GracefulRestart{GracefulRestart: &api.GracefulRestartCapability{}}}) ||
		helps(new(api.Capability)) {
		t.Error("goes by the restart time of the router")
	}
}
