package fleet

import (
	"maps"
	"slices"

	"github.com/weir-lb/weir/controller/events"
)

// news is the set of objects whose state may have changed since the last call of News, deleted ones included. A change
// of an engine can change the state of any object. Otherwise a state depends on the object, and on the decision about
// it.
type news struct {
	ofAll    bool
	services map[string]bool // by uuid; their pools are included later
	pools    map[string]bool // by uuid; the virtual services that use them are included later
}

func newNews() news { return news{services: map[string]bool{}, pools: map[string]bool{}} }

func (n *news) of(services, pools map[string]bool) {
	maps.Copy(n.services, services)
	maps.Copy(n.pools, pools)
}

// News returns the states that may have changed since its last call.
func (f *Fleet) News() events.News {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := &f.known
	services, pools := known.newsOf()
	known.news = newNews()
	var told events.News
	for _, uuid := range slices.Sorted(maps.Keys(pools)) {
		if pool := known.pools[uuid]; pool != nil {
			told.Pools = append(told.Pools, events.PoolNews{Pool: pool, Health: known.PoolHealth(pool)})
		} else {
			told.PoolsGone = append(told.PoolsGone, uuid)
		}
	}
	for _, uuid := range slices.Sorted(maps.Keys(services)) {
		if vs := known.services[uuid]; vs != nil {
			told.Services = append(told.Services, events.ServiceNews{VirtualService: vs,
				Health: known.ServiceHealth(vs)})
		} else {
			told.ServicesGone = append(told.ServicesGone, uuid)
		}
	}
	return told
}

// newsOf returns the uuids of the virtual services and pools whose state may have changed.
func (k *Known) newsOf() (services, pools map[string]bool) {
	services, pools = k.news.services, k.news.pools
	if k.news.ofAll {
		for uuid := range k.services {
			services[uuid] = true
		}
		for uuid := range k.pools {
			pools[uuid] = true
		}
		return services, pools
	}
	for uuid := range services {
		if vs := k.services[uuid]; vs != nil && vs.Pool != nil {
			pools[vs.Pool.UUID] = true
		}
	}
	for uuid := range pools {
		for _, vs := range k.users[k.pools[uuid]] {
			services[vs.UUID] = true
		}
	}
	return services, pools
}
