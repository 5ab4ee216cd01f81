package metrics

import (
	"fmt"
	"math"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/series"
)

// answers has both engines count 90 answers of the first server in 10 ms, and 10 of the second in 400 ms, in each turn.
func (s *stage) answers(n int) {
	k := uint32(n)
	of := func(id string, each uint32, ms float64) *dataplanev1.ServerCounters {
		return &dataplanev1.ServerCounters{PoolUuid: "pool-1", ServerId: id, RequestsTotal: uint64(each * k),
			ResponsesTotal: []uint64{0, uint64(each * k)}, AppResponse: timesAt(2, map[float64]uint32{ms: each * k})}
	}
	for _, engine := range []string{"se-one", "se-two"} {
		s.report(engine, 7, requested(0), of("10.0.0.1:80", 90, 10), of("10.0.0.2:80", 10, 400))
	}
}

// wantMs asks for a metric of the pool, or of one of its servers. A bucket of servers is 41 % wide.
func (s *stage) wantMs(metric, server string, want float64) {
	s.Helper()
	answers, err := s.history.Ask(s.Context(), []series.Question{{Metric: metric, Kind: series.Pool,
		UUIDs: []string{"pool-1"}, Server: server, Step: time.Minute, Start: s.Now, Stop: s.Now}})
	s.must(err)
	if len(answers[0].Series) != 1 || answers[0].Series[0].Points[0].Null {
		s.Errorf("%s of %q is not known: %v", metric, server, answers)
	} else if got := answers[0].Series[0].Points[0].Value; got < want/math.Sqrt2 || got > want*math.Sqrt2 {
		s.Errorf("%s of %q is %v, want %v", metric, server, got, want)
	}
}

func TestPoolsAndServersHavePercentilesInHistory(t *testing.T) {
	s := newStage(t)
	s.pass(30, s.answers)
	for server, want := range map[string][3]float64{
		"": {10, 400, 400}, "10.0.0.1:80": {10, 10, 10}, "10.0.0.2:80": {400, 400, 400},
	} {
		for i, metric := range []string{"weir.p50_app_response_time", "weir.p95_app_response_time",
			"weir.p99_app_response_time"} {
			s.wantMs(metric, server, want[i])
		}
	}
}

func TestServersOfALargePoolHavePercentilesAndSatisfactionTogether(t *testing.T) {
	s := newStage(t)
	for n := range serversMax {
		s.WebPool.Members = append(s.WebPool.Members, fleettest.Member(fmt.Sprintf("10.0.1.%d", n)))
	}
	s.Want(12, "vs-1", "pool-1")
	s.pass(30, s.answers)
	s.wantMs("weir.p50_app_response_time", "", 10)
	s.wantMs("weir.p95_app_response_time", "", 400)
	s.wantMs("l7_server.avg_application_response_time", "", 49)
	s.wantMs("l7_server.apdexr", "", 100)
	s.wantQuery(`histogram_count(increase(weir_server_app_response_seconds{server="*"}[5m]))`, 4000)
	s.wantQuery(`weir_server_requests_total{server="*"}`, 29*200)
}
