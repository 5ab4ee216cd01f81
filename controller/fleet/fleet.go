// Package fleet keeps what engines report: which are connected, what each one serves, and what it counted. link passes
// the reports in; place, health, runtime and events use them. It decides nothing about configuration.
//
// It belongs to the leader, which gets the reports of all engines. All of it is in memory and lost with the leader.
// Engines report again when they connect to the next leader; the counts of data planes that have ended do not come
// back.
package fleet

import (
	"sync"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/reconcile"
)

// Fleet is all engines of this controller.
type Fleet struct {
	find   Find
	events *events.Log
	now    func() time.Time
	moved  chan struct{} // capacity 1
	start  time.Time     // of this leader

	sampled chan struct{} // capacity 1

	mu        sync.RWMutex
	known     Known
	greetings uint64    // number of sessions that have begun
	began     time.Time // when the first engine reported; until then, when this controller started
}

// Find looks an engine up in the store. The store is newer than the last state that was observed. exists is false if
// the engine is deleted.
type Find func(engineUUID string) (name string, exists bool)

// New returns a fleet to which no engine has reported.
func New(find Find, events *events.Log, now func() time.Time) *Fleet {
	wanted := newWanted()
	f := &Fleet{
		find: find, events: events, now: now, moved: make(chan struct{}, 1), start: now(), began: now(),
		sampled: make(chan struct{}, 1),
		known: Known{engines: map[string]*Engine{}, wanted: wanted, counting: newCounting(), past: newPast(wanted),
			before: newBefore(), news: newNews()},
	}
	f.known.index(reconcile.State{})
	return f
}

// IsConnected tells whether an engine has a session.
func (f *Fleet) IsConnected(engineUUID string) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.known.engines[engineUUID].IsConnected()
}

// Assigned returns the engines of a virtual service, without standbys.
func (f *Fleet) Assigned(serviceUUID string) []string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.known.Assigned(serviceUUID)
}

// Observe takes the newest state that the controller wants, and removes the records of deleted engines.
func (f *Fleet) Observe(state reconcile.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := &f.known
	known.observe(state)
	f.expect(state.Plans, state.NoRoom)
	for uuid, engine := range known.engines {
		if _, planned := state.Plans[uuid]; !planned && f.isDeleted(uuid) {
			known.news.ofEngine(engine)
			known.past.keep(engine.Sample, nil)
			known.counting.hear(uuid, engine.Sample, nil)
			delete(known.engines, uuid)
		}
	}
	known.forgetServers()
}

func (f *Fleet) isDeleted(engineUUID string) bool {
	_, exists := f.find(engineUUID)
	return !exists
}

func (f *Fleet) expect(plans map[string]*enginev1.Plan, noRoom map[string]map[string]bool) {
	for uuid, plan := range plans {
		engine := f.engine(uuid)
		f.known.news.of(engine.expect(plan), nil)
		if engine.leaveOut(noRoom[uuid]) {
			f.move()
		}
	}
}

// engine returns the record of an engine. The caller holds the lock.
func (f *Fleet) engine(uuid string) *Engine {
	if f.known.engines[uuid] == nil {
		f.known.engines[uuid] = Unheard(f.now())
	}
	return f.known.engines[uuid]
}
