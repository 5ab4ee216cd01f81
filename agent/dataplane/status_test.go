package dataplane

import (
	"maps"
	"testing"

	"github.com/weir-lb/weir/agent/plan"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

func TestSampleShowsWhichServersAreUpAndWhetherThereAreClients(t *testing.T) {
	said := &dataplanev1.Sample{
		Servers: []*dataplanev1.ServerCounters{{PoolUuid: "p", ServerId: "a", Up: true},
			{PoolUuid: "p", ServerId: "b"}},
		VirtualServices: []*dataplanev1.VirtualServiceCounters{{Uuid: "busy", OpenConnections: 1}, {Uuid: "idle"}},
	}
	sample := sampleOf(said)
	want := map[plan.Member]bool{{Pool: "p", Server: "a"}: true, {Pool: "p", Server: "b"}: false}
	if !maps.Equal(sample.Up, want) || !sample.Clients || sample.Wire != said {
		t.Errorf("got %+v", sample)
	}
	said.VirtualServices[0].OpenConnections = 0
	if sampleOf(said).Clients {
		t.Error("sees clients where there are none")
	}
}
