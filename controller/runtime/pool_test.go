package runtime

import (
	"slices"
	"testing"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/slowness"
)

func TestServerIsUpIfOneEngineReachesItAndEachSaysWhatItSees(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one", "se-two")
	s.Judge("se-one", "10.0.0.1:80", false, "timed out")
	s.Judge("se-two", "10.0.0.1:80", true, "")
	servers := s.PoolServers("pool-1")
	s.Contains(servers[0]["oper_status"], "OPER_UP")
	s.Contains(servers[0]["engines"], "engine:one", "timed out", "engine:two")
	s.Contains(servers[1]["oper_status"], "OPER_INITIALIZING")
	s.Contains(s.Pool("pool-1"), "num_servers:2", "num_servers_up:1", "percent_servers_up_total:50")
}

func TestPoolIsUpWithAsManyServersAsEnginesServeWith(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one")
	s.WebPool.MinServersUp = 2
	s.Contains(s.Pool("pool-1")["oper_status"], "OPER_DOWN")
	s.Judge("se-one", "10.0.0.1:80", true, "")
	s.Contains(s.Pool("pool-1")["oper_status"], "OPER_UP")
}

func TestServersOfPoolWithoutMonitorCountAsUp(t *testing.T) {
	s := newStage(t)
	s.WebPool.HealthMonitors = nil
	s.Want(10, "vs-1", "pool-1")
	s.Contains(s.Pool("pool-1")["oper_status"], "OPER_UNUSED")
	s.Serve("se-one")
	s.Contains(s.Pool("pool-1"), "OPER_UP", "num_servers_up:2", "not monitored")
	s.WebPool.Members = slices.Clone(s.WebPool.Members)
	s.WebPool.Members[0].Enabled = false
	s.Want(11, "vs-1", "pool-1")
	s.Contains(s.Pool("pool-1"), "num_servers_up:1", "num_servers_enabled:1", "OPER_DISABLED")
}

func TestNewSessionForgetsWhatTheOldOneSaid(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one")
	s.Judge("se-one", "10.0.0.1:80", true, "")
	s.Connected("se-one", &enginev1.Hello{Status: fleettest.Running, Revision: 10})
	s.Contains(s.PoolServers("pool-1")[0]["oper_status"], "OPER_INITIALIZING")
}

func TestServerThatNeedsFarLongerThanTheOthersIsShownAsSlow(t *testing.T) {
	s := newStage(t)
	s.slow = func(pool string) []slowness.Server {
		return []slowness.Server{{ID: "10.0.0.2:80", Mean: 250 * time.Millisecond, Others: 977 * time.Microsecond,
			Share: 0.5, Since: fleettest.Clock}}
	}
	servers := s.PoolServers("pool-1")
	s.Contains(servers[1]["slow"], "app_response_mean_ms:250", "others_mean_ms:0.977", "percent_of_responses:50",
		"since:2026-11-20T12:00:00Z")
	if _, shown := servers[0]["slow"]; shown {
		t.Errorf("the fast one is slow: %v", servers[0])
	}
	s.Contains(s.VirtualService("vs-1")["slow_servers"], "server_id:10.0.0.2:80", "pool_ref:/api/pool/pool-1")
}
