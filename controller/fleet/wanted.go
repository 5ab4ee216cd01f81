package fleet

import (
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/sorted"
)

// wanted are the objects of the newest model, with indexes.
type wanted struct {
	model    *model.Model
	named    map[string]*model.Engine // by uuid
	services map[string]*model.VirtualService
	pools    map[string]*model.Pool
	children map[string]map[string]bool // uuids, by that of the parent
	users    map[*model.Pool]map[*model.VirtualService]bool
	members  map[ServerKey]bool // servers that are a member of a pool
	unwanted map[ServerKey]bool // servers that are a member no more, and about which engines may have reported
}

func newWanted() *wanted {
	return &wanted{
		model: &model.Model{}, services: map[string]*model.VirtualService{}, pools: map[string]*model.Pool{},
		children: map[string]map[string]bool{},
		users:    map[*model.Pool]map[*model.VirtualService]bool{},
		members:  map[ServerKey]bool{}, unwanted: map[ServerKey]bool{},
	}
}

// turn replaces the model. It visits only what differs between the two models. It returns the uuids of the virtual
// services and pools that were added, changed or removed. With a virtual service that was changed or removed, it also
// returns the pools that it had before.
func (w *wanted) turn(to *model.Model) (services, pools map[string]bool) {
	services, pools = map[string]bool{}, map[string]bool{}
	if !sorted.IsOne(w.model.Engines, to.Engines) {
		w.named = make(map[string]*model.Engine, len(to.Engines))
		for _, engine := range to.Engines {
			w.named[engine.UUID] = engine
		}
	}
	for was, is := range sorted.Differences(w.model.VirtualServices, to.VirtualServices,
		func(vs *model.VirtualService) string { return vs.UUID }) {
		if was != nil {
			w.dropService(was)
			services[was.UUID] = true
			for _, pool := range was.Pools() { // it may use these no more
				pools[pool.UUID] = true
			}
		}
		if is != nil {
			w.putService(is)
			services[is.UUID] = true
		}
	}
	for was, is := range sorted.Differences(w.model.Pools, to.Pools, func(pool *model.Pool) string {
		return pool.UUID
	}) {
		if was != nil {
			w.dropPool(was)
			pools[was.UUID] = true
		}
		if is != nil {
			w.putPool(is)
			pools[is.UUID] = true
		}
	}
	w.model = to
	return services, pools
}

func (w *wanted) dropService(vs *model.VirtualService) {
	delete(w.services, vs.UUID)
	if vs.IsChild() {
		delete(w.children[vs.SeatsOf()], vs.UUID)
		if len(w.children[vs.SeatsOf()]) == 0 {
			delete(w.children, vs.SeatsOf())
		}
	}
	for _, pool := range vs.Pools() {
		delete(w.users[pool], vs)
		if len(w.users[pool]) == 0 {
			delete(w.users, pool)
		}
	}
}

func (w *wanted) putService(vs *model.VirtualService) {
	w.services[vs.UUID] = vs
	if vs.IsChild() {
		if w.children[vs.SeatsOf()] == nil {
			w.children[vs.SeatsOf()] = map[string]bool{}
		}
		w.children[vs.SeatsOf()][vs.UUID] = true
	}
	for _, pool := range vs.Pools() {
		if w.users[pool] == nil {
			w.users[pool] = map[*model.VirtualService]bool{}
		}
		w.users[pool][vs] = true
	}
}

func (w *wanted) dropPool(pool *model.Pool) {
	delete(w.pools, pool.UUID)
	for _, member := range pool.Members {
		key := ServerKey{pool.UUID, member.ID}
		delete(w.members, key)
		w.unwanted[key] = true
	}
}

func (w *wanted) putPool(pool *model.Pool) {
	w.pools[pool.UUID] = pool
	for _, member := range pool.Members {
		key := ServerKey{pool.UUID, member.ID}
		w.members[key] = true
		delete(w.unwanted, key)
	}
}
