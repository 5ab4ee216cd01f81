package fleet_test

import (
	"maps"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
)

func TestQueueOfAPoolIsTheSumOverEnginesAndKeepsWhatEndedProcessesHaveCounted(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one", "se-two")
	turn := func() (turn fleet.Turn) {
		s.Read(func(known *fleet.Known) { turn = known.PoolTurn("pool-1") })
		return turn
	}
	queued := func(engine string, pid uint32, after time.Duration, waiting, total uint64, before ...string) {
		var rows []*dataplanev1.PoolCounters
		for _, pool := range before {
			rows = append(rows, &dataplanev1.PoolCounters{PoolUuid: pool, QueuedTotal: 1000})
		}
		s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
			Pid: pid, UnixMs: uint64(fleettest.Clock.Add(after).UnixMilli()), CpuUserUs: uint64(after),
			Servers: []*dataplanev1.ServerCounters{{PoolUuid: "pool-1", ServerId: "10.0.0.1:80"}},
			Pools: append(rows, &dataplanev1.PoolCounters{PoolUuid: "pool-1", Queued: waiting, QueuedTotal: total,
				QueueFullTotal: total / 10}),
		}}})
	}
	expect := func(waiting, total, full int64, perSecond float64) {
		t.Helper()
		s.Read(func(known *fleet.Known) {
			sum := known.QueueCounters("pool-1")
			want := map[string]int64{fleet.WaitingRequests: waiting, "queued_requests": total, "queue_full": full,
				"queue_timeouts": 0}
			if !maps.Equal(sum.Totals, want) || sum.PerSecond["queued_requests"] != perSecond {
				t.Errorf("%v at %v per second, want %v at %v", sum.Totals, sum.PerSecond, want, perSecond)
			}
		})
	}
	queued("se-one", 1, time.Second, 2, 10)
	queued("se-two", 1, time.Second, 1, 30)
	expect(3, 40, 4, 0)
	before := turn()
	queued("se-one", 1, 2*time.Second, 0, 12)
	expect(1, 42, 4, 2)
	if turn() == before {
		t.Error("nothing says that the queue has counted")
	}
	queued("se-one", 2, 3*time.Second, 5, 5)
	expect(6, 47, 4, 0)
	// Another pool has a queue now, whose row stands before.
	queued("se-one", 2, 4*time.Second, 4, 8, "pool-0")
	expect(5, 50, 4, 3)
}
