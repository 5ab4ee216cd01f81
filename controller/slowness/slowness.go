// Package slowness finds servers that need far longer for their answers than the others of their pools, and since when.
// It looks every five seconds at what engines have counted, and tells of what it finds as events. Pages, the live
// overview and `weir top` ask it.
//
// It belongs to the leader, and is in memory: the next leader finds a slow server again, as one that is slow since
// then.
package slowness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/turns"
)

const (
	lookEvery = 5 * time.Second
	// lingers is how long a server counts as slow after it was, so that one on the border has one event, and not many.
	lingers = 15 * time.Second
	// sizeMost is the size of the largest pool in which slow servers are sought.
	sizeMost = 1000
	// toldMost limits the events about one pool that one look adds. The next look tells of the others.
	toldMost = 5
)

// Server is a server that is slow.
type Server struct {
	ID     string
	Mean   time.Duration // until its answers began, without the round trip
	Others time.Duration // the same, of the servers of the pool that are not slow
	Share  float64       // of the answers of the pool, from 0 to 1
	Since  time.Time
	seen   time.Time // when it last was slow
	told   bool      // an event tells that it is slow
}

// found is a pool with its slow servers, the slowest first.
type found struct {
	pool    *model.Pool
	servers []Server
}

// Of returns the slow servers of a pool, the slowest first. It does not wait for the fleet, so it may be asked under
// the lock of the fleet.
type Of func(poolUUID string) []Server

// Watch knows the slow servers. It is safe for concurrent use.
type Watch struct {
	fleet  *fleet.Fleet
	events *events.Log
	now    func() time.Time

	last  map[string]*fleet.Sample // of each engine at the last look; only Look uses it
	turns map[string]fleet.Turn    // of each pool at the last look; only Look uses it

	mu    sync.RWMutex
	pools map[string]found // by uuid; pools without slow servers are not there
}

// New returns a watch that has found nothing. Run looks.
func New(fleet *fleet.Fleet, told *events.Log, now func() time.Time) *Watch {
	return &Watch{fleet: fleet, events: told, now: now, pools: map[string]found{}}
}

// Run looks until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	turns.Run(ctx, w.now, lookEvery, turns.Slowness, func(time.Time) { w.Look() })
	return nil
}

// Of is an [Of].
func (w *Watch) Of(poolUUID string) []Server {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.pools[poolUUID].servers
}

// Look looks at all pools once.
func (w *Watch) Look() {
	var pools []*model.Pool
	samples := map[string]*fleet.Sample{}
	w.fleet.Read(func(known *fleet.Known) {
		pools = known.Model().Pools
		for uuid, engine := range known.Engines() {
			samples[uuid] = engine.Sample
		}
	})
	at, next, turns := w.now(), map[string]found{}, map[string]fleet.Turn{}
	fleet.ReadEach(w.fleet, pools, func(known *fleet.Known, pool *model.Pool) {
		// The model may have changed meanwhile.
		if pool = known.Pool(pool.UUID); pool == nil || len(pool.Members) > sizeMost {
			return
		}
		turns[pool.UUID] = known.PoolTurn(pool.UUID)
		if turns[pool.UUID] == w.turns[pool.UUID] && len(w.pools[pool.UUID].servers) == 0 {
			return // nothing was counted since the last look, which found nothing
		}
		if slow := w.follow(pool, w.slowIn(known, pool), at); len(slow) > 0 {
			next[pool.UUID] = found{pool, slow}
		}
	})
	for uuid, before := range w.pools { // only Look writes it
		if _, is := next[uuid]; !is {
			for _, server := range before.servers {
				w.end(before.pool, server)
			}
		}
	}
	w.last, w.turns = samples, turns
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pools = next
}

// slowIn returns the servers of a pool that are slow now, the slowest first: since the last look, which shows one that
// has just become slow; or in the recent past, which shows one that has few answers.
func (w *Watch) slowIn(known *fleet.Known, pool *model.Pool) (list []Server) {
	slow := health.SlowServers(known.AppTimesSince(w.last, pool))
	if len(slow) == 0 {
		slow = health.SlowServers(known.AppTimes(pool))
	}
	for _, one := range slow {
		list = append(list, Server{ID: pool.Members[one.Index].ID, Mean: one.Mean, Others: one.Others,
			Share: one.Share})
	}
	return list
}

// follow returns the slow servers of a pool after those that were slow before, the slowest first, and tells what has
// changed. Of a pool without slow servers, Look tells the end.
func (w *Watch) follow(pool *model.Pool, slow []Server, at time.Time) []Server {
	before, told := map[string]Server{}, 0
	for _, server := range w.pools[pool.UUID].servers {
		before[server.ID] = server
	}
	for i := range slow {
		one := &slow[i]
		one.Since, one.seen = at, at
		if was, known := before[one.ID]; known {
			one.Since, one.told = was.Since, was.told
			delete(before, one.ID)
		}
		if !one.told && told < toldMost {
			told++
			one.told = true
			w.tell(pool, "SERVER_SLOW", *one, fmt.Sprintf("needs %s (mean) for an answer, the others %s",
				short(one.Mean), short(one.Others)))
		}
	}
	for _, member := range pool.Members {
		if was, known := before[member.ID]; known && at.Sub(was.seen) <= lingers {
			slow = append(slow, was)
			delete(before, member.ID)
		}
	}
	if len(slow) > 0 {
		for _, was := range before {
			w.end(pool, was)
		}
	}
	slices.SortStableFunc(slow, func(a, b Server) int { return cmp.Compare(b.Mean, a.Mean) })
	return slow
}

// end tells that a server is not slow any more, if an event told that it was.
func (w *Watch) end(pool *model.Pool, server Server) {
	if server.told {
		w.tell(pool, "SERVER_SLOW_ENDED", server, "is not slow any more, or is gone")
	}
}

func (w *Watch) tell(pool *model.Pool, id string, server Server, what string) {
	w.events.Add(events.Entry{ID: id, Kind: "POOL", UUID: pool.UUID, Name: pool.Name, Tenant: pool.Tenant(),
		Message: "server " + server.ID + " " + what, Part: server.ID})
}

// short writes a time with two or three digits: 402ms, 210µs.
func short(d time.Duration) string {
	for unit := time.Second; unit >= time.Millisecond; unit /= 1000 {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.Round(time.Microsecond).String()
}
