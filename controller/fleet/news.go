package fleet

import (
	"maps"
	"slices"

	"github.com/weir-lb/weir/controller/events"
)

// news is what may be up or down that was not when somebody last looked, also what is gone since. The states of all
// follow from what engines are and say, those of one also from its object, and from what is decided about it.
type news struct {
	ofAll    bool
	services map[string]bool // by uuid; their pools are news too
	pools    map[string]bool // by uuid; what uses them is news too
}

func newNews() news { return news{services: map[string]bool{}, pools: map[string]bool{}} }

func (n *news) ofServices(uuids map[string]bool) { maps.Copy(n.services, uuids) }

// News gives what may be up or down that was not when it was called last.
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

// newsOf are the uuids of the virtual services and pools that are news.
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
