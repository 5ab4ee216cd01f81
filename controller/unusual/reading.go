package unusual

import (
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
)

// reading is what was found of a pool when a minute ended.
type reading struct {
	of   *model.Pool
	up   int       // servers
	each []counted // by member of the pool; nil: nothing was counted since the last look
}

// counted is what engines have counted of a server, or of all servers of a pool, since the leader began.
type counted struct {
	requests, connections, failures, errors int64
	open                                    int64 // now
	answers                                 uint64
	took                                    time.Duration // of the answers of the last minute, together
}

// readPools reads the pools of which anything was counted since the last look. Only Look calls it.
func (w *Watch) readPools() map[string]reading {
	var pools []*model.Pool
	w.fleet.Read(func(known *fleet.Known) { pools = known.Model().Pools })
	readings, turns := make(map[string]reading, len(pools)), make(map[string]fleet.Turn, len(pools))
	fleet.ReadEach(w.fleet, pools, func(known *fleet.Known, pool *model.Pool) {
		// The model may have changed meanwhile.
		if pool = known.Pool(pool.UUID); pool == nil || len(pool.Members) > sizeMost {
			return
		}
		is, turn := reading{of: pool}, known.PoolTurn(pool.UUID)
		if turn != w.turns[pool.UUID] {
			is.read(known)
		}
		readings[pool.UUID], turns[pool.UUID] = is, turn
	})
	w.turns = turns
	return readings
}

func (r *reading) read(known *fleet.Known) {
	r.up = known.PoolHealth(r.of).Up
	r.each = make([]counted, len(r.of.Members))
	for i, member := range r.of.Members {
		key := fleet.ServerKey{Pool: r.of.UUID, Server: member.ID}
		counts := known.CountedOfServer(key)
		if counts == nil {
			continue
		}
		times := known.ServerTimes(key)
		answers := times.AppResponse.Count()
		r.each[i] = counted{
			requests: counts["requests"], connections: counts["connections"], failures: counts["failures"],
			errors: fleet.ErrorsIn(counts), open: counts["open_connections"],
			answers: answers, took: time.Duration(times.AppResponse.Seconds() * float64(time.Second)),
		}
	}
}

// ofMember returns nil if nothing was counted.
func (r *reading) ofMember(at int) *counted {
	if r.each == nil {
		return nil
	}
	return &r.each[at]
}

// all adds up all servers; nil: nothing was counted.
func (r *reading) all() *counted {
	if r.each == nil {
		return nil
	}
	sum := &counted{}
	for i := range r.each {
		one := &r.each[i]
		sum.requests, sum.connections = sum.requests+one.requests, sum.connections+one.connections
		sum.failures, sum.errors = sum.failures+one.failures, sum.errors+one.errors
		sum.open, sum.answers, sum.took = sum.open+one.open, sum.answers+one.answers, sum.took+one.took
	}
	return sum
}

// isBusy tells whether a server of the pool ever counted.
func (r *reading) isBusy() bool { return r.all().isBusy() }

func (c *counted) isBusy() bool { return c != nil && c.requests+c.connections+c.failures+c.open > 0 }

// mean is that of the answers of the last minute.
func (c *counted) mean() time.Duration { return c.took / time.Duration(max(1, c.answers)) }

// later is what was counted a minute later, in which nothing happened.
func (c *counted) later() *counted {
	next := *c
	next.answers, next.took = 0, 0
	return &next
}
