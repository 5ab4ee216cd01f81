package fleet_test

import (
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
)

func TestWorkersHaveTheRatesOfTheLastTwoSamples(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	sample := func(pid uint32, unixMs uint64) {
		s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
			Pid: pid, UnixMs: unixMs, CpuUserUs: unixMs,
			WorkerCounters: []*dataplanev1.WorkerCounters{
				{Worker: 0, CpuUs: 900 * unixMs, BatchesTotal: 3 * unixMs, EventsTotal: 7 * unixMs, OpenConnections: 4},
				{Worker: 1, CpuUs: 50 * unixMs},
			},
		}}})
	}
	workers := func() (workers []fleet.Worker) {
		s.Read(func(known *fleet.Known) { workers = known.Engine("se-one").Workers() })
		return workers
	}
	if got := workers(); got != nil {
		t.Errorf("before a sample: %v", got)
	}
	sample(7, 1000)
	if got := workers(); len(got) != 2 || got[0].PerSecond != nil || got[0].GetOpenConnections() != 4 {
		t.Errorf("after one sample: %v", got)
	}
	sample(7, 3000)
	got := workers()
	if want := (fleet.WorkerRates{CPUPercent: 90, Batches: 3000, Events: 7000}); *got[0].PerSecond != want {
		t.Errorf("worker 0: %v, want %v", *got[0].PerSecond, want)
	}
	if want := (fleet.WorkerRates{CPUPercent: 5}); *got[1].PerSecond != want {
		t.Errorf("worker 1: %v, want %v", *got[1].PerSecond, want)
	}
	sample(9, 4000)
	if got := workers(); got[0].PerSecond != nil {
		t.Errorf("the next process has %v", *got[0].PerSecond)
	}
	s.Disconnected("se-one", "gone")
	if got := workers(); got != nil {
		t.Errorf("the engine is away: %v", got)
	}
}
