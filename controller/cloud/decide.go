package cloud

import (
	"fmt"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/place"
)

const (
	// reportTimeout is how long an engine may take from its start to its first report.
	reportTimeout = 60 * time.Second
	// lookAfter is how long after its start the controller checks whether an engine that has not reported has ended.
	lookAfter = 5 * time.Second
	// awayFor is how long an engine may be away before the controller checks whether it runs: its agent may be about to
	// restart by itself.
	awayFor = 3 * time.Second
	// listedFor is how long a list of places stays valid.
	listedFor = 10 * time.Second
	// firstRetry is the pause after the first failure of a place. Each further failure doubles the pause, up to
	// lastRetry.
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
)

// world is the input of a decision.
type world struct {
	now       time.Time
	needs     []place.Need
	up        map[string]bool // engines by uuid: connected, and the data plane runs
	seated    map[string]bool // engines by uuid: they have virtual services
	joined    map[string]bool // engines by uuid: they are objects
	names     map[string]bool // names of these engines
	instances []Instance
	clouds    map[string]listing // by uuid: clouds that start engines
	memory    *memory
	uuid      func() string // makes the uuid of a new engine
}

// listing is the list of places that a cloud returned.
type listing struct {
	places  []Place
	problem string    // why the cloud returned no list
	at      time.Time // time of the answer; zero: there is none yet
}

// memory is what a leader keeps in memory only. The next leader begins without it.
type memory struct {
	working   map[string]bool      // by engine uuid: a task for it runs
	started   map[string]time.Time // by engine uuid: when this controller started or found it
	awaySince map[string]time.Time // by engine uuid
	idleSince map[string]time.Time // by engine uuid
	failures  failures             // by name of the place
	refusals  failures             // by engine uuid: writes about it that admission refused
	lacking   map[string]lack      // by group uuid: the last event that no place is left
}

func newMemory() *memory {
	return &memory{
		working: map[string]bool{}, started: map[string]time.Time{}, awaySince: map[string]time.Time{},
		idleSince: map[string]time.Time{},
		failures:  failures{}, refusals: failures{}, lacking: map[string]lack{},
	}
}

// decision is the output of decide.
type decision struct {
	changed []Instance
	tasks   []task
	list    []string // clouds that must list their places first
	news    []news
	again   time.Time // when to decide next; zero: no need
}

// task is an order to a cloud.
type task struct {
	verb     verb
	instance Instance
}

type verb int

const (
	create verb = iota
	retire
)

// news is an event: about an engine, which may not have joined yet; or, if the instance names no engine, about its
// group.
type news struct {
	id       string
	instance Instance
	message  string
}

// decide takes every instance one step further, and finds places for engines that are missing.
func (w *world) decide() decision {
	d := &decision{}
	for _, instance := range w.instances {
		w.step(d, instance)
	}
	w.forgetBusy()
	for _, need := range w.needs {
		w.retireIdle(d, need)
		w.fill(d, need)
	}
	return *d
}

func (w *world) step(d *decision, instance Instance) {
	switch {
	case w.memory.working[instance.Engine]:
	case instance.State == Starting && !w.wants(instance.Group):
		w.become(d, instance, Retiring, "DELETING_SE", "its group is deleted")
	case instance.State == Starting:
		w.stepStarting(d, instance)
	case instance.State == Retiring:
		w.stepRetiring(d, instance)
	case !w.joined[instance.Engine]:
		w.become(d, instance, Retiring, "DELETING_SE", "an operator deleted it")
	case w.up[instance.Engine]:
		w.memory.reported(instance)
	default:
		w.startAgain(d, instance)
	}
}

func (w *world) wants(group string) bool {
	return slices.ContainsFunc(w.needs, func(need place.Need) bool { return need.Group.UUID == group })
}

func (w *world) stepStarting(d *decision, instance Instance) {
	if w.up[instance.Engine] && w.joined[instance.Engine] {
		w.memory.reported(instance)
		w.become(d, instance, Joined, "", "")
		return
	}
	if started, known := w.memory.started[instance.Engine]; known {
		w.awaitReport(d, instance, started)
		return
	}
	switch w.placeOf(d, instance).State {
	case Free, Stopped:
		if w.memory.failures.mayTry(d, instance.Name, w.now) {
			d.tasks = append(d.tasks, task{create, instance})
		}
	default: // an earlier controller started it, or its state is unknown
		w.memory.started[instance.Engine] = w.now
		d.wake(w.now.Add(reportTimeout), w.now)
	case unlisted:
	}
}

// awaitReport retires an engine that ends before its first report, or does not report in time.
func (w *world) awaitReport(d *decision, instance Instance, started time.Time) {
	look, end := started.Add(lookAfter), started.Add(reportTimeout)
	d.wake(look, w.now)
	d.wake(end, w.now)
	switch {
	case !end.After(w.now):
		w.giveUp(d, instance, "CREATE_SE_TIMEOUT",
			fmt.Sprintf("it was started and has not reported within %v", reportTimeout))
	case look.After(w.now):
	default:
		if place := w.placeOf(d, instance); place.State == Stopped {
			w.giveUp(d, instance, "CREATE_SE_FAIL", "it ended as soon as it was started: "+place.Problem)
		}
	}
}

// giveUp retires an engine that does not come up. Its place pauses.
func (w *world) giveUp(d *decision, instance Instance, id, message string) {
	if w.become(d, instance, Retiring, id, message) {
		w.memory.failures.add(instance.Name, w.now)
	}
}

// stepRetiring waits until the engine has no virtual services.
func (w *world) stepRetiring(d *decision, instance Instance) {
	if !w.seated[instance.Engine] && w.memory.failures.mayTry(d, instance.Name, w.now) &&
		w.memory.refusals.mayTry(d, instance.Engine, w.now) {
		d.tasks = append(d.tasks, task{retire, instance})
	}
}

// startAgain restarts an engine that is away, if the cloud says that it does not run. An engine that runs but is away
// may be cut off from the controller and still serve.
func (w *world) startAgain(d *decision, instance Instance) {
	if _, known := w.memory.awaySince[instance.Engine]; !known {
		w.memory.awaySince[instance.Engine] = w.now
	}
	if end := w.memory.awaySince[instance.Engine].Add(awayFor); end.After(w.now) {
		d.wake(end, w.now)
		return
	}
	state := w.placeOf(d, instance).State
	if (state == Free || state == Stopped) && w.memory.failures.mayTry(d, instance.Name, w.now) &&
		!w.justStarted(d, instance) {
		d.news = append(d.news, news{"CREATING_SE", instance, "it has ended, and is started again"})
		d.tasks = append(d.tasks, task{create, instance})
	}
}

func (w *world) justStarted(d *decision, instance Instance) bool {
	end := w.memory.started[instance.Engine].Add(reportTimeout)
	d.wake(end, w.now)
	return end.After(w.now)
}

// unlisted is the state of a place while the cloud is asked for its places.
const unlisted PlaceState = -1

// placeOf returns the place of an instance, from a recent list of the cloud.
func (w *world) placeOf(d *decision, instance Instance) Place {
	listing, known := w.clouds[instance.Cloud]
	if listing.at.Before(w.memory.awaySince[instance.Engine]) { // the engine may have ended since the list was made
		listing.at = time.Time{}
	}
	if known && !w.isFresh(d, instance.Cloud, listing) {
		return Place{State: unlisted}
	}
	for _, place := range listing.places {
		if place.Engine == instance.Name {
			return place
		}
	}
	return Place{State: Unknown} // the cloud has this place no more
}

func (w *world) isFresh(d *decision, cloud string, listing listing) bool {
	if !listing.at.IsZero() && listing.at.Add(listedFor).After(w.now) {
		d.wake(listing.at.Add(listedFor), w.now)
		return true
	}
	if !slices.Contains(d.list, cloud) {
		d.list = append(d.list, cloud)
	}
	return false
}

// become changes the state of an instance. It does not if the store has refused a change of the instance lately.
func (w *world) become(d *decision, instance Instance, state State, id, message string) (done bool) {
	if !w.memory.refusals.mayTry(d, instance.Engine, w.now) {
		return false
	}
	i := slices.IndexFunc(w.instances, func(i Instance) bool { return i.Engine == instance.Engine })
	instance.State, instance.Since = state, w.now
	w.instances[i] = instance
	d.changed = append(d.changed, instance)
	if id != "" {
		d.news = append(d.news, news{id, instance, message})
	}
	return true
}

// wake asks for another decision at a time.
func (d *decision) wake(at, now time.Time) {
	if at.After(now) && (d.again.IsZero() || at.Before(d.again)) {
		d.again = at
	}
}
