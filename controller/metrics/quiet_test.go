package metrics

import (
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// nothing has an engine report that nothing has changed.
func (s *stage) nothing(engine string) {
	s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{Pid: 7, Workers: 2,
		UnixMs: uint64(s.Now.UnixMilli()), Changes: true}}})
}

func TestGaugesOfWhatIsQuietStayAsTheyAre(t *testing.T) {
	s := newStage(t)
	counters := requested(100)
	counters.OpenConnections = 8
	s.pass(1, func(int) {
		s.report("se-two", 7, counters, &dataplanev1.ServerCounters{PoolUuid: "pool-1",
			ServerId: "10.0.0.1:80", Up: true, OpenConnections: 3, ConnectionsTotal: 5})
	})
	s.pass(45, func(int) { s.nothing("se-two") }) // more than two samples of the tier of five minutes
	s.wantQuery(`weir_service_open_connections{uuid="vs-1"}`, 8)
	s.wantQuery(`weir_server_open_connections{uuid="pool-1",server="10.0.0.1:80"}`, 3)
	s.wantQuery(`weir_server_up{uuid="pool-1",server="10.0.0.1:80"}`, 1)
	s.wantQuery(`weir_service_requests_total{uuid="vs-1"}`, 100)
	if at := s.history.collector.groups["vs-1"].turn; at == 0 {
		t.Error("it is not known when the virtual service was read")
	}
}

func TestWhatBeginsToCountAfterALongTimeIsReadAgain(t *testing.T) {
	s := newStage(t)
	s.pass(1, func(int) {
		s.report("se-two", 7, &dataplanev1.VirtualServiceCounters{}, &dataplanev1.ServerCounters{
			PoolUuid: "pool-1", ServerId: "10.0.0.1:80", Up: true})
	})
	s.pass(4, func(int) { s.nothing("se-two") })
	if n := len(s.history.collector.blank); n != 2 { // the virtual service, and the pool
		t.Errorf("%d objects are known to have counted nothing", n)
	}
	s.pass(1, func(int) {
		s.report("se-two", 7, requested(30), &dataplanev1.ServerCounters{PoolUuid: "pool-1",
			ServerId: "10.0.0.1:80", Up: true, ConnectionsTotal: 5})
	})
	s.wantQuery(`weir_service_requests_total{uuid="vs-1"}`, 30)
	s.wantQuery(`weir_service_requests_total{uuid="vs-1"} offset 15s`, 0)
	s.wantQuery(`weir_server_connections_total{uuid="pool-1",server="10.0.0.1:80"}`, 5)
	if n := len(s.history.collector.blank); n != 0 {
		t.Errorf("%d objects are still known to have counted nothing", n)
	}
}
