package runtime

import (
	"testing"

	"github.com/weir-lb/weir/controller/autoscale"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
)

func TestPoolSaysHowItIsScaled(t *testing.T) {
	s := newStage(t)
	if _, shown := s.Pool("pool-1")["autoscale"]; shown {
		t.Error("a pool without a policy says how it is scaled")
	}
	order := &autoscale.Order{ID: "pool-1.in.1", Phase: autoscale.Draining, Why: "few connections", Count: 1,
		Servers: []string{"10.0.0.2:80"}, Begun: fleettest.Clock, Since: fleettest.Clock}
	s.scaled = func(string) *autoscale.Status {
		return &autoscale.Status{Policy: "policy-1", Reason: "it rests", Size: 2, Up: 1, Least: 1, Most: 4,
			Load: &autoscale.Load{Connections: 3, Capacity: 20}, In: order}
	}
	s.Contains(s.Pool("pool-1")["autoscale"], "policy_ref:/api/serverautoscalepolicy/policy-1", "reason:it rests",
		"size:2", "servers_up:1", "min_size:1", "max_size:4", "connections:3", "capacity:20", "phase:DRAINING",
		"servers:[10.0.0.2:80]", "since:2026-11-20T12:00:00Z")
}
