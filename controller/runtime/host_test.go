package runtime

import (
	"testing"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/schema"
)

func hostSample(unixMs, busyUs, totalUs, received uint64) *enginev1.Report {
	return &enginev1.Report{Body: &enginev1.Report_Host{Host: &enginev1.HostSample{
		UnixMs: unixMs, CpuBusyUs: busyUs, CpuTotalUs: totalUs, MemoryBytes: 4 << 30, MemoryAvailableBytes: 1 << 30,
		DiskBytes: 100, DiskFreeBytes: 40, AgentRssBytes: 5 << 20,
		Interfaces: []*enginev1.NetworkInterface{{Name: "eth0", RxBytesTotal: received, TxPacketsTotal: 7}},
	}}}
}

func TestMachineOfAnEngineIsShownWithRatesOfTheLastTwoSamples(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one")
	if _, shown := s.Engine("se-one")["host"]; shown {
		t.Error("a host before a sample")
	}
	s.Reported("se-one", hostSample(10_000, 1_000_000, 4_000_000, 1000))
	if _, known := s.Engine("se-one")["host"].(schema.Object)["cpu_percent"]; known {
		t.Error("a share of CPU after one sample")
	}
	s.Reported("se-one", hostSample(15_000, 3_500_000, 14_000_000, 6000))
	host := s.Engine("se-one")["host"]
	s.Contains(host, "cpu_percent:25", "memory_available_bytes:1073741824", "disk_free_bytes:40", "name:eth0",
		"received_bytes:1000", "sent_packets:0")

	s.Reported("se-one", hostSample(20_000, 100, 400, 10)) // the machine was started again
	host = s.Engine("se-one")["host"]
	if _, known := host.(schema.Object)["cpu_percent"]; known {
		t.Errorf("%v", host)
	}
	rates := host.(schema.Object)["interfaces"].([]any)[0].(schema.Object)["per_second"].(schema.Object)
	if _, known := rates["received_bytes"]; known {
		t.Errorf("a rate over a restart: %v", rates)
	}
}

func TestChecksOfAServerTakeTheMeanOverTheEngines(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one", "se-two")
	for engine, us := range map[string]uint32{"se-one": 1000, "se-two": 4000} {
		s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Verdicts{Verdicts: &enginev1.ServerVerdicts{
			Verdicts: []*enginev1.ServerVerdict{{PoolUuid: "pool-1", ServerId: "10.0.0.1:80", Up: true}}}}})
		s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Host{Host: &enginev1.HostSample{
			CheckTimes: []*enginev1.CheckTime{{PoolUuid: "pool-1", ServerId: "10.0.0.1:80", TookUs: us},
				{PoolUuid: "pool-1", ServerId: "10.0.0.2:80", TookUs: 7},
				{PoolUuid: "other", ServerId: "x", TookUs: 7}}}}})
	}
	servers := s.PoolServers("pool-1")
	s.Contains(servers[0], "check_ms:2.5")
	if took, known := servers[1]["check_ms"]; known {
		t.Errorf("a server without a verdict has %v", took)
	}
}
