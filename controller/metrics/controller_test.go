package metrics

import (
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/host"
)

func TestTheControllerHasTheIDsOfAvi(t *testing.T) {
	s := newStage(t)
	read := uint64(0)
	s.history.collector.config.Machine = func() host.Counts {
		read++
		return host.Counts{CPUBusyUs: 1e12 + 10e6*read, CPUTotalUs: 9e12 + 40e6*read, OwnCPUUs: 1e6 * read,
			OwnRSSBytes: 1 << 20, MemoryBytes: 100, MemoryAvailableBytes: 70, DiskBytes: 50, DiskFreeBytes: 45}
	}
	s.Serve("se-one")
	s.pass(4, nil)
	for id, want := range map[string]float64{
		"controller_stats.avg_cpu_usage": 25, "controller_stats.avg_mem_usage": 30,
		"controller_stats.avg_disk_usage": 10, "controller_stats.avg_num_backend_servers": 2,
		"controller_stats.avg_num_ses": 2, "controller_stats.avg_num_virtualservices": 1,
		"controller_stats.avg_num_active_vs": 1, "weir.avg_process_cpu_usage": 20, "weir.avg_process_mem": 1 << 20,
	} {
		answers, err := s.history.Ask(s.Context(), []series.Question{{Metric: id, Kind: series.Controller,
			UUIDs: []string{series.ControllerUUID}, Tenant: adminTenant, Step: 15 * time.Second,
			Start: s.Now, Stop: s.Now}})
		if err != nil || len(answers[0].Series) != 1 {
			t.Fatalf("%s: %v, %v", id, answers, err)
		}
		if got := answers[0].Series[0].Points[0].Value; got < want-1e-6 || got > want+1e-6 {
			t.Errorf("%s is %v, want %v", id, got, want)
		}
	}
}
