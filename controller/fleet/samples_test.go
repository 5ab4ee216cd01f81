package fleet_test

import (
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
)

func TestASampleOfChangesLeavesOtherRowsAsTheyWere(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	one, two := fleet.ServerKey{Pool: "pool-1", Server: "10.0.0.1:80"}, fleet.ServerKey{Pool: "pool-1",
		Server: "10.0.0.2:80"}
	row := func(uuid string, requests uint64) *dataplanev1.VirtualServiceCounters {
		return &dataplanev1.VirtualServiceCounters{Uuid: uuid, RequestsTotal: requests}
	}
	server := func(key fleet.ServerKey, requests uint64) *dataplanev1.ServerCounters {
		return &dataplanev1.ServerCounters{PoolUuid: key.Pool, ServerId: key.Server, RequestsTotal: requests}
	}
	report := func(sample *dataplanev1.Sample) {
		s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Sample{Sample: sample}})
	}
	want := func(when string, services map[string]int64, servers map[fleet.ServerKey]int64) {
		t.Helper()
		s.Read(func(known *fleet.Known) {
			for uuid, requests := range services {
				if got := known.CountedOfService(uuid)["requests"]; got != requests {
					t.Errorf("%s: %s has %d requests, want %d", when, uuid, got, requests)
				}
			}
			for key, requests := range servers {
				if got := known.CountedOfServer(key)["requests"]; got != requests {
					t.Errorf("%s: %v has %d requests, want %d", when, key, got, requests)
				}
			}
		})
	}
	report(&dataplanev1.Sample{VirtualServices: []*dataplanev1.VirtualServiceCounters{row("vs-0", 1), row("vs-1", 2)},
		Servers: []*dataplanev1.ServerCounters{server(one, 3)}})
	report(&dataplanev1.Sample{Changes: true, VirtualServices: []*dataplanev1.VirtualServiceCounters{row("vs-1", 5)}})
	want("a row has changed", map[string]int64{"vs-0": 1, "vs-1": 5}, map[fleet.ServerKey]int64{one: 3})
	report(&dataplanev1.Sample{Changes: true, Servers: []*dataplanev1.ServerCounters{server(two, 7)}})
	want("a row is new", map[string]int64{"vs-0": 1, "vs-1": 5}, map[fleet.ServerKey]int64{one: 3, two: 7})
	report(&dataplanev1.Sample{Changes: true, Servers: []*dataplanev1.ServerCounters{server(one, 4)}})
	want("a row has changed after that", map[string]int64{"vs-1": 5}, map[fleet.ServerKey]int64{one: 4, two: 7})
	report(&dataplanev1.Sample{VirtualServices: []*dataplanev1.VirtualServiceCounters{row("vs-1", 6)}})
	s.Read(func(known *fleet.Known) {
		if known.Engine("se-one").Sample.Service("vs-0") != nil {
			t.Error("a whole sample leaves a row that is gone")
		}
	})
}

func TestTheTurnOfAnObjectChangesOnlyWithItsRows(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	turns := func() (service, pool fleet.Turn) {
		s.Read(func(known *fleet.Known) { service, pool = known.ServiceTurn("vs-1"), known.PoolTurn("pool-1") })
		return service, pool
	}
	report := func(sample *dataplanev1.Sample) {
		sample.Changes = sample.Pid == 0
		sample.Pid = 7
		s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Sample{Sample: sample}})
	}
	if service, pool := turns(); service != 0 || pool != 0 {
		t.Fatalf("nothing is counted yet: turns %d and %d", service, pool)
	}
	vs := []*dataplanev1.VirtualServiceCounters{{Uuid: "vs-1"}}
	report(&dataplanev1.Sample{Pid: 7, VirtualServices: vs, Servers: []*dataplanev1.ServerCounters{
		{PoolUuid: "pool-1", ServerId: "10.0.0.1:80"}}})
	for _, step := range []struct {
		what                  string
		do                    func()
		serviceTurns, poolsDo bool
	}{
		{"nothing changed", func() { report(&dataplanev1.Sample{}) }, false, false},
		{"another one counted", func() {
			report(&dataplanev1.Sample{VirtualServices: []*dataplanev1.VirtualServiceCounters{{Uuid: "vs-2"}}})
		}, true, true}, // rows moved
		{"the virtual service counted", func() {
			report(&dataplanev1.Sample{VirtualServices: []*dataplanev1.VirtualServiceCounters{
				{Uuid: "vs-1", RequestsTotal: 1}}})
		}, true, false},
		{"a server counted", func() {
			report(&dataplanev1.Sample{Servers: []*dataplanev1.ServerCounters{
				{PoolUuid: "pool-1", ServerId: "10.0.0.1:80", RequestsTotal: 1}}})
		}, false, true},
		{"the engine is gone", func() { s.Disconnected("se-one", "it burns") }, true, true},
		{"all is told again", func() { report(&dataplanev1.Sample{Pid: 7, VirtualServices: vs}) }, true, true},
	} {
		service, pool := turns()
		step.do()
		nextService, nextPool := turns()
		if (service != nextService) != step.serviceTurns || (pool != nextPool) != step.poolsDo {
			t.Errorf("%s: turns %d, %d became %d, %d", step.what, service, pool, nextService, nextPool)
		}
	}
}
