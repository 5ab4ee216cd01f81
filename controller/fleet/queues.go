package fleet

import (
	"maps"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// WaitingRequests is the gauge of a pool: requests that wait for its servers.
const WaitingRequests = "waiting_requests"

// Queue returns nil if the sample has no counters of the queue of a pool. Few pools have one.
func (s *Sample) Queue(pool string) *dataplanev1.PoolCounters {
	if s == nil {
		return nil
	}
	if at, has := s.layout.queues[pool]; has {
		return s.Pools[at]
	}
	return nil
}

func queueCounts(now, then *dataplanev1.PoolCounters) []count {
	return []count{
		{name: WaitingRequests, now: now.GetQueued(), gauge: true},
		{name: "queued_requests", now: now.GetQueuedTotal(), then: then.GetQueuedTotal()},
		{name: "queue_full", now: now.GetQueueFullTotal(), then: then.GetQueueFullTotal()},
		{name: "queue_timeouts", now: now.GetQueueTimeoutsTotal(), then: then.GetQueueTimeoutsTotal()},
	}
}

// QueueCounters adds up what engines have counted of the queue of a pool.
func (k *Known) QueueCounters(pool string) Tally {
	sum := newTally(k.past.queues[pool])
	for _, engine := range k.countingPool(pool) {
		if now := engine.Sample.Queue(pool); now != nil {
			sum.add(queueCounts(now, engine.Earlier.Queue(pool)), engine)
		}
	}
	return sum
}

// CountedOfQueue is as CountedOfService, of the queue of a pool.
func (k *Known) CountedOfQueue(pool string) map[string]int64 {
	sum := maps.Clone(k.past.queues[pool])
	for _, engine := range k.countingPool(pool) {
		if now := engine.Sample.Queue(pool); now != nil {
			sum = sum.with(queueCounts(now, nil), engine)
		}
	}
	return since(sum, k.before.queues[pool])
}

// keepQueues adds the counts of the last sample that the next one does not continue.
func (p past) keepQueues(last, next *Sample) {
	for _, counters := range last.GetPools() {
		pool := counters.GetPoolUuid()
		again := next.Queue(pool)
		ended := again == nil || again.GetQueuedTotal() < counters.GetQueuedTotal() ||
			again.GetQueueFullTotal() < counters.GetQueueFullTotal()
		if ended && p.wanted.pools[pool] != nil {
			p.queues[pool] = p.queues[pool].plus(queueCounts(counters, nil))
		}
	}
}

// queuesMoved tells of which pools the next sample has counted something new in their queues.
func queuesMoved(last, next *Sample) (pools []string) {
	for _, row := range next.GetPools() {
		was := last.Queue(row.GetPoolUuid())
		if row.GetQueued() != was.GetQueued() || row.GetQueuedTotal() != was.GetQueuedTotal() ||
			row.GetQueueFullTotal() != was.GetQueueFullTotal() ||
			row.GetQueueTimeoutsTotal() != was.GetQueueTimeoutsTotal() {
			pools = append(pools, row.GetPoolUuid())
		}
	}
	return pools
}
