package fleet

import (
	"maps"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
)

// news is the set of objects whose state may have changed since the last call of News, deleted ones included. A state
// depends on the object, on the decision about it, and on what the engines that have the object report.
type news struct {
	services map[string]bool // by uuid; their pools are included later
	pools    map[string]bool // by uuid; the virtual services that use them are included later
}

func newNews() news { return news{services: map[string]bool{}, pools: map[string]bool{}} }

func (n news) of(services, pools map[string]bool) {
	maps.Copy(n.services, services)
	maps.Copy(n.pools, pools)
}

// ofEngine adds the virtual services that an engine has or should have. No other state depends on the engine.
func (n news) ofEngine(engine *Engine) {
	for uuid := range engine.duties {
		n.services[uuid] = true
	}
	for uuid := range engine.dutyTurnedIn {
		n.services[uuid] = true
	}
}

// News returns the states that may have changed since its last call. What changes while it computes them may be in this
// result, and is in the next one.
func (f *Fleet) News() (told events.News) {
	changed := f.takeNews()
	f.Read(func(known *Known) {
		told = known.statesOf(changed)
		for i := range told.Services {
			news := &told.Services[i]
			news.Resumes = f.isResuming() && known.wasServed(news.VirtualService.UUID, f.start)
		}
	})
	return told
}

// wasServed tells whether an engine has had a virtual service to serve since before a time.
func (k *Known) wasServed(serviceUUID string, before time.Time) bool {
	return slices.ContainsFunc(k.Assignment(serviceUUID).Seats, func(seat place.Seat) bool {
		return (seat.State == place.Serving || seat.State == place.Leaving) && seat.Since.Before(before)
	})
}

func (f *Fleet) takeNews() news {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := f.known.news
	f.known.news = newNews()
	return taken
}

// statesOf returns the states of some objects and of those that depend on them. It computes the state of each pool
// once.
func (k *Known) statesOf(changed news) (told events.News) {
	k.spread(changed)
	states := map[*model.Pool]health.Pool{}
	poolHealth := func(pool *model.Pool) health.Pool {
		if _, computed := states[pool]; !computed {
			states[pool] = k.PoolHealth(pool)
		}
		return states[pool]
	}
	for _, uuid := range slices.Sorted(maps.Keys(changed.pools)) {
		if pool := k.pools[uuid]; pool != nil {
			told.Pools = append(told.Pools, events.PoolNews{Pool: pool, Health: poolHealth(pool)})
		} else {
			told.PoolsGone = append(told.PoolsGone, uuid)
		}
	}
	for _, uuid := range slices.Sorted(maps.Keys(changed.services)) {
		if vs := k.services[uuid]; vs != nil {
			told.Services = append(told.Services, events.ServiceNews{VirtualService: vs,
				Health: k.serviceHealth(vs, poolHealth)})
		} else {
			told.ServicesGone = append(told.ServicesGone, uuid)
		}
	}
	return told
}

// spread adds the pools of the changed virtual services, and then the virtual services that use a changed pool.
func (k *Known) spread(changed news) {
	for uuid := range changed.services {
		if vs := k.services[uuid]; vs != nil {
			for _, pool := range vs.Pools() {
				changed.pools[pool.UUID] = true
			}
		}
	}
	for uuid := range changed.pools {
		for vs := range k.users[k.pools[uuid]] {
			changed.services[vs.UUID] = true
		}
	}
}
