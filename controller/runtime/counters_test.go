package runtime

import (
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/schema"
)

func sampleOf(pid uint32, unixMs, requests, cpuUs uint64) *enginev1.Report {
	return &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
		Pid: pid, UnixMs: unixMs, CpuUserUs: cpuUs,
		VirtualServices: []*dataplanev1.VirtualServiceCounters{{
			Uuid: "vs-1", ConnectionsTotal: requests, RequestsTotal: requests, OpenConnections: 5,
			ResponsesTotal: []uint64{0, requests, 0, 0, 0},
			Errors:         []*dataplanev1.ErrorCounter{{Cause: "server_reset", Total: requests / 10}},
		}},
		Servers: []*dataplanev1.ServerCounters{
			{PoolUuid: "pool-1", ServerId: "10.0.0.1:80", ConnectionsTotal: requests, RequestsTotal: requests},
		},
	}}}
}

func TestCountersAddUpOverEnginesAndRatesComeFromTheLastTwoSamples(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one", "se-two")
	if _, counted := s.VirtualService("vs-1")["counters"]; counted {
		t.Error("counters before a sample")
	}
	s.Reported("se-one", sampleOf(7, 1000, 100, 0))
	s.Reported("se-one", sampleOf(7, 3000, 300, 1_000_000))
	s.Reported("se-two", sampleOf(8, 1000, 50, 0))
	counters := s.VirtualService("vs-1")["counters"]
	s.Contains(counters, "requests:350", "open_connections:10", "responses_2xx:350", "errors_server_reset:35")
	s.Contains(counters.(schema.Object)["per_second"], "requests:100", "errors_server_reset:10")
	s.Contains(s.PoolServers("pool-1")[0]["counters"], "requests:350")
	s.Contains(s.Engine("se-one")["dataplane"], "cpu_us:1000000", "cpu_percent:50")
	s.Contains(s.Engine("se-one")["counters"], "requests:300", "per_second")

	s.Reported("se-one", sampleOf(9, 4000, 10, 0)) // a new process starts at 0
	counters = s.VirtualService("vs-1")["counters"]
	s.Contains(counters, "requests:360") // and adds to what the other counted
	s.Contains(s.PoolServers("pool-1")[0]["counters"], "requests:360")
	if rates := counters.(schema.Object)["per_second"].(schema.Object); len(rates) != 0 {
		t.Errorf("rates over a restart: %v", rates)
	}
}

func TestANewProcessWithThePidOfTheOneBeforeIsANewProcess(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one")
	s.Reported("se-one", sampleOf(7, 1000, 100, 5_000_000))
	s.Reported("se-one", sampleOf(7, 2000, 150, 5_500_000))
	before := s.Usage()["se-one"].Process
	// a container that was restarted: it has had 170 requests, not 20
	s.Reported("se-one", sampleOf(7, 3000, 170, 1_000))
	s.Contains(s.VirtualService("vs-1")["counters"], "requests:320")
	if cpu, known := s.Engine("se-one")["dataplane"].(schema.Object)["cpu_percent"]; known {
		t.Errorf("it has one sample, and the CPU is %v %%", cpu)
	}
	if after := s.Usage()["se-one"].Process; after == before {
		t.Error("for placement it is the same process")
	}
	fewer := sampleOf(7, 4000, 180, 2_000)
	fewer.GetSample().VirtualServices[0].RequestsTotal = 5 // the virtual service left the engine, and came back
	s.Reported("se-one", fewer)
	s.Contains(s.VirtualService("vs-1")["counters"], "requests:325")
}

func TestTotalsNeverFallWhenAVirtualServiceLeavesAnEngineOrTheEngineIsDeleted(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one", "se-two")
	s.Reported("se-one", sampleOf(7, 1000, 100, 0))
	s.Reported("se-two", sampleOf(8, 1000, 50, 0))
	without := sampleOf(7, 2000, 0, 0)
	without.GetSample().VirtualServices, without.GetSample().Servers = nil, nil
	s.Reported("se-one", without)
	s.Contains(s.VirtualService("vs-1")["counters"], "requests:150", "open_connections:5")
	s.Contains(s.PoolServers("pool-1")[0]["counters"], "requests:150")
	s.Reported("se-one", sampleOf(7, 3000, 4, 0)) // the virtual service is back, and counts from zero
	s.Contains(s.VirtualService("vs-1")["counters"], "requests:154", "open_connections:10")
	s.Reported("se-one", sampleOf(7, 4000, 1, 0)) // and again, between two samples
	s.Contains(s.VirtualService("vs-1")["counters"], "requests:155", "open_connections:10")

	s.Deleted["se-one"] = true
	left := s.State
	left.Plans = map[string]*enginev1.Plan{"se-two": s.State.Plans["se-two"]}
	s.Observe(left)
	s.Contains(s.VirtualService("vs-1")["counters"], "requests:155", "open_connections:5")
	s.Contains(s.PoolServers("pool-1")[0]["counters"], "requests:155")
}

func TestWhatEnginesCountedForAVirtualServiceIsForgottenWithIt(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one")
	s.Reported("se-one", sampleOf(7, 1000, 100, 0))
	s.Reported("se-one", sampleOf(8, 2000, 10, 0)) // of a new process
	s.Contains(s.VirtualService("vs-1")["counters"], "requests:110")
	members := s.WebPool.Members
	s.WebPool.Members, s.VS.UUID = nil, "vs-2"
	s.Want(11, "vs-2")
	s.WebPool.Members, s.VS.UUID = members, "vs-1"
	s.Want(12, "vs-1")
	s.Contains(s.VirtualService("vs-1")["counters"], "requests:10 ")
	s.Contains(s.PoolServers("pool-1")[0]["counters"], "requests:10 ")
}

func TestRatesAndOpenConnectionsOfAnEngineThatDiedAreGoneAndItsTotalsStay(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one", "se-two")
	for i, engine := range []string{"se-one", "se-two"} {
		s.Reported(engine, sampleOf(uint32(i), 1000, 100, 0))
		s.Reported(engine, sampleOf(uint32(i), 2000, 150, 100))
	}
	s.Contains(s.VirtualService("vs-1")["counters"], "open_connections:10", "requests:300")
	s.Contains(s.VirtualService("vs-1")["counters"].(schema.Object)["per_second"], "requests:100")
	s.Disconnected("se-one", "gone")
	s.Contains(s.VirtualService("vs-1")["counters"], "requests:300", "open_connections:5")
	s.Contains(s.VirtualService("vs-1")["counters"].(schema.Object)["per_second"], "requests:50")
	if _, known := s.Engine("se-one")["dataplane"].(schema.Object)["cpu_percent"]; known {
		t.Error("it uses no CPU time any more")
	}
}
