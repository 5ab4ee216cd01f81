// Package fleet knows the engines: which there are, which are connected, what each serves and what it reports. It is
// where link puts what agents say, and where rest asks for the runtime of an object.
//
// Engines are objects in the store; all else is in memory and comes again when agents connect. It decides nothing about
// configuration.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/cloud"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const (
	engineKind  = "serviceengine"
	adminTenant = "admin"
	// enginesMax may join one controller.
	enginesMax = 1000
)

var (
	// ErrNameTaken says that a connected engine has the name that another wants to join under.
	ErrNameTaken = errors.New("engine name is taken")
	// ErrFleetFull says that no more engines may join.
	ErrFleetFull = fmt.Errorf("there are %d engines already, which is the most: delete one", enginesMax)
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
	*wanted
	past past
}

// New is a fleet of which nothing has been heard yet.
func New(objects *store.Store, log *slog.Logger, events *events.Log, now func() time.Time) *Fleet {
	wanted := newWanted()
	return &Fleet{
		store: objects, events: events, log: log, now: now, moved: make(chan struct{}, 1),
		engines: map[string]*engine{}, began: now(), wanted: wanted, past: newPast(wanted),
		state: reconcile.State{Model: wanted.model},
	}
}

// Join registers an engine. One that comes again under the name of an engine that is away takes its place: the token
// speaks for it. Errors: ErrNameTaken, ErrFleetFull, cloud.ErrUnwanted, or the store's.
func (f *Fleet) Join(ctx context.Context, name string) (engineUUID string, err error) {
	err = f.store.Update(ctx, func(tx *store.Tx) error {
		if known, ok := tx.View().ByName(engineKind, adminTenant, name); ok {
			engineUUID = known.UUID
			return f.mayReplace(known)
		}
		if tx.View().Count(engineKind) >= enginesMax {
			return ErrFleetFull
		}
		record, err := newRecord(tx.View(), name)
		if err != nil {
			return err
		}
		engineUUID = record.UUID
		tx.Put(record)
		return nil
	})
	return engineUUID, err
}

func (f *Fleet) mayReplace(known *store.Record) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if engine := f.engines[known.UUID]; engine != nil && engine.connected {
		return fmt.Errorf("%w: an engine named %s is connected; give this one another name", ErrNameTaken, known.Name)
	}
	return nil
}

// newRecord is an engine in the default group, or as the instance says that a cloud started under this name.
func newRecord(view *store.View, name string) (*store.Record, error) {
	kind, _ := schema.Lookup(engineKind)
	id := kind.Prefix + "-" + uuid.NewString()
	object := schema.Object{"name": name, "tenant_ref": schema.RefPath("tenant", adminTenant)}
	instance, err := cloud.Expected(view, name)
	if err != nil {
		return nil, fmt.Errorf("register engine %s: %w", name, err)
	}
	if instance != nil {
		id = instance.Engine
		object["controller_created"], object["availability_zone"] = true, instance.Zone
		object["cloud_ref"], object["se_group_ref"] = schema.RefPath("cloud", instance.Cloud), schema.RefPath("serviceenginegroup", instance.Group)
	}
	object["uuid"] = id
	object, err = kind.Normalise(object)
	if err != nil {
		return nil, fmt.Errorf("register engine %s: %w", name, err)
	}
	kind.Fill(object)
	for _, reference := range kind.References(object) {
		target, err := schema.ParseRef(reference.Kind, reference.Value)
		if err != nil {
			return nil, fmt.Errorf("register engine %s: %s: %w", name, reference.Field, err)
		}
		if target.UUID == "" {
			found, ok := view.ByName(target.Kind, adminTenant, target.Name)
			if !ok {
				return nil, fmt.Errorf("register engine %s: %s: there is no %s named %s", name, reference.Field, target.Kind, target.Name)
			}
			target.UUID = found.UUID
		}
		reference.Set(target.Path())
	}
	return &store.Record{Kind: engineKind, UUID: id, Tenant: adminTenant, Name: name, Object: object}, nil
}

// Exists tells whether an engine has joined and is not deleted.
func (f *Fleet) Exists(engineUUID string) bool {
	_, ok := f.store.View().Get(engineKind, engineUUID)
	return ok
}

// Observe takes what the controller wants from now on, and forgets engines that are deleted.
func (f *Fleet) Observe(state reconcile.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = state
	for _, uuid := range f.wanted.turn(state.Model) {
		delete(f.past.services, uuid)
	}
	f.expect(state.Plans)
	for uuid, engine := range f.engines {
		if _, planned := state.Plans[uuid]; !planned && !f.Exists(uuid) {
			f.past.keep(engine.sample, nil)
			delete(f.engines, uuid)
			continue
		}
	}
	f.forgetServers()
}

// forgetServers forgets what was said of servers that nobody wants any more.
func (f *Fleet) forgetServers() {
	if len(f.unwanted) == 0 {
		return
	}
	unwanted := f.unwanted
	f.unwanted = map[serverKey]bool{}
	for key := range unwanted {
		delete(f.past.servers, key)
	}
	for _, engine := range f.engines {
		for _, key := range engine.forgetServers(unwanted) {
			f.unwanted[key] = true
		}
	}
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
