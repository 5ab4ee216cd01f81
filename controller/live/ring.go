package live

import (
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/fleet"
)

// coarseLeast is how long a coarse step lasts at least: it ends with a step, after about five seconds.
const coarseLeast = 4750 * time.Millisecond

// Sizes of steps, as an index.
const (
	fineSize = iota
	coarseSize
	sizes
)

// ring is the last five minutes. Its memory is bounded by the numbers of virtual services and engines: an active
// virtual service needs about 5 KB, an idle one 200 bytes. What is watched needs 25 KB more, and at most watchedMost
// are watched.
type ring struct {
	clocks   [sizes]clock
	engines  map[string]*engine
	services map[string]*service
	sums     map[string]*series[point] // over all virtual services of a tenant; "": of all tenants
	pools    map[string]*pool          // that are watched
	watched  watched
}

func newRing() *ring {
	return &ring{
		clocks:  [sizes]clock{newClock(fineSteps), newClock(coarseSteps)},
		engines: map[string]*engine{}, services: map[string]*service{}, sums: map[string]*series[point]{},
		pools: map[string]*pool{}, watched: watched{},
	}
}

// hear takes the newest samples. They never change, so they may be used after the fleet is unlocked.
func (r *ring) hear(known *fleet.Known) {
	for uuid, engine := range known.Engines() {
		if engine.Sample == nil {
			continue
		}
		heard := r.engines[uuid]
		if heard == nil {
			heard = newEngine()
			r.engines[uuid] = heard
		}
		heard.works = engine.Works()
		heard.hear(engine.Sample)
	}
}

// isComplete tells whether all engines that the step waits for have sent their next sample.
func (r *ring) isComplete() bool {
	heard := false
	for _, engine := range r.engines {
		if engine.awaited && engine.works && !engine.fresh[fineSize] {
			return false
		}
		heard = heard || engine.fresh[fineSize]
	}
	return heard
}

// lookUp brings what the ring knows about objects up to date before a step. It reads the fleet in turns.
func (r *ring) lookUp(from *fleet.Fleet) {
	fleet.ReadEach(from, slices.Collect(maps.Keys(r.services)), func(known *fleet.Known, uuid string) {
		if vs := known.VirtualService(uuid); vs != nil {
			r.services[uuid].describe(vs)
		} else {
			delete(r.services, uuid)
		}
	})
	fleet.ReadEach(from, slices.Collect(maps.Keys(r.engines)), func(known *fleet.Known, uuid string) {
		if known.Engine(uuid) == nil {
			delete(r.engines, uuid)
			return
		}
		engine := r.engines[uuid]
		engine.name = known.Name(uuid)
		engine.due = engine.due[:0]
		for _, row := range engine.last.GetVirtualServices() {
			r.lookUpRow(known, uuid, engine, row.GetUuid())
		}
	})
	from.Read(func(known *fleet.Known) {
		for uuid, pool := range r.pools {
			pool.lookUp(known.Pool(uuid))
		}
	})
}

func (r *ring) lookUpRow(known *fleet.Known, engineUUID string, engine *engine, uuid string) {
	found := r.services[uuid]
	if found == nil {
		vs := known.VirtualService(uuid)
		if vs == nil {
			return // it is deleted, and the engine has not heard of that yet
		}
		found = &service{}
		found.describe(vs)
		found.series.watch(r.watched.has(Topic{VirtualService, uuid}))
		r.services[uuid] = found
	}
	if !engine.fresh[fineSize] && known.ShouldServe(uuid, engineUUID) {
		engine.due = append(engine.due, found)
	}
}

// step ends a step, and a coarse one if it is time. While nobody watches, it adds up nothing for steps in between.
func (r *ring) step(now time.Time) {
	r.watched.expire(r, now)
	coarse := &r.clocks[coarseSize]
	isCoarse := coarse.step == 0 || now.Sub(coarse.ended) >= coarseLeast || now.Before(coarse.ended)
	r.clocks[fineSize].end(now)
	r.fold(fineSize, len(r.watched) > 0)
	if isCoarse {
		coarse.end(now)
		r.fold(coarseSize, true)
	}
	for _, engine := range r.engines {
		engine.awaited = engine.fresh[fineSize]
		engine.fresh[fineSize] = false
		if isCoarse {
			engine.fresh[coarseSize] = false
		}
	}
}

// fold adds up what was counted in a step that has ended.
func (r *ring) fold(size int, wanted bool) {
	var told []*interval
	for uuid, engine := range r.engines {
		if !engine.fresh[size] {
			continue
		}
		stretches, seconds := engine.windows[size].close(engine.last, gapsMs[size])
		if seconds > 0 {
			told = append(told, &interval{engine: uuid, last: engine.last, stretches: stretches, seconds: seconds})
		}
	}
	if !wanted {
		return
	}
	r.gather(told, size)
	sums := r.foldServices(size)
	r.foldSums(sums, size)
	r.foldEngines(told, size)
	if size == fineSize {
		for uuid, pool := range r.pools {
			pool.fold(uuid, told)
		}
	}
}

var gapsMs = [sizes]uint64{stepGapMs, coarseGapMs}

// gather gives each virtual service the engines that reported on it, and counts those that should have.
func (r *ring) gather(told []*interval, size int) {
	for _, interval := range told {
		for _, row := range interval.last.GetVirtualServices() {
			if service := r.services[row.GetUuid()]; service != nil {
				service.rows = append(service.rows, interval)
			}
		}
	}
	for _, engine := range r.engines {
		if engine.fresh[size] {
			continue
		}
		for _, service := range engine.due {
			service.missing++
		}
	}
}

// foldedAtOnce is about how many virtual services are added up before others may use the core.
const foldedAtOnce = 32

// foldServices adds up each virtual service, and all of each tenant.
func (r *ring) foldServices(size int) map[string]*sum {
	clock, sums, folded := &r.clocks[size], map[string]*sum{}, 0
	for uuid, service := range r.services {
		if folded++; folded%foldedAtOnce == 0 {
			runtime.Gosched() // thousands in one go would keep a core for long
		}
		one := service.fold(uuid)
		service.series.put(clock, size == fineSize, one.point())
		if size == coarseSize {
			service.excluded = float32(one.excluded)
		}
		if sums[service.tenant] == nil {
			sums[service.tenant] = &sum{}
		}
		sums[service.tenant].join(&one)
	}
	return sums
}

// foldSums keeps the sums of tenants, and forgets tenants without virtual services.
func (r *ring) foldSums(sums map[string]*sum, size int) {
	all := &sum{}
	for _, total := range sums {
		all.join(total)
	}
	sums[""] = all
	for tenant := range r.sums {
		if sums[tenant] == nil {
			delete(r.sums, tenant)
		}
	}
	for tenant, total := range sums {
		if r.sums[tenant] == nil {
			r.sums[tenant] = &series[point]{}
			r.sums[tenant].watch(r.watched.has(Topic{Overview, tenant}))
		}
		r.sums[tenant].put(&r.clocks[size], size == fineSize, total.point())
	}
}

// foldEngines keeps the load of each engine.
func (r *ring) foldEngines(told []*interval, size int) {
	loads := map[string]load{}
	for _, interval := range told {
		loads[interval.engine] = interval.load()
	}
	for uuid, engine := range r.engines {
		engine.loads.watch(r.watched.has(Topic{Engines, ""}))
		engine.loads.put(&r.clocks[size], size == fineSize, loads[uuid])
	}
}
