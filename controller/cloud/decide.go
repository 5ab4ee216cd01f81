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
	// lookAfter is when an engine that has not reported is looked at: it may have ended.
	lookAfter = 5 * time.Second
	// awayFor is how long an engine may be away before it is looked at: an agent may be about to start again by itself.
	awayFor = 3 * time.Second
	// listedFor is how long what a cloud said of its places is good for.
	listedFor = 10 * time.Second
	// firstRetry is when a place that failed is tried again; each failure doubles it.
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
)

// world is all that is decided upon.
type world struct {
	now       time.Time
	needs     []place.Need
	up        map[string]bool // engines by uuid: connected, and the data plane runs
	seated    map[string]bool // engines by uuid: something is on them
	joined    map[string]bool // engines by uuid: they are objects
	names     map[string]bool // of these
	instances []Instance
	clouds    map[string]listing // by uuid: the clouds that start engines
	memory    *memory
	uuid      func() string // of a new engine
}

// listing is what a cloud said of its places.
type listing struct {
	places  []Place
	problem string    // why it does not say what its places are
	at      time.Time // zero: it was not asked yet
}

// memory is what need not outlive the leader: the next one waits, counts and tells anew.
type memory struct {
	working   map[string]bool      // by engine uuid: a task of it runs
	started   map[string]time.Time // by engine uuid: when it was started by this controller, or found
	awaySince map[string]time.Time // by engine uuid
	idleSince map[string]time.Time // by engine uuid
	failures  map[string]failure   // by name of the place
	lacking   map[string]lack      // by group uuid: what was told of that no place is left
}

func newMemory() *memory {
	return &memory{
		working: map[string]bool{}, started: map[string]time.Time{}, awaySince: map[string]time.Time{}, idleSince: map[string]time.Time{},
		failures: map[string]failure{}, lacking: map[string]lack{},
	}
}

// decision is what follows.
type decision struct {
	changed []Instance
	tasks   []task
	list    []string // clouds whose places have to be known first
	news    []news
	again   time.Time // zero: no need
}

// task is something that a cloud shall do.
type task struct {
	verb     verb
	instance Instance
}

type verb int

const (
	create verb = iota
	retire
)

// news is an event about an engine that may not have joined yet, or, with no engine, about a group.
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
		d.tasks = append(d.tasks, task{create, instance})
	default: // the controller before this one started it, or it cannot be told
		w.memory.started[instance.Engine] = w.now
		d.wake(w.now.Add(reportTimeout), w.now)
	case unlisted:
	}
}

// awaitReport gives an engine up that ends before it reports, or does not report in time.
func (w *world) awaitReport(d *decision, instance Instance, started time.Time) {
	look, end := started.Add(lookAfter), started.Add(reportTimeout)
	d.wake(look, w.now)
	d.wake(end, w.now)
	switch {
	case !end.After(w.now):
		w.memory.fail(instance.Name, w.now)
		w.become(d, instance, Retiring, "CREATE_SE_TIMEOUT", fmt.Sprintf("it was started and has not reported within %v", reportTimeout))
	case look.After(w.now):
	default:
		if place := w.placeOf(d, instance); place.State == Stopped {
			w.memory.fail(instance.Name, w.now)
			w.become(d, instance, Retiring, "CREATE_SE_FAIL", "it ended as soon as it was started: "+place.Problem)
		}
	}
}

// stepRetiring waits until nothing is on the engine.
func (w *world) stepRetiring(d *decision, instance Instance) {
	if !w.seated[instance.Engine] && w.memory.mayTry(d, instance.Name, w.now) {
		d.tasks = append(d.tasks, task{retire, instance})
	}
}

// startAgain: one that runs and does not report is not to be started twice; it may be cut off, and serve.
func (w *world) startAgain(d *decision, instance Instance) {
	if _, known := w.memory.awaySince[instance.Engine]; !known {
		w.memory.awaySince[instance.Engine] = w.now
	}
	if end := w.memory.awaySince[instance.Engine].Add(awayFor); end.After(w.now) {
		d.wake(end, w.now)
		return
	}
	state := w.placeOf(d, instance).State
	if (state == Free || state == Stopped) && w.memory.mayTry(d, instance.Name, w.now) && !w.justStarted(d, instance) {
		d.news = append(d.news, news{"CREATING_SE", instance, "it has ended, and is started again"})
		d.tasks = append(d.tasks, task{create, instance})
	}
}

func (w *world) justStarted(d *decision, instance Instance) bool {
	end := w.memory.started[instance.Engine].Add(reportTimeout)
	d.wake(end, w.now)
	return end.After(w.now)
}

// unlisted: the cloud is asked just now.
const unlisted PlaceState = -1

// placeOf is what is in the place of an instance, as far as that was listed lately.
func (w *world) placeOf(d *decision, instance Instance) Place {
	listing, known := w.clouds[instance.Cloud]
	if listing.at.Before(w.memory.awaySince[instance.Engine]) { // it may have ended since
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
	return Place{State: Unknown} // it is taken out of the cloud
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

func (w *world) become(d *decision, instance Instance, state State, id, message string) {
	i := slices.IndexFunc(w.instances, func(i Instance) bool { return i.Engine == instance.Engine })
	instance.State, instance.Since = state, w.now
	w.instances[i] = instance
	d.changed = append(d.changed, instance)
	if id != "" {
		d.news = append(d.news, news{id, instance, message})
	}
}

// wake asks to be called at a time.
func (d *decision) wake(at, now time.Time) {
	if at.After(now) && (d.again.IsZero() || at.Before(d.again)) {
		d.again = at
	}
}
