package metrics

import (
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/series"
)

func (s *stage) hostReport(engine string, busyUs, totalUs, received uint64) {
	s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Host{Host: &enginev1.HostSample{
		UnixMs: uint64(s.Now.UnixMilli()), CpuBusyUs: busyUs, CpuTotalUs: totalUs, DiskBytes: 100, DiskFreeBytes: 30,
		Interfaces: []*enginev1.NetworkInterface{{Name: "eth0", RxBytesTotal: received},
			{Name: "eth1", TxBytesTotal: 5}},
		TcpSentSegmentsTotal: 400 + received, TcpRetransmittedSegmentsTotal: received / 50,
	}}})
}

func (s *stage) ofEngine(metric string) *float64 {
	s.Helper()
	answers, err := s.history.Ask(s.Context(), []series.Question{{Metric: metric, Kind: series.Engine,
		UUIDs: []string{"se-two"}, Step: 15 * time.Second, Start: s.Now, Stop: s.Now}})
	if err != nil || len(answers[0].Series) != 1 || answers[0].Series[0].Points[0].Null {
		s.Fatalf("%s: %v, %v", metric, answers, err)
	}
	return &answers[0].Series[0].Points[0].Value
}

func TestMachinesOfEnginesHaveTheIDsOfAvi(t *testing.T) {
	s := newStage(t)
	s.pass(4, func(n int) {
		k := uint64(n)
		s.report("se-two", 7, requested(10*k))
		sample := &dataplanev1.Sample{Pid: 7, UnixMs: uint64(s.Now.UnixMilli()), Workers: 1,
			WorkerCounters: []*dataplanev1.WorkerCounters{
				{BatchesTotal: 1000 * k, ReadyTicksTotal: 1 << 20 * k / 1000 * 500, LongestTicks: 1 << 20 / 50}}}
		s.Reported("se-two", &enginev1.Report{Body: &enginev1.Report_Sample{Sample: sample}})
		s.hostReport("se-two", 1e9+6e6*k, 5e9+30e6*k, 1e12+3000*k)
	})
	for id, want := range map[string]float64{
		"se_if.avg_rx_bytes": 200, "se_if.avg_tx_bytes": 0, "se_if.avg_bandwidth": 1600, "se_stats.avg_disk1_usage": 70,
		"weir.avg_host_cpu_usage": 20, "se_stats.avg_ingress_latency": 0.5, "se_stats.avg_worst_ingress_latency": 20,
		"weir.pct_tcp_retransmits": 2,
	} {
		if got := *s.ofEngine(id); got < want-0.01 || got > want+0.01 {
			t.Errorf("%s is %v, want %v", id, got, want)
		}
	}
}

func TestAMachineThatStartsAgainMakesNoPeakAndNoLoss(t *testing.T) {
	s := newStage(t)
	received := []uint64{5000, 8000, 600, 900}
	s.pass(4, func(n int) { s.report("se-two", 7, requested(uint64(n))); s.hostReport("se-two", 0, 0, received[n]) })
	s.wantQuery(`weir_engine_interface_received_bytes_total{interface="eth0"}`, 3000+600+300)
}
