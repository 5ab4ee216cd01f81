package fleet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
)

func TestEventsTellOfTheFirstStartOnlyThatItServesOrFails(t *testing.T) {
	status := func(state enginev1.DataplaneState) *enginev1.Status { return &enginev1.Status{Dataplane: state} }
	const starting = enginev1.DataplaneState_DATAPLANE_STATE_STARTING
	const backingOff = enginev1.DataplaneState_DATAPLANE_STATE_BACKING_OFF
	for _, story := range []struct {
		states []*enginev1.Status
		want   string
	}{
		{[]*enginev1.Status{status(starting), fleettest.Running}, "[SE_UP]"},
		{[]*enginev1.Status{{}, status(starting), fleettest.Running}, "[SE_UP]"},
		{[]*enginev1.Status{status(starting), status(backingOff), status(starting), fleettest.Running},
			"[SE_UP SE_DOWN]"},
		{[]*enginev1.Status{fleettest.Running, status(backingOff), status(starting), status(backingOff)},
			"[SE_DOWN SE_UP]"},
	} {
		s := fleettest.Empty(t)
		s.Connected("se-one", &enginev1.Hello{Status: story.states[0]})
		for _, state := range story.states[1:] {
			s.Status("se-one", state)
		}
		var told []string
		for _, entry := range s.Events.Entries() {
			told = append(told, entry.ID)
		}
		if got := fmt.Sprint(told); got != story.want {
			t.Errorf("newest first %s, want %s", got, story.want)
		}
	}
}

func TestNoEventSaysThatAnEngineServesWhichServedBeforeTheControllerStarted(t *testing.T) {
	s := fleettest.Empty(t)
	come := func(engine string, revision uint64) []string {
		return s.Told(func() {
			s.Connected(engine, &enginev1.Hello{Status: fleettest.Running, Revision: revision})
		})
	}
	if told := come("se-one", 9); told != nil {
		t.Errorf("an engine that is back: %q", told)
	}
	serves := func(name string) []string { return []string{"SE_UP SERVICEENGINE " + name + " serves"} }
	s.Disconnected("se-one", "gone")
	if told := come("se-one", 9); !slices.Equal(told, serves("one")) {
		t.Errorf("it left and is back: %q", told)
	}
	if told := come("se-new", 0); !slices.Equal(told, serves("new")) {
		t.Errorf("a new engine: %q", told)
	}
	s.Now = s.Now.Add(2 * time.Minute)
	if told := come("se-late", 9); !slices.Equal(told, serves("late")) {
		t.Errorf("an engine that was away for long: %q", told)
	}
}

func TestEventNamesAnEngineThatHasJustJoinedByItsName(t *testing.T) {
	s := fleettest.Empty(t) // the model does not have the engine yet
	told := s.Told(func() { s.Connected("se-edge", &enginev1.Hello{Status: fleettest.Running}) })
	if !slices.Equal(told, []string{"SE_UP SERVICEENGINE edge serves"}) {
		t.Errorf("told is %q", told)
	}
}

func TestEventSaysOnceThatAnEngineChecksTooManyServers(t *testing.T) {
	s := fleettest.Empty(t)
	s.Connected("se-one", &enginev1.Hello{Status: fleettest.Running})
	flood := &enginev1.ServerVerdicts{}
	for i := range 50_002 {
		flood.Verdicts = append(flood.Verdicts, &enginev1.ServerVerdict{PoolUuid: "pool-1", ServerId: fmt.Sprint(i)})
	}
	report := &enginev1.Report{Body: &enginev1.Report_Verdicts{Verdicts: flood}}
	told := s.Told(func() { s.Reported("se-one", report); s.Reported("se-one", report) })
	if len(told) != 1 || !strings.HasPrefix(told[0], "SE_VERDICTS_DROPPED SERVICEENGINE one ") {
		t.Errorf("told is %q", told)
	}
}

func TestEventsTellAnEngineThatFellSilentFromOneWhoseConnectionIsLost(t *testing.T) {
	s := fleettest.Empty(t)
	s.Missed("se-one", 5) // this engine has never connected
	s.Connected("se-one", &enginev1.Hello{Status: fleettest.Running})
	s.Missed("se-one", 5)
	s.Disconnected("se-one", "no heartbeat from the agent")
	s.Missed("se-one", 5) // nor does this engine exist
	var told []string
	for _, entry := range s.Events.Entries() {
		told = append(told, entry.ID+" "+entry.Message)
	}
	want := []string{
		"SE_DOWN no heartbeat from the agent",
		"SE_HEARTBEAT_FAILURE 5 heartbeats in a row are missing: the agent hangs, or is cut off from the controller",
		"SE_UP serves",
	}
	if !slices.Equal(told, want) {
		t.Errorf("newest first %q, want %q", told, want)
	}
}

func TestWhatAnAgentSaysHappenedIsAmongTheEvents(t *testing.T) {
	s := fleettest.Empty(t)
	s.Connected("se-one", &enginev1.Hello{})
	s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Event{Event: &enginev1.Event{
		Id: "SE_BGP_PEER_STATE_CHANGE", ObjectKind: "vrfcontext", ObjectUuid: "vrf-1",
		Message: "BGP peer 10.0.0.1 is down",
	}}})
	entries := s.Events.Entries()
	if len(entries) == 0 {
		t.Fatal("no event")
	}
	told := entries[0]
	if told.ID != "SE_BGP_PEER_STATE_CHANGE" || told.UUID != "se-one" || !strings.Contains(told.Message, "is down") {
		t.Errorf("told: %+v", told)
	}
}

func sentAway(unixMs, evicted, refused, memory uint64) *enginev1.Report {
	return &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
		Pid: 7, UnixMs: unixMs,
		VirtualServices: []*dataplanev1.VirtualServiceCounters{{Uuid: "vs-1", Errors: []*dataplanev1.ErrorCounter{
			{Cause: "engine_evicted", Total: evicted}, {Cause: "engine_refused", Total: refused},
			{Cause: "engine_memory", Total: memory},
		}}},
	}}}
}

func TestClientsThatAnEngineHadToSendAwayAreToldOfAtOnceAndThenEachMinute(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	told := func(id string) (messages []string) {
		for _, entry := range s.Events.Entries() {
			if entry.ID == id {
				messages = append(messages, entry.Message)
			}
		}
		return messages
	}
	s.Reported("se-one", sentAway(1000, 5, 0, 0)) // there is no earlier sample to compare with
	if got := told("CONN_DROP_MAX_FLOW_TBL"); len(got) != 0 {
		t.Fatalf("told of nothing new: %q", got)
	}
	s.Reported("se-one", sentAway(2000, 8, 1, 0))
	s.Reported("se-one", sentAway(3000, 18, 1, 0))
	got := told("CONN_DROP_MAX_FLOW_TBL")
	if len(got) != 1 || !strings.Contains(got[0], "refused 4 connections") {
		t.Fatalf("at once, and once: %q", got)
	}
	s.Now = s.Now.Add(time.Minute)
	s.Reported("se-one", sentAway(4000, 18, 1, 2))
	got = told("CONN_DROP_MAX_FLOW_TBL")
	if len(got) != 2 || !strings.Contains(got[0], "refused 10 connections") {
		t.Errorf("what came since: %q", got)
	}
	if got := told("CONN_DROP_NO_CONN_MEM"); len(got) != 1 || !strings.Contains(got[0], "closed 2 connections") {
		t.Errorf("memory: %q", got)
	}
}
