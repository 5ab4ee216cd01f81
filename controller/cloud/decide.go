package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/model"
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
	// tellAfter is how often operators hear of a lack at most.
	tellAfter = time.Minute
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

// memory is what need not outlive the controller.
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

// forgetBusy drops the time since when an engine is idle once it is not.
func (w *world) forgetBusy() {
	idle := map[string]bool{}
	for _, need := range w.needs {
		for _, engine := range need.Idle {
			idle[engine] = true
		}
	}
	for engine := range w.memory.idleSince {
		if !idle[engine] {
			delete(w.memory.idleSince, engine)
		}
	}
}

// retireIdle lets engines go that had nothing to do for as long as the group says.
func (w *world) retireIdle(d *decision, need place.Need) {
	delay := time.Duration(need.Group.DeprovisionDelayMin) * time.Minute
	for _, engine := range need.Idle {
		i := slices.IndexFunc(w.instances, func(i Instance) bool { return i.Engine == engine && i.State == Joined })
		if i < 0 {
			continue
		}
		if _, known := w.memory.idleSince[engine]; !known {
			w.memory.idleSince[engine] = w.now
		}
		if end := w.memory.idleSince[engine].Add(delay); end.After(w.now) {
			d.wake(end, w.now)
			continue
		}
		w.become(d, w.instances[i], Retiring, "DELETING_SE",
			fmt.Sprintf("group %s wants %d engines, and it had nothing to do for %v", need.Group.Name, need.Wanted, delay))
	}
}

// fill finds places for the engines that a group lacks.
func (w *world) fill(d *decision, need place.Need) {
	group := need.Group
	if group.Cloud == nil {
		return
	}
	listing, starts := w.clouds[group.Cloud.UUID]
	missing := min(need.Wanted-len(need.Present)-w.coming(d, need), w.allowed(group))
	if !starts || missing <= 0 {
		delete(w.memory.lacking, group.UUID)
		return
	}
	if !w.isFresh(d, group.Cloud.UUID, listing) {
		return
	}
	for ; missing > 0; missing-- {
		free, found := w.free(d, listing)
		if !found {
			w.tellLack(d, need, listing)
			return
		}
		w.begin(d, need, free)
	}
	delete(w.memory.lacking, group.UUID)
}

// coming counts the engines that are about to be present.
func (w *world) coming(d *decision, need place.Need) int {
	count := 0
	for _, instance := range w.instances {
		switch {
		case instance.Group != need.Group.UUID || slices.Contains(need.Present, instance.Engine):
		case instance.State == Starting, instance.State == Joined && w.comesAgain(d, instance):
			count++
		}
	}
	return count
}

// comesAgain tells whether an engine that is lost is about to be back, as its first start after its end.
func (w *world) comesAgain(d *decision, instance Instance) bool {
	if w.memory.working[instance.Engine] || w.justStarted(d, instance) {
		return true
	}
	switch w.placeOf(d, instance).State {
	case Free, Stopped:
		return w.memory.failures[instance.Name].count == 0
	case unlisted:
		return true
	default:
		return false
	}
}

// allowed is how many more engines the group may have, those that are away counted in.
func (w *world) allowed(group *model.Group) int {
	allowed := int(group.MaxSE) - len(group.Engines)
	for _, instance := range w.instances {
		is := func(e *model.Engine) bool { return e.UUID == instance.Engine }
		if instance.Group == group.UUID && instance.State != Retiring && !slices.ContainsFunc(group.Engines, is) {
			allowed--
		}
	}
	return allowed
}

// free is the place that fits best: in the zone with the fewest instances.
func (w *world) free(d *decision, listing listing) (best Place, found bool) {
	var candidates []Place
	for _, place := range listing.places {
		held := func(i Instance) bool { return i.Name == place.Engine }
		if place.State == Free && !w.names[place.Engine] && !slices.ContainsFunc(w.instances, held) && w.memory.mayTry(d, place.Engine, w.now) {
			candidates = append(candidates, place)
		}
	}
	if len(candidates) == 0 {
		return best, false
	}
	return slices.MinFunc(candidates, func(a, b Place) int {
		return cmp.Or(cmp.Compare(w.memory.failures[a.Engine].count, w.memory.failures[b.Engine].count),
			cmp.Compare(w.inZone(a.Zone), w.inZone(b.Zone)))
	}), true
}

func (w *world) inZone(zone string) int {
	count := 0
	for _, instance := range w.instances {
		if instance.Zone == zone {
			count++
		}
	}
	return count
}

func (w *world) begin(d *decision, need place.Need, free Place) {
	instance := Instance{
		Engine: w.uuid(), Name: free.Engine, Cloud: need.Group.Cloud.UUID, Group: need.Group.UUID, Zone: free.Zone,
		State: Starting, Since: w.now,
	}
	w.instances = append(w.instances, instance)
	d.changed = append(d.changed, instance)
	d.tasks = append(d.tasks, task{create, instance})
	d.news = append(d.news, news{"CREATING_SE", instance,
		fmt.Sprintf("group %s wants %d engines and has %d: cloud %s starts it", need.Group.Name, need.Wanted, need.Have, need.Group.Cloud.Name)})
}

// lack is why nothing more could be started, and when that was told.
type lack struct {
	why string
	at  time.Time
}

// tellLack says once that nothing more can be started, and again when it is for another reason.
func (w *world) tellLack(d *decision, need place.Need, listing listing) {
	now := lack{listing.whyNone(), w.now}
	if last, told := w.memory.lacking[need.Group.UUID]; told && (last.why == now.why || last.at.Add(tellAfter).After(w.now)) {
		return
	}
	w.memory.lacking[need.Group.UUID] = now
	d.news = append(d.news, news{"CREATE_SE_FAIL", Instance{Group: need.Group.UUID}, fmt.Sprintf(
		"group %s wants %d engines and has %d: cloud %s %s", need.Group.Name, need.Wanted, need.Have, need.Group.Cloud.Name, now.why)})
}

// whyNone names a few of the places that cannot be used.
func (l listing) whyNone() string {
	if l.problem != "" {
		return "cannot be asked: " + l.problem
	}
	text := fmt.Sprintf("has no free place among its %d", len(l.places))
	const listed = 3
	told := 0
	for _, place := range l.places {
		if place.Problem != "" && told < listed {
			text += fmt.Sprintf("; %s: %s", place.Engine, place.Problem)
			told++
		}
	}
	return text
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
