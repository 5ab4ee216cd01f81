package fleet

import (
	"slices"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/sorted"
)

// wanted are the objects of the newest model, by what they are looked up by.
type wanted struct {
	model    *model.Model
	named    map[string]*model.Engine // by uuid
	services map[string]*model.VirtualService
	pools    map[string]*model.Pool
	users    map[*model.Pool][]*model.VirtualService
	members  map[ServerKey]bool // of pools
	unwanted map[ServerKey]bool // members of none, of which an engine may have said something
}

func newWanted() *wanted {
	return &wanted{
		model: &model.Model{}, services: map[string]*model.VirtualService{}, pools: map[string]*model.Pool{},
		users: map[*model.Pool][]*model.VirtualService{}, members: map[ServerKey]bool{}, unwanted: map[ServerKey]bool{},
	}
}

// turn goes on with another model, of which it looks at nothing that is the same in both. It returns the uuids of what
// is not, also of what is gone; and with a virtual service its pool.
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
			if services[was.UUID] = true; was.Pool != nil { // which it may use no more
				pools[was.Pool.UUID] = true
			}
		}
		if is != nil {
			w.services[is.UUID] = is
			w.users[is.Pool] = append(w.users[is.Pool], is)
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
	users := slices.DeleteFunc(slices.Clone(w.users[vs.Pool]), func(user *model.VirtualService) bool {
		return user == vs
	})
	if w.users[vs.Pool] = users; len(users) == 0 {
		delete(w.users, vs.Pool)
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
