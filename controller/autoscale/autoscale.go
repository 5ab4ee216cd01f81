// Package autoscale has pools get more and fewer servers, as their policies say. decide.go decides, on values and the
// time; look.go collects what is known of a pool; order.go asks the webhook that makes and removes servers.
//
// It belongs to the leader. How far each order is, is in the store, beside the pool: the next leader goes on with it.
package autoscale

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/weir-lb/weir/controller/alert/notify"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/controller/turns"
)

const (
	lookEvery = 5 * time.Second
	// savesMost limits what is saved in one look, so that no look takes long. Other pools are decided in the next one.
	savesMost = 200
)

// Config is what a Watch needs.
type Config struct {
	View  func() *store.View
	Fleet *fleet.Fleet
	// Save stores a change, all of it or none.
	Save func(ctx context.Context, change Change) error
	// Post sends the JSON of what is said to a webhook once. id is of this delivery.
	Post   func(ctx context.Context, webhookUUID, id string, said any) notify.Result
	Pause  func(ctx context.Context, try int) // after a try that failed
	Events *events.Log
	Log    *slog.Logger
	Now    func() time.Time
}

// Change is what is to be written about a pool.
type Change struct {
	Pool            string // uuid
	Modified        int64  // stamp of the pool that was looked at; another one is not written
	State           *State // nil: it is to be forgotten
	Enable, Disable []string
}

// ErrChanged is the error of Save if the pool is not as it was looked at: nothing is written.
var ErrChanged = errors.New("the pool has just changed: it is looked at again")

// Status is what pages say about the scaling of a pool.
type Status struct {
	Policy      string // uuid
	Reason      string
	Size, Up    int // number of servers that are enabled, and of those that are up
	Least, Most int
	Load        *Load  // nil: it is not known
	Out, In     *Order // the last ones; nil: there was none
}

// Load is what the servers of a pool have and take.
type Load struct{ Connections, Capacity int }

// Of returns what is known of the scaling of a pool; nil: it has no policy, or nobody has looked yet. It does not wait
// for the fleet, so it may be asked under the lock of the fleet.
type Of func(poolUUID string) *Status

// Watch scales pools. It is safe for concurrent use.
type Watch struct {
	config Config
	asking map[string]*asking // by id of the order, at most two of each pool; only Look uses it
	pools  map[string]*memory // by uuid of the pool; only Look uses it
	saves  int                // in this look; only Look uses it
	lines  lines
	busy   sync.WaitGroup

	mu    sync.RWMutex
	known map[string]*Status // by uuid of the pool
}

// New starts nothing; Run does.
func New(config Config) *Watch {
	return &Watch{config: config, asking: map[string]*asking{}, pools: map[string]*memory{},
		lines: newLines(), known: map[string]*Status{}}
}

// Run looks until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	turns.Run(ctx, w.config.Now, lookEvery, turns.Scaling, func(time.Time) { w.Look(ctx) })
	w.busy.Wait()
	return nil
}

// Of is an [Of].
func (w *Watch) Of(poolUUID string) *Status {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.known[poolUUID]
}

// Look looks at all pools once.
func (w *Watch) Look(ctx context.Context) {
	view, known := w.config.View(), map[string]*Status{}
	alarms := sync.OnceValue(func() alarms { return alarmsIn(view) })
	w.saves = 0
	for _, record := range view.List(PoolKind) {
		if ref, _ := record.Object["autoscale_policy_ref"].(string); ref == "" {
			continue
		}
		if pool := w.remembers(record.UUID).read(view, record); pool != nil {
			known[record.UUID] = w.follow(ctx, view, pool, alarms)
		}
	}
	for _, record := range view.List(Kind) {
		if known[record.UUID] == nil {
			w.forget(ctx, view, record.UUID)
		}
	}
	w.stopAsking(known)
	maps.DeleteFunc(w.pools, func(uuid string, _ *memory) bool { return known[uuid] == nil })
	w.lines.forget(view)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known = known
}

// stopAsking ends to ask for orders that have gone on, and forgets what webhooks said about them.
func (w *Watch) stopAsking(known map[string]*Status) {
	asked := map[string]bool{}
	for _, status := range known {
		for _, order := range []*Order{status.Out, status.In} {
			if order != nil && order.Phase == Asking {
				asked[order.ID] = true
			}
		}
	}
	for id, one := range w.asking {
		if !asked[id] {
			one.cancel()
			delete(w.asking, id)
		}
	}
}

// scaled is a pool with a policy. Nothing changes it: it is kept as long as it is the newest.
type scaled struct {
	kinds.Pool
	tenant    string
	modified  int64
	policy    *kinds.ServerAutoScalePolicy
	launch    *kinds.AutoScaleLaunchConfig // nil: the pool has none
	webhook   string                       // uuid; empty: nobody can be asked
	isForeign bool                         // the webhook is of another tenant
}

// read returns nil if the pool or its policy cannot be read.
func read(view *store.View, record *store.Record) *scaled {
	pool, err := schema.Into[kinds.Pool](record.Object)
	if err != nil {
		return nil
	}
	s := &scaled{Pool: *pool, tenant: record.Tenant, modified: record.Modified}
	s.policy = object[kinds.ServerAutoScalePolicy](view, policyKind, pool.AutoscalePolicyRef)
	if s.policy == nil {
		return nil
	}
	if s.launch = object[kinds.AutoScaleLaunchConfig](view, launchKind, pool.AutoscaleLaunchRef); s.launch != nil {
		s.webhook = schema.UUIDOf(webhookKind, s.launch.WebhookRef)
		hook, found := view.Get(webhookKind, s.webhook)
		s.isForeign = found && hook.Tenant != s.tenant
	}
	return s
}

// object reads what a reference names; nil: it names nothing that can be read.
func object[T any](view *store.View, kind, ref string) *T {
	record, found := view.Get(kind, schema.UUIDOf(kind, ref))
	if !found {
		return nil
	}
	value, err := schema.Into[T](record.Object)
	if err != nil {
		return nil
	}
	return value
}

// follow decides about a pool, and carries out what was decided.
func (w *Watch) follow(ctx context.Context, view *store.View, pool *scaled, alarms func() alarms) *Status {
	now, seen, memory := w.config.Now(), w.see(pool, alarms), w.remembers(pool.UUID)
	state, _ := stateOf(view, pool.UUID)
	seen.outcomes = w.outcomes(state.Out.id(), state.In.id())
	removal := w.asking[state.In.id()]
	isHeld, isFree, release := removal.hold()
	defer release()
	seen.isHeld, seen.isFree = isHeld, isFree
	d := decision{State: state}
	switch {
	case now.Before(memory.rests):
		d.reason = memory.problem
	case pool.webhook == "":
		d = abandon(state, seen, now)
	case !pool.Enabled:
		d.reason = "the pool is disabled"
	default:
		d = decide(state, pool.policy, seen, now)
	}
	switch {
	case d.State.equal(state):
	case w.saves >= savesMost:
		d = decision{State: state, reason: "many pools scale at this moment: this one is looked at again"}
	default:
		w.saves++
		err := w.config.Save(ctx, Change{Pool: pool.UUID, Modified: pool.modified, State: &d.State,
			Enable: d.enable, Disable: d.disable})
		switch {
		case errors.Is(err, ErrChanged):
			d = decision{State: state, reason: err.Error()}
		case err != nil:
			w.config.Log.Error("the scaling of a pool cannot be stored", "pool", pool.Name, "reason", err)
			memory.rests, memory.problem = now.Add(patienceLeast), "the decision cannot be stored: "+err.Error()
			d = decision{State: state, reason: memory.problem}
		}
	}
	if removal != nil && !d.In.isAsked(state.In.ID) {
		removal.cancel()
	}
	for _, each := range d.told {
		w.tell(pool, each.id, each.message)
	}
	w.askFor(ctx, pool, seen, state, d.Out, d.In)
	status := &Status{Policy: pool.policy.UUID, Reason: d.reason, Size: seen.size(), Up: seen.up(),
		Least: int(pool.policy.MinSize), Most: pool.policy.Most(), Out: d.Out, In: d.In}
	if load, known := seen.load(); known {
		status.Load = &Load{load.open, load.capacity}
	}
	return status
}

func (w *Watch) tell(pool *scaled, id, message string) {
	w.config.Events.Add(events.Entry{ID: id, Kind: "POOL", UUID: pool.UUID, Name: pool.Name, Tenant: pool.tenant,
		Message: message, Related: []string{pool.policy.UUID}})
}

// forget forgets a pool that is gone, or has no policy any more.
func (w *Watch) forget(ctx context.Context, view *store.View, uuid string) {
	state, _ := stateOf(view, uuid)
	if err := w.config.Save(ctx, Change{Pool: uuid}); err != nil {
		w.config.Log.Error("the scaling of a pool cannot be forgotten", "pool", uuid, "reason", err)
		return
	}
	record, exists := view.Get(PoolKind, uuid)
	if exists && (state.In.isUnderWay() || state.In != nil && state.In.Phase == Failed) {
		w.config.Events.Add(events.Entry{ID: "SERVER_AUTOSCALE_IN_FAILED", Kind: "POOL", UUID: uuid, Name: record.Name,
			Tenant: record.Tenant, Message: state.In.dropped("the pool has no policy any more")})
	}
}
