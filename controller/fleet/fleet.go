// Package fleet knows the engines: which are connected, what each serves and what it reports. It is where link puts what
// agents say, and where rest asks for the runtime of an object.
//
// All of it is in memory and comes again when agents connect. It decides nothing about configuration.
package fleet

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/store"
)

const (
	engineKind  = "serviceengine"
	adminTenant = "admin"
)

// Fleet is all engines of this controller.
type Fleet struct {
	store  *store.Store
	events *events.Log
	log    *slog.Logger
	now    func() time.Time
	moved  chan struct{} // capacity 1
	news   atomic.Bool   // since it was looked what is up

	mu        sync.RWMutex
	engines   map[string]*engine // those that joined or reported; deleted ones leave at the next Observe
	greetings uint64             // how many engines have connected
	began     time.Time          // when the first was heard of; before, when this controller began
	state     reconcile.State
	named     map[string]*model.Engine
	services  map[string]*model.VirtualService
	pools     map[string]*model.Pool
	users     map[*model.Pool][]*model.VirtualService
	members   map[serverKey]bool // of pools
	past      past
}

// New is a fleet of which nothing has been heard yet.
func New(objects *store.Store, log *slog.Logger, events *events.Log, now func() time.Time) *Fleet {
	return &Fleet{
		store: objects, events: events, log: log, now: now, moved: make(chan struct{}, 1),
		engines: map[string]*engine{}, began: now(), past: newPast(),
		state: reconcile.State{Model: &model.Model{}},
	}
}

// IsConnected tells whether a session of an engine is open.
func (f *Fleet) IsConnected(engineUUID string) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	engine := f.engines[engineUUID]
	return engine != nil && engine.connected
}

// Observe takes what the controller wants from now on, and forgets engines that are deleted.
func (f *Fleet) Observe(state reconcile.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = state
	f.named = byUUID(state.Model.Engines, func(engine *model.Engine) string { return engine.UUID })
	f.services = byUUID(state.Model.VirtualServices, func(vs *model.VirtualService) string { return vs.UUID })
	f.pools = byUUID(state.Model.Pools, func(pool *model.Pool) string { return pool.UUID })
	f.users = usersOf(state.Model.VirtualServices)
	f.members = membersOf(state.Model.Pools)
	f.expect(state.Plans)
	for uuid, engine := range f.engines {
		if _, planned := state.Plans[uuid]; !planned && !f.exists(uuid) {
			f.past.keep(engine.sample, nil)
			delete(f.engines, uuid)
			continue
		}
		engine.forgetServers(f.members)
	}
	f.past.forget(f.services, f.members)
}

func (f *Fleet) exists(engineUUID string) bool {
	_, ok := f.store.View().Get(engineKind, engineUUID)
	return ok
}

// Expect takes Plans that some engines shall have before all is decided.
func (f *Fleet) Expect(plans map[string]*enginev1.Plan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expect(plans)
}

func (f *Fleet) expect(plans map[string]*enginev1.Plan) {
	f.news.Store(true)
	for uuid, plan := range plans {
		f.engine(uuid).expect(plan)
	}
}

func byUUID[T any](list []*T, uuid func(*T) string) map[string]*T {
	index := make(map[string]*T, len(list))
	for _, item := range list {
		index[uuid(item)] = item
	}
	return index
}

func usersOf(services []*model.VirtualService) map[*model.Pool][]*model.VirtualService {
	users := map[*model.Pool][]*model.VirtualService{}
	for _, vs := range services {
		users[vs.Pool] = append(users[vs.Pool], vs)
	}
	return users
}

// engine is the record of an engine; the caller holds the lock.
func (f *Fleet) engine(uuid string) *engine {
	if f.engines[uuid] == nil {
		f.engines[uuid] = newEngine(f.now())
	}
	return f.engines[uuid]
}

// name is what operators call an engine.
func (f *Fleet) name(engineUUID string) string {
	if engine := f.named[engineUUID]; engine != nil {
		return engine.Name
	}
	return engineUUID
}
