// Package fleet keeps what engines report: which are connected, what each one serves, and what it counted. link passes
// the reports in; place, health, runtime and events use them. It decides nothing about configuration.
//
// It belongs to the leader, which gets the reports of all engines. All of it is in memory and lost with the leader.
// Engines report again when they connect to the next leader; the counts of data planes that have ended do not come
// back.
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
)

// Fleet is all engines of this controller.
type Fleet struct {
	exists func(engineUUID string) bool
	events *events.Log
	log    *slog.Logger
	now    func() time.Time
	moved  chan struct{} // capacity 1
	news   atomic.Bool   // since it was asked what is up

	mu        sync.RWMutex
	known     Known
	greetings uint64    // how many engines have connected
	began     time.Time // when the first was heard of; before, when this controller began
}

// New is a fleet of which nothing has been heard yet. exists is false for engines that are deleted.
func New(exists func(engineUUID string) bool, log *slog.Logger, events *events.Log, now func() time.Time) *Fleet {
	return &Fleet{
		exists: exists, events: events, log: log, now: now, moved: make(chan struct{}, 1), began: now(),
		known: Known{engines: map[string]*Engine{}, past: newPast(), state: reconcile.State{Model: &model.Model{}}},
	}
}

// IsConnected tells whether a session of an engine is open.
func (f *Fleet) IsConnected(engineUUID string) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.known.engines[engineUUID].IsConnected()
}

// Changed tells whether something may be up or down that was not, since it was asked last.
func (f *Fleet) Changed() bool { return f.news.Swap(false) }

// Observe takes what the controller wants from now on, and forgets engines that are deleted.
func (f *Fleet) Observe(state reconcile.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := &f.known
	known.state = state
	known.named = byUUID(state.Model.Engines, func(engine *model.Engine) string { return engine.UUID })
	known.services = byUUID(state.Model.VirtualServices, func(vs *model.VirtualService) string { return vs.UUID })
	known.pools = byUUID(state.Model.Pools, func(pool *model.Pool) string { return pool.UUID })
	known.users = usersOf(state.Model.VirtualServices)
	known.members = membersOf(state.Model.Pools)
	f.expect(state.Plans)
	for uuid, engine := range known.engines {
		if _, planned := state.Plans[uuid]; !planned && !f.exists(uuid) {
			known.past.keep(engine.Sample, nil)
			delete(known.engines, uuid)
			continue
		}
		engine.forgetServers(known.members)
	}
	known.past.forget(known.services, known.members)
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
func (f *Fleet) engine(uuid string) *Engine {
	if f.known.engines[uuid] == nil {
		f.known.engines[uuid] = Unheard(f.now())
	}
	return f.known.engines[uuid]
}
