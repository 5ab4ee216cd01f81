package metrics

import (
	"math"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/series"
)

// timesAt is a histogram with counts of times of about these milliseconds.
func timesAt(octave int, counts map[float64]uint32) *dataplanev1.Histogram {
	h := &dataplanev1.Histogram{Counts: make([]uint32, 26*octave+2)}
	for ms, count := range counts {
		ticks := ms / 1000 * (1 << 20)
		h.Counts[int(math.Ceil(math.Log2(ticks)*float64(octave)))] += count
		h.SumTicks += uint64(ticks) * uint64(count)
	}
	return h
}

func (s *stage) ofPool(metric string) *float64 {
	s.Helper()
	answers, err := s.history.Ask(s.Context(), []series.Question{{Metric: metric, Kind: series.Pool,
		UUIDs: []string{"pool-1"}, Step: 15 * time.Second, Start: s.Now, Stop: s.Now}})
	if err != nil || len(answers[0].Series) != 1 || answers[0].Series[0].Points[0].Null {
		s.Fatalf("%s: %v, %v", metric, answers, err)
	}
	return &answers[0].Series[0].Points[0].Value
}

// Of 100 responses in each collection, 10 fail. 60 are quick, 20 are tolerated and 20 are slow: (1 - 0.1) x 0.7.
func TestSatisfactionFollowsFromHistogramsAndFailures(t *testing.T) {
	s := newStage(t)
	s.pass(5, func(n int) {
		k := uint32(n)
		counters := requested(0)
		counters.RequestsTotal, counters.ConnectionsTotal = 100*uint64(n), 40*uint64(n)
		counters.ResponsesTotal = []uint64{7 * uint64(n), 80 * uint64(n), 0, 10 * uint64(n), 10 * uint64(n)}
		counters.Errors = []*dataplanev1.ErrorCounter{{Cause: "client_aborted", Total: 4 * uint64(n)}}
		counters.Times = &dataplanev1.Times{Total: timesAt(8,
			map[float64]uint32{20: 60 * k, 900: 20 * k, 5000: 20 * k})}
		counters.ClientRtt = timesAt(8, map[float64]uint32{30: 3 * k, 500: k})
		s.report("se-two", 7, counters, &dataplanev1.ServerCounters{PoolUuid: "pool-1", ServerId: "10.0.0.1:80",
			RequestsTotal: 50 * uint64(n), ConnectionsTotal: 10 * uint64(n), FailuresTotal: 5 * uint64(n),
			ResponsesTotal: []uint64{0, 40 * uint64(n), 0, 0, 5 * uint64(n)}, ConnectTicksTotal: 10 * uint64(n) << 10,
			AppResponse: timesAt(2, map[float64]uint32{10: 25 * k, 10_000: 25 * k})})
	})
	for id, want := range map[string]float64{
		"l7_client.apdexr": 63, "l4_client.apdexc": 100 * 0.9 * (3 + 0.5) / 4,
		"l7_client.avg_client_rtt": 147.5, "l4_client.avg_total_rtt": 147.5,
	} {
		points := s.points(id, 15*time.Second, 2)
		if points[1] == nil || math.Abs(*points[1]-want) > 0.01*want {
			t.Errorf("%s is %v, want %v", id, points[1], want)
		}
	}
	for id, want := range map[string]float64{
		"l7_server.apdexr": 100 * 40. / 50 * 0.5, "l7_server.avg_application_response_time": 5005,
		"l4_server.avg_total_rtt": 0.9766,
	} {
		if got := *s.ofPool(id); math.Abs(got-want) > 0.01*want {
			t.Errorf("%s is %v, want %v", id, got, want)
		}
	}
}

func TestSatisfactionWithoutTrafficIsNotKnown(t *testing.T) {
	s := newStage(t)
	s.pass(4, func(int) { s.report("se-two", 7, requested(100)) })
	if point := s.points("l7_client.apdexr", 15*time.Second, 1)[0]; point != nil {
		t.Errorf("%v", *point)
	}
}
