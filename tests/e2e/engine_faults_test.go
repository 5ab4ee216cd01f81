package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-lb/weir/lab/clients"
	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/topology"
)

// engineFault is what happens to engine-2, how it is undone, and the expected events.
type engineFault struct {
	name        string
	does, undo  func(*fabric) error
	served      bool     // the router still sends clients to it
	told, later []string // beginnings of events by their kind: "SE_DOWN engine-2: "
}

var engineFaults = []engineFault{
	{name: "killed",
		does: func(f *fabric) error { return f.namespace("engine-2").Kill() },
		undo: func(f *fabric) error { return f.site.Restart(f.ctx, "engine-2") },
		told: []string{"SE_DOWN engine-2: "}, later: []string{"SE_UP engine-2: serves"}},
	{name: "frozen",
		does:  func(f *fabric) error { return f.namespace("engine-2").Signal(syscall.SIGSTOP) },
		undo:  func(f *fabric) error { return f.namespace("engine-2").Signal(syscall.SIGCONT) },
		told:  []string{"SE_HEARTBEAT_FAILURE engine-2: ", "SE_DOWN engine-2: "},
		later: []string{"SE_UP engine-2: serves"}},
	{name: "cut off from the router",
		does: func(f *fabric) error { return f.router.Cut("engine-2") },
		undo: func(f *fabric) error { return f.router.Connect("engine-2") },
		told: []string{"SE_BGP_PEER_STATE_CHANGE engine-2: "}, later: []string{"SE_BGP_PEER_STATE_CHANGE engine-2: "}},
	{name: "cut off from the controller", served: true,
		does:  func(f *fabric) error { return f.namespace(topology.ControllerName).Cut("engine-2") },
		undo:  func(f *fabric) error { return f.namespace(topology.ControllerName).Connect("engine-2") },
		told:  []string{"SE_HEARTBEAT_FAILURE engine-2: ", "SE_DOWN engine-2: "},
		later: []string{"SE_UP engine-2: serves"}},
	{name: "gone with its namespace",
		does: func(f *fabric) error {
			return errors.Join(f.namespace("engine-2").Kill(), f.site.Network.Detach("engine-2"))
		},
		undo: func(f *fabric) error { return f.site.Restart(f.ctx, "engine-2") },
		told: []string{"SE_DOWN engine-2: "}, later: []string{"SE_UP engine-2: serves"}},
}

func TestTrafficGoesToTheOtherEnginesWhateverHappensToOne(t *testing.T) {
	behindEachRouter(t, func(t *testing.T, behind func(*topology.Topology)) {
		f := setUpFabric(t, 3, behind)
		for _, fault := range engineFaults {
			t.Run(fault.name, func(t *testing.T) {
				here := *f
				here.stage = &stage{T: t, ctx: f.ctx, dir: f.dir, controller: f.controller}
				here.suffer(fault)
			})
		}
	})
}

func (f *fabric) suffer(fault engineFault) {
	f.Helper()
	f.untilWatched(3)
	before := f.story()
	crowd := f.beginCrowd()
	undone := false
	defer func() { // for the next fault, when this one was the end of its test
		if !undone {
			f.must(fault.undo(f))
		}
	}()
	f.must(fault.does(f))
	if fault.served {
		f.untilHops("engine-1", "engine-2", "engine-3")
	} else {
		f.untilHops("engine-1", "engine-3")
	}
	withdrawn := time.Now()
	counts := f.spread(secureURL, 100)
	if (counts["engine-2"] > 0) != fault.served {
		f.Errorf("while it is %s: %v", fault.name, counts)
	}
	f.untilStory(before, fault.told)
	before = f.story()
	undone = true
	f.must(fault.undo(f))
	f.untilHops("engine-1", "engine-2", "engine-3")
	// its first session may end once more: the router may yet miss the one before
	f.eventually("it serves again", func() error {
		if counts := f.spread(secureURL, 100); counts["engine-2"] == 0 {
			return fmt.Errorf("%v", counts)
		}
		return nil
	})
	f.untilStory(before, fault.later)
	f.endCrowd(crowd, "engine-2", withdrawn)
}

// beginCrowd sets the client to steady work, over connections that stay and over new ones.
func (f *fabric) beginCrowd(flags ...string) *clients.Crowd {
	f.Helper()
	loads := clients.Steady(f.site, secureURL)
	for i := range loads {
		loads[i].Flags = append(loads[i].Flags, flags...)
	}
	crowd, err := clients.Begin(f.ctx, f.site, loads...)
	f.must(err)
	return crowd
}

// losesNothing does something while the client is at work, for which no request may fail.
func (f *fabric) losesNothing(meanwhile func()) {
	f.Helper()
	crowd := f.beginCrowd(patient...)
	meanwhile()
	seen, err := crowd.End()
	f.must(err)
	if seen.Requests == 0 || seen.Failed > 0 {
		f.Errorf("of %d requests %d failed: %+v", seen.Requests+seen.Failed, seen.Failed, seen.Failures)
	}
	f.Logf("%d requests, and %d failed", seen.Requests, seen.Failed)
}

// endCrowd checks the failures that clients saw: each must belong to an engine whose route the router had dropped.
func (f *fabric) endCrowd(crowd *clients.Crowd, engine string, withdrawn time.Time) {
	f.Helper()
	seen, err := crowd.End()
	f.must(err)
	if others := clients.AwayFrom(engine, seen.Failures, withdrawn); seen.Requests == 0 || len(others) > 0 {
		f.Errorf("of %d requests these failed on other engines: %+v", seen.Requests+seen.Failed, others)
	}
	f.Logf("of %d requests %d failed%s", seen.Requests+seen.Failed, seen.Failed, clients.Causes(seen.Failures))
}

func (f *fabric) namespace(node string) *network.Namespace {
	f.Helper()
	space, err := f.site.Network.Namespace(node)
	f.must(err)
	return space
}

// story is all events, newest first: "SE_DOWN engine-2: the controller does not hear from it".
func (f *fabric) story() (told []string) {
	f.Helper()
	var logs struct {
		Results []struct {
			ID      string `json:"event_id"`
			Name    string `json:"obj_name"`
			Message string `json:"event_description"`
		} `json:"results"`
	}
	f.must(f.controller.Session.Get(f.ctx, "analytics/logs?type=2&source=memory&page_size=1000", &logs))
	for _, event := range logs.Results {
		told = append(told, fmt.Sprintf("%s %s: %s", event.ID, event.Name, event.Message))
	}
	return told
}

// untilStory waits until the events since then tell all that is wanted, by their beginnings.
func (f *fabric) untilStory(before, want []string) {
	f.Helper()
	f.eventually(fmt.Sprintf("events tell of %q", want), func() error {
		told := f.story()
		told = told[:len(told)-len(before)]
		for _, beginning := range want {
			if !strings.Contains("\n"+strings.Join(told, "\n"), "\n"+beginning) {
				return fmt.Errorf("they tell %q", told)
			}
		}
		return nil
	})
}

func TestEnginesServeAndAnnounceWhileTheControllerIsAway(t *testing.T) {
	behindEachRouter(t, func(t *testing.T, behind func(*topology.Topology)) {
		f := setUpFabric(t, 2, behind)
		controller, err := f.site.Network.Namespace(topology.ControllerName)
		f.must(err)
		f.untilWatched(2)
		crowd := f.beginCrowd()
		f.must(controller.Cut("engine-1"))
		f.must(f.controller.Kill())
		engine, err := f.site.Network.Namespace("engine-2")
		f.must(err)
		f.must(engine.Kill())
		f.untilHops("engine-1")
		withdrawn := time.Now()
		f.spread(secureURL, 50)
		f.must(f.site.Engines.Start("engine-2", f.site.Join()))
		f.untilHops("engine-1", "engine-2")
		if counts := f.spread(secureURL, 100); counts["engine-2"] == 0 {
			t.Errorf("the engine that was restarted serves nothing: %v", counts)
		}
		f.must(f.controller.Restart(context.WithoutCancel(f.ctx)))
		f.must(controller.Connect("engine-1"))
		f.waitUp("web")
		f.untilApplied("applied on 2 of 2 engines")
		for _, told := range f.story() {
			if strings.HasPrefix(told, "SE_UP ") || strings.HasPrefix(told, "VS_UP ") {
				t.Errorf("it was up before the controller started: %s", told)
			}
		}
		f.endCrowd(crowd, "engine-2", withdrawn)
	})
}
