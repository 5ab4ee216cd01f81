package cloud

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// town is one group in a simulated cloud: tasks are done at once, and engines report a second later.
type town struct {
	*testing.T
	now       time.Time
	group     *model.Group
	wanted    int
	places    []Place
	instances map[string]Instance // as in the store
	joined    map[string]string   // the engines that are objects: name by uuid
	up        map[string]bool
	seated    map[string]bool
	memory    *memory
	listed    time.Time
	refuses   map[string]error // by place: the error of Create
	silent    map[string]bool  // by place: its engine never reports
	told      []string
	numbers   int
}

func newTown(t *testing.T, places int, wanted int) *town {
	group := &model.Group{ServiceEngineGroup: *schema.Defaults[kinds.ServiceEngineGroup](), Cloud: &model.Cloud{}}
	group.UUID, group.Name, group.Cloud.UUID, group.Cloud.Name = "group", "web", "cloud", "lab"
	town := &town{
		T: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), group: group, wanted: wanted,
		instances: map[string]Instance{}, joined: map[string]string{}, up: map[string]bool{}, seated: map[string]bool{},
		memory: newMemory(), refuses: map[string]error{}, silent: map[string]bool{},
	}
	for i := range places {
		town.places = append(town.places, Place{Engine: fmt.Sprintf("e%d", i+1)})
	}
	return town
}

func (t *town) world() *world {
	w := &world{
		now: t.now, up: t.up, seated: t.seated, joined: map[string]bool{}, names: map[string]bool{}, memory: t.memory,
		clouds: map[string]listing{"cloud": {places: slices.Clone(t.places), at: t.listed}},
		uuid:   func() string { t.numbers++; return fmt.Sprintf("se-%02d", t.numbers) },
	}
	need := place.Need{Group: t.group, Wanted: t.wanted}
	t.group.Engines = nil
	for uuid, name := range t.joined {
		w.joined[uuid], w.names[name] = true, true
		engine := &model.Engine{}
		engine.UUID, engine.Name = uuid, name
		t.group.Engines = append(t.group.Engines, engine)
		if t.up[uuid] {
			need.Have, need.Present = need.Have+1, append(need.Present, uuid)
		}
	}
	slices.Sort(need.Present)
	for _, uuid := range need.Present {
		if len(need.Idle) < need.Have-need.Wanted && !t.seated[uuid] {
			need.Idle = append(need.Idle, uuid)
		}
	}
	for _, instance := range t.instances {
		w.instances = append(w.instances, instance)
	}
	slices.SortFunc(w.instances, func(a, b Instance) int { return strings.Compare(a.Name, b.Name) })
	w.needs = []place.Need{need}
	return w
}

// step is one second: it decides, does the tasks, and has the started engines report.
func (t *town) step() (tasks int) {
	t.Helper()
	for _, instance := range t.instances {
		if p := t.place(instance.Name); p.State == Running && !t.silent[instance.Name] && instance.State != Retiring {
			t.joined[instance.Engine], t.up[instance.Engine] = instance.Name, true
		}
	}
	t.now = t.now.Add(time.Second)
	w := t.world()
	d := w.decide()
	t.take(d)
	if len(d.list) > 0 {
		t.listed = t.now
	}
	for _, task := range d.tasks {
		heard, gone := w.hear(outcome{task, t.do(task)})
		t.take(heard)
		if gone {
			delete(t.instances, task.instance.Engine)
			delete(t.joined, task.instance.Engine)
		}
		t.listed = time.Time{}
	}
	t.check()
	return len(d.tasks)
}

func (t *town) take(d decision) {
	for _, instance := range d.changed {
		t.instances[instance.Engine] = instance
	}
	for _, n := range d.news {
		t.told = append(t.told, fmt.Sprintf("%s %s: %s", n.id, n.instance.Name, n.message))
	}
}

func (t *town) do(task task) error {
	t.Helper()
	p := t.place(task.instance.Name)
	if task.verb == retire {
		if t.seated[task.instance.Engine] {
			t.Fatalf("%s is retired with something on it", task.instance.Name)
		}
		p.State = Free
		delete(t.up, task.instance.Engine)
		return nil
	}
	if p.State == Running {
		t.Fatalf("%s is started twice", p.Engine)
	}
	if err := t.refuses[p.Engine]; err != nil {
		return err
	}
	p.State = Running
	return nil
}

func (t *town) place(name string) *Place {
	return &t.places[slices.IndexFunc(t.places, func(p Place) bool { return p.Engine == name })]
}

// check fails if a group has more engines than it may have, or a place has two.
func (t *town) check() {
	t.Helper()
	kept, names := 0, map[string]bool{}
	for _, instance := range t.instances {
		if names[instance.Name] {
			t.Fatalf("two are in %s: %v", instance.Name, t.instances)
		}
		names[instance.Name] = true
		if instance.State != Retiring {
			kept++
		}
	}
	if kept > int(t.group.MaxSE) {
		t.Fatalf("%d are more than max_se, %d", kept, t.group.MaxSE)
	}
}

// pass steps until there is nothing to do, but at least for the given time.
func (t *town) pass(least time.Duration) {
	t.Helper()
	end := t.now.Add(least)
	for t.now.Before(end) {
		t.step()
	}
}

func (t *town) restart() {
	t.memory, t.listed = newMemory(), time.Time{}
}

func (t *town) running() (names []string) {
	for _, place := range t.places {
		if place.State == Running {
			names = append(names, place.Engine)
		}
	}
	return names
}

func (t *town) mustRun(names ...string) {
	t.Helper()
	if running := t.running(); !slices.Equal(running, names) {
		t.Fatalf("%v run, not %v\n%s", running, names, strings.Join(t.told, "\n"))
	}
}

func (t *town) mustTell(words string) {
	t.Helper()
	if !strings.Contains(strings.Join(t.told, "\n"), words) {
		t.Errorf("%q is not told:\n%s", words, strings.Join(t.told, "\n"))
	}
}

func TestEnginesThatAreMissingAreStartedOnceAndAtOnce(t *testing.T) {
	town := newTown(t, 5, 3)
	if town.step(); town.step() != 3 {
		t.Error("not all are started as soon as the places are known")
	}
	town.pass(time.Minute)
	town.mustRun("e1", "e2", "e3")
	town.mustTell("CREATING_SE e1: group web wants 3 engines and has 0: cloud lab starts it")
}

func TestAControllerThatRestartsFindsItsEnginesAndStartsNoneTwice(t *testing.T) {
	for seconds := range 4 { // at any of these times
		town := newTown(t, 5, 3)
		town.pass(time.Duration(seconds) * time.Second)
		clear(town.up)
		town.restart()
		town.pass(time.Minute)
		town.mustRun("e1", "e2", "e3")
	}
}

func TestAnEngineThatDoesNotReportIsStartedElsewhere(t *testing.T) {
	town := newTown(t, 3, 1)
	town.silent["e1"] = true
	town.pass(reportTimeout + 10*time.Second)
	town.mustRun("e2")
	town.mustTell("CREATE_SE_TIMEOUT e1: it was started and has not reported within 1m0s")
}

func TestAnEngineThatEndsAtOnceIsStartedElsewhereAndItsLastWordsAreTold(t *testing.T) {
	town := newTown(t, 2, 1)
	town.silent["e1"] = true
	town.pass(3 * time.Second)
	*town.place("e1") = Place{Engine: "e1", State: Stopped, Problem: "the state directory is too long"}
	town.listed = time.Time{}
	town.pass(lookAfter + 5*time.Second)
	town.mustRun("e2")
	town.mustTell("CREATE_SE_FAIL e1: it ended as soon as it was started: the state directory is too long")
}

func TestAPlaceThatFailsIsLeftAloneForLongerEachTime(t *testing.T) {
	town := newTown(t, 1, 1)
	town.refuses["e1"] = errors.New("no space left on device")
	town.pass(10 * time.Minute)
	failures := 0
	for _, line := range town.told {
		if strings.HasPrefix(line, "CREATE_SE_FAIL e1: no space left") {
			failures++
		}
	}
	if failures < 4 || failures > 8 {
		t.Errorf("it was tried %d times:\n%s", failures, strings.Join(town.told, "\n"))
	}
	delete(town.refuses, "e1")
	town.pass(lastRetry + time.Minute)
	town.mustRun("e1")
}

func TestAGroupNeverHasMoreEnginesThanMaxSE(t *testing.T) {
	town := newTown(t, 9, 9)
	town.group.MaxSE = 4
	town.joined["se-by-hand"], town.up["se-by-hand"] = "by-hand", true
	town.pass(time.Minute)
	town.mustRun("e1", "e2", "e3")
}

func TestItIsToldOnceThatNoPlaceIsLeft(t *testing.T) {
	town := newTown(t, 3, 5)
	*town.place("e2") = Place{Engine: "e2", State: Unknown, Problem: "connection refused"}
	town.pass(time.Minute)
	town.mustRun("e1", "e3")
	told := 0
	for _, line := range town.told {
		if strings.Contains(line, "cloud lab has no free place among its 3; e2: connection refused") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("it was told %d times:\n%s", told, strings.Join(town.told, "\n"))
	}
	town.place("e2").Problem = "no route to host"
	town.pass(time.Minute)
	town.mustTell("e2: no route to host")
}

func TestAnEngineWithNothingToDoGoesAfterTheGroupsDelay(t *testing.T) {
	town := newTown(t, 3, 3)
	town.group.DeprovisionDelayMin = 2
	town.pass(time.Minute)
	town.wanted = 2
	town.pass(time.Minute)
	town.wanted = 3 // the group needs it again, and the idle time begins anew
	town.pass(time.Minute)
	town.wanted = 2
	town.pass(119 * time.Second)
	town.mustRun("e1", "e2", "e3")
	town.pass(5 * time.Second)
	if len(town.running()) != 2 {
		t.Errorf("%v run", town.running())
	}
	town.mustTell("group web wants 2 engines, and it had nothing to do for 2m0s")
}

func TestAnEngineThatEndedIsStartedAgainAndOneThatIsCutOffIsReplaced(t *testing.T) {
	for state, want := range map[PlaceState]int{Stopped: 2, Running: 3} {
		town := newTown(t, 5, 2)
		town.pass(10 * time.Second)
		town.place("e1").State = state
		town.silent["e1"] = state == Running
		for uuid, name := range town.joined {
			town.up[uuid] = name != "e1"
		}
		town.pass(awayFor + 3*time.Second)
		if place := town.place("e1"); place.State != Running {
			t.Errorf("it is not started again soon: %v", place)
		}
		town.pass(listedFor + 10*time.Second)
		if running := town.running(); len(running) != want {
			t.Errorf("its place is %v: %v run\n%s", state, running, strings.Join(town.told, "\n"))
		}
	}
}

func TestAnEngineThatAnOperatorDeletesIsRetired(t *testing.T) {
	town := newTown(t, 1, 1)
	town.pass(time.Minute)
	town.wanted = 0
	for uuid := range town.joined {
		delete(town.joined, uuid)
		delete(town.up, uuid)
		town.silent["e1"] = true
	}
	town.pass(time.Minute)
	town.mustRun()
}

func TestWhateverGoesWrongThereAreAsManyEnginesAsWantedInTheEnd(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			town := newTown(t, 6, 1)
			town.group.DeprovisionDelayMin = uint32(random.IntN(3))
			for range 300 {
				name := town.places[random.IntN(6)].Engine
				switch random.IntN(12) {
				case 0:
					town.wanted = random.IntN(6)
				case 1:
					town.refuses[name] = errors.New("refused")
				case 2:
					delete(town.refuses, name)
				case 3:
					town.silent[name] = !town.silent[name]
				case 4:
					clear(town.up)
					town.restart()
				}
				town.pass(time.Duration(1+random.IntN(20)) * time.Second)
			}
			clear(town.refuses)
			clear(town.silent)
			town.pass(lastRetry + 10*time.Minute)
			if running := town.running(); len(running) != town.wanted {
				t.Errorf("%v run, %d are wanted: %v\n%s", running, town.wanted, town.instances,
					strings.Join(town.told[max(0, len(town.told)-30):], "\n"))
			}
		})
	}
}
