// Package names resolves the names that servers of pools have instead of addresses, again and again.
//
// names.go says when and keeps what came, record.go makes servers of it. The store has the addresses beside the pools,
// as it has what was fetched about certificates: Plans follow from it, all engines have the same servers, and they stay
// while no name server answers. Only the leader resolves.
package names

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/store"
)

const (
	// refresh is the time between two questions for the same name.
	refresh = 30 * time.Second
	// lookupMost is how long an answer may take.
	lookupMost = 10 * time.Second
	// atOnce is how many names are asked for at the same time.
	atOnce = 32
)

// Config is what a Watch needs.
type Config struct {
	Objects *store.Store
	Lookup  func(ctx context.Context, name string) ([]netip.Addr, error)
	// Save changes the record of Kind beside the pool with the uuid: nil from edit means none. It does nothing if the
	// pool is gone.
	Save   func(ctx context.Context, kind, uuid string, edit func(*store.Record) (*store.Record, error)) error
	Events *events.Log
	Log    *slog.Logger
	Now    func() time.Time
}

// Watch resolves what is due. Its fields belong to the goroutine of Run.
type Watch struct {
	config  Config
	view    *store.View // the last one that was looked at
	pools   map[string]wanted
	names   map[string]*name
	running int
	ended   chan answer
}

// name is one that pools want.
type name struct {
	due  time.Time
	runs bool
	told map[string]bool // uuids of the pools whose events say that it cannot be resolved
}

type answer struct {
	name      string
	addresses []netip.Addr
	err       error
}

// New starts nothing; Run does.
func New(config Config) *Watch {
	return &Watch{config: config, pools: map[string]wanted{}, names: map[string]*name{},
		ended: make(chan answer, atOnce)}
}

// Run goes on until ctx or the store ends.
func (w *Watch) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	views := w.config.Objects.Changes(ctx)
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for {
		select {
		case view, open := <-views:
			if !open {
				return nil
			}
			w.look(ctx, view)
		case got := <-w.ended:
			w.finish(ctx, got)
		case <-alarm.C:
		}
		alarm.Reset(w.start(ctx).Sub(w.config.Now()))
	}
}

// look finds out what is wanted in a view. The names of a pool that has changed are due at once.
func (w *Watch) look(ctx context.Context, view *store.View) {
	changes := view.Since(w.view)
	for _, change := range changes {
		switch {
		case change.Kind == poolKind && change.Record != nil:
			w.want(wantedBy(change.Record))
		case change.Kind == poolKind:
			delete(w.pools, change.UUID)
		}
	}
	for _, change := range changes { // behind the others: what is stored is wanted by a pool that comes at any place
		_, stored := view.Get(Kind, change.UUID)
		if _, wants := w.pools[change.UUID]; (change.Kind == poolKind || change.Kind == Kind) && stored && !wants {
			w.save(ctx, change.UUID, nil)
		}
	}
	w.view = view
	used := map[string]bool{}
	for _, pool := range w.pools {
		for _, each := range pool.names {
			used[each] = true
		}
	}
	for each, state := range w.names {
		if !used[each] && !state.runs {
			delete(w.names, each)
		}
	}
}

func (w *Watch) want(pool wanted) {
	if len(pool.names) == 0 {
		delete(w.pools, pool.uuid)
		return
	}
	w.pools[pool.uuid] = pool
	for _, each := range pool.names {
		if w.names[each] == nil {
			w.names[each] = &name{told: map[string]bool{}}
		}
		w.names[each].due = w.config.Now()
	}
}

// start asks for the names that are due, and returns when the next ones are. What finds no room waits for an answer to
// another question.
func (w *Watch) start(ctx context.Context) (next time.Time) {
	now := w.config.Now()
	next = now.Add(time.Hour)
	for each, state := range w.names {
		switch {
		case state.runs:
		case state.due.After(now):
			if state.due.Before(next) {
				next = state.due
			}
		case w.running < atOnce && ctx.Err() == nil:
			state.runs = true
			w.running++
			go w.ask(ctx, each)
		}
	}
	return next
}

func (w *Watch) ask(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, lookupMost)
	defer cancel()
	found, err := w.config.Lookup(ctx, name)
	var addresses []netip.Addr
	for _, address := range found {
		if address = address.Unmap().WithZone(""); address.IsValid() && !address.IsUnspecified() &&
			!address.IsMulticast() {
			addresses = append(addresses, address)
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	addresses = slices.Compact(addresses)
	if err == nil && len(addresses) == 0 {
		err = fmt.Errorf("it has no address")
	}
	w.ended <- answer{name, addresses[:min(len(addresses), addressesMost)], err}
}

// finish keeps an answer. After a failure, and after a name that does not exist, the servers stay as they are.
func (w *Watch) finish(ctx context.Context, got answer) {
	w.running--
	state := w.names[got.name]
	state.runs = false
	if ctx.Err() != nil {
		return
	}
	state.due = w.config.Now().Add(refresh)
	wanted := false
	for _, pool := range w.pools {
		if !slices.Contains(pool.names, got.name) {
			continue
		}
		wanted = true
		switch {
		case got.err == nil:
			w.keep(ctx, pool, got)
			if state.told[pool.uuid] {
				w.tell(pool, "POOL_NAME_RESOLVED", fmt.Sprintf("the name %s has addresses again", got.name))
			}
		case !state.told[pool.uuid]:
			state.told[pool.uuid] = true
			w.tell(pool, "POOL_NAME_NOT_RESOLVED",
				fmt.Sprintf("the name %s cannot be resolved: %v. Its servers stay as they are", got.name, got.err))
		}
	}
	if got.err == nil {
		clear(state.told)
	}
	if !wanted { // since the question was asked
		delete(w.names, got.name)
	}
}

func (w *Watch) tell(pool wanted, id, message string) {
	w.config.Events.Add(events.Entry{ID: id, Kind: "POOL", UUID: pool.uuid, Name: pool.name, Tenant: pool.tenant,
		Message: message})
}

// keep stores the addresses of a name of a pool, if they are others than before.
func (w *Watch) keep(ctx context.Context, pool wanted, got answer) {
	known := in(w.config.Objects.View(), pool.uuid)
	if fresh := known.with(pool, got.name, got.addresses); !fresh.equal(known) {
		w.save(ctx, pool.uuid, fresh)
	}
}

// save stores what is known of a pool; nil: nothing.
func (w *Watch) save(ctx context.Context, pool string, resolved *Resolved) {
	err := w.config.Save(ctx, Kind, pool, func(*store.Record) (*store.Record, error) {
		if resolved == nil {
			return nil, nil
		}
		return store.RecordOf(Kind, pool, resolved)
	})
	if err != nil && ctx.Err() == nil {
		w.config.Log.Error("the addresses of the names of a pool cannot be stored", "pool", pool, "reason", err)
	}
}
