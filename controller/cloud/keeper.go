package cloud

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const (
	// tasksMax is how many tasks run at the same time. More would only wait for the same machine.
	tasksMax = 8
	// taskTimeout bounds one task, which may copy programs to a host.
	taskTimeout = 5 * time.Minute
	listTimeout = 30 * time.Second
	retryAfter  = time.Second // after a write that failed

	engineKind = "serviceengine"
)

// Tokens makes the one-time tokens with which engines join.
type Tokens interface {
	Issue(ctx context.Context) (string, error)
}

// Config is what a Keeper needs.
type Config struct {
	Objects    *store.Store
	Gate       *admit.Gate
	Tokens     Tokens
	Events     *events.Log
	Log        *slog.Logger
	Controller string                         // host:port that engines dial; see Join
	Resolve    func(cloud *model.Cloud) Cloud // returns nil if operators start the engines of the cloud
}

// Keeper has clouds start and retire engines.
type Keeper struct {
	Config
	mu   sync.Mutex
	seen reconcile.Observation
	poke chan struct{} // capacity 1
	hear chan func()   // results of tasks, as functions that Run calls

	places chan struct{} // holds one value for each task that runs
	tasks  sync.WaitGroup

	// Only Run uses these.
	memory  *memory
	model   *model.Model
	clouds  map[string]Cloud // clouds of model, by uuid
	listed  map[string]listing
	listing map[string]bool // clouds that are being asked
}

// NewKeeper returns a Keeper that does nothing until Run is called.
func NewKeeper(config Config) *Keeper {
	return &Keeper{
		Config: config, poke: make(chan struct{}, 1), hear: make(chan func()), places: make(chan struct{}, tasksMax),
		memory: newMemory(), listed: map[string]listing{}, listing: map[string]bool{},
	}
}

// Observe gives the Keeper the newest state to act on. It never blocks.
func (k *Keeper) Observe(seen reconcile.Observation) {
	k.mu.Lock()
	k.seen = seen
	k.mu.Unlock()
	select {
	case k.poke <- struct{}{}:
	default:
	}
}

// Run acts until ctx ends. Tasks in progress are cancelled then: the next controller finds their instances in the
// store.
func (k *Keeper) Run(ctx context.Context) error {
	defer k.tasks.Wait()
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.poke:
		case <-alarm.C:
		case took := <-k.hear:
			took()
		}
		again, err := k.step(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			k.Log.Error("the decisions about engines cannot be stored; the controller decides again", "reason", err)
			again = time.Now().Add(retryAfter)
		}
		if !again.IsZero() {
			alarm.Reset(time.Until(again))
		}
	}
}

// step decides once. It writes the decision to the store before a cloud acts on it.
func (k *Keeper) step(ctx context.Context) (again time.Time, err error) {
	world, err := k.world()
	if err != nil || world == nil {
		return again, err
	}
	d := world.decide()
	err = k.write(ctx, world, &d)
	k.tell(d.news)
	for _, cloud := range d.list {
		k.list(ctx, cloud)
	}
	for _, task := range d.tasks {
		k.start(ctx, task)
	}
	return d.again, err
}

// world returns nil before the first observation.
func (k *Keeper) world() (*world, error) {
	k.mu.Lock()
	seen := k.seen
	k.mu.Unlock()
	if seen.Model == nil {
		return nil, nil
	}
	view := k.Objects.View()
	instances, err := instancesIn(view)
	if err != nil {
		return nil, err
	}
	w := &world{
		now: time.Now().UTC(), needs: seen.Needs, up: seen.Up, seated: seen.Seated, joined: map[string]bool{},
		names:     map[string]bool{},
		instances: instances, clouds: map[string]listing{}, memory: k.memory, uuid: newUUID,
	}
	for _, engine := range view.List(engineKind) {
		w.joined[engine.UUID], w.names[engine.Name] = true, true
	}
	k.resolve(seen.Model)
	for uuid := range k.clouds {
		w.clouds[uuid] = k.listed[uuid]
	}
	return w, nil
}

// resolve finds the clouds of a model, once for each model.
func (k *Keeper) resolve(seen *model.Model) {
	if k.model == seen {
		return
	}
	k.model, k.clouds = seen, map[string]Cloud{}
	for _, group := range seen.Groups {
		if group.Cloud == nil || k.clouds[group.Cloud.UUID] != nil {
			continue
		}
		if cloud := k.Resolve(group.Cloud); cloud != nil {
			k.clouds[group.Cloud.UUID] = cloud
		}
	}
}

func newUUID() string {
	kind, _ := schema.Lookup(engineKind)
	return kind.Prefix + "-" + uuid.NewString()
}

// write stores the changed instances of a decision, each in its own transaction: a refusal concerns one engine only. It
// takes out of the decision what is not written. Error: nothing can be written at present.
func (k *Keeper) write(ctx context.Context, w *world, d *decision) error {
	for i, instance := range d.changed {
		refused, err := k.update(ctx, func(tx *admit.Tx) error { return putInstance(tx, instance) })
		if err != nil {
			d.forget(d.changed[i:])
			return err
		}
		w.answer(d, instance, refused, "its object cannot be changed")
	}
	return nil
}

// remove deletes an instance whose engine has ended, and the engine.
func (k *Keeper) remove(ctx context.Context, w *world, d *decision, gone Instance) error {
	refused, err := k.update(ctx, func(tx *admit.Tx) error { return removeInstance(tx, gone) })
	if err == nil {
		w.answer(d, gone, refused, "it has ended, and its object cannot be deleted")
	}
	return err
}

// update writes something about one engine. refused is why it may not be written, err why nothing can be written.
func (k *Keeper) update(ctx context.Context, decide func(tx *admit.Tx) error) (refused, err error) {
	err = k.Gate.Update(ctx, admit.System("cloud"), func(tx *admit.Tx) error {
		refused = decide(tx)
		return refused
	})
	if refused != nil {
		return refused, nil
	}
	return nil, err
}

// putInstance disables the engine of an instance that retires, so that the engine gets no new virtual services.
func putInstance(tx *admit.Tx, instance Instance) error {
	if err := tx.Keep(recordOf(instance)); err != nil {
		return err
	}
	if _, there := tx.View().Get(engineKind, instance.Engine); !there || instance.State != Retiring {
		return nil
	}
	return tx.Change(engineKind, instance.Engine, func(engine schema.Object) {
		engine["enable_state"] = "SE_STATE_DISABLED"
	})
}

func removeInstance(tx *admit.Tx, gone Instance) error {
	if err := tx.Forget(instanceKind, gone.Engine); err != nil {
		return err
	}
	if _, there := tx.View().Get(engineKind, gone.Engine); !there {
		return nil
	}
	return tx.Delete(engineKind, gone.Engine)
}

func (k *Keeper) tell(all []news) {
	for _, n := range all {
		entry := events.Engine{UUID: n.instance.Engine, Name: n.instance.Name}.Entry(n.id, n.message)
		if n.instance.Engine == "" {
			entry.Kind, entry.UUID, entry.Name = "SERVICEENGINEGROUP", n.instance.Group, k.groupName(n.instance.Group)
		}
		k.Events.Add(entry)
	}
}

func (k *Keeper) groupName(uuid string) string {
	group, _ := k.Objects.View().Get("serviceenginegroup", uuid)
	if group == nil {
		return uuid
	}
	return group.Name
}

// list asks a cloud for its places, unless a request to it is in progress.
func (k *Keeper) list(ctx context.Context, uuid string) {
	cloud := k.clouds[uuid]
	if cloud == nil || k.listing[uuid] {
		return
	}
	k.listing[uuid] = true
	k.run(ctx, listTimeout, func(ctx context.Context) func() {
		places, err := cloud.List(ctx)
		return func() {
			k.listing[uuid] = false
			said := listing{places: places[:min(len(places), PlacesMax)], at: time.Now()}
			if err != nil {
				said.problem = err.Error()
			}
			k.listed[uuid] = said
		}
	})
}

// start has a cloud do a task.
func (k *Keeper) start(ctx context.Context, t task) {
	k.memory.working[t.instance.Engine] = true
	cloud := k.clouds[t.instance.Cloud]
	k.run(ctx, taskTimeout, func(within context.Context) func() {
		err := k.carryOut(within, cloud, t)
		return func() { k.finish(ctx, outcome{t, err}) }
	})
}

func (k *Keeper) carryOut(ctx context.Context, cloud Cloud, t task) error {
	if cloud == nil {
		return errors.New("the controller no longer starts and ends engines in this cloud: end the engine yourself; " +
			"the controller deletes it when it manages the cloud again")
	}
	k.places <- struct{}{}
	defer func() { <-k.places }()
	if t.verb == retire {
		return cloud.Retire(ctx, t.instance.Name)
	}
	token, err := k.Tokens.Issue(ctx)
	if err != nil {
		return err
	}
	return cloud.Create(ctx, t.instance.Name, Join{Controller: k.Controller, Token: token})
}

// run calls do in the background. The function that do returns is called by Run.
func (k *Keeper) run(ctx context.Context, timeout time.Duration, do func(context.Context) func()) {
	k.tasks.Go(func() {
		within, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		took := do(within)
		select {
		case k.hear <- took:
		case <-ctx.Done():
		}
	})
}

// finish handles the result of a task.
func (k *Keeper) finish(ctx context.Context, o outcome) {
	if ctx.Err() != nil {
		return
	}
	w := &world{now: time.Now().UTC(), memory: k.memory}
	d, gone := w.hear(o)
	err := k.write(ctx, w, &d)
	if gone {
		err = k.remove(ctx, w, &d, o.instance)
	}
	if err != nil {
		k.Log.Error("the new state of an engine cannot be stored", "engine", o.instance.Name, "reason", err)
	}
	delete(k.listed, o.instance.Cloud) // the list has changed
	k.tell(d.news)
}
