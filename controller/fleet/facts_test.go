package fleet_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/place"
)

func TestVirtualServiceHasDrainedWhenNoClientWasThereForThreeSamples(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	if held := s.Facts()["se-one"].Holds.Of("vs-1"); held.Duty != place.Serve || held.Delivery != place.Current ||
		held.Clients != place.Led {
		t.Fatalf("serving: %+v", held)
	}
	plan := fleettest.PlanOf(11, "vs-1", "pool-1")
	plan.GetResources()[1].GetVirtualService().Duty = dataplanev1.Duty_DUTY_DRAIN
	s.Applied("se-one", plan, nil)
	for i, open := range []uint64{1, 0, 0, 1, 0, 0, 0} {
		if s.Facts()["se-one"].Holds.Of("vs-1").Clients == place.Idle {
			t.Errorf("idle before sample %d", i)
		}
		s.Sampled("se-one", open)
	}
	if held := s.Facts()["se-one"].Holds.Of("vs-1"); held.Clients != place.Idle || held.Duty != place.Drain {
		t.Errorf("drained: %+v", held)
	}
}

func TestEngineIsUpFromTheMomentItServesAndUnknownBeforeItIsHeardOf(t *testing.T) {
	s := fleettest.New(t)
	if _, known := s.Facts()["se-one"]; known {
		t.Error("it has not said anything")
	}
	s.Serve("se-one")
	s.Disconnected("se-one", "gone")
	if facts := s.Facts()["se-one"]; facts.Up || !facts.Since.Equal(fleettest.Clock) {
		t.Errorf("away: %+v", facts)
	}
	select {
	case <-s.Moved():
	default:
		t.Error("nobody is told")
	}
}

func TestAnEngineThatGoesBeforeItSaysWhoItIsIsAsUnknownAsBefore(t *testing.T) {
	s := fleettest.New(t)
	s.Disconnected("se-one", "gone")
	if facts, known := s.Facts()["se-one"]; known {
		t.Errorf("nothing was heard of it: %+v", facts)
	}
}

func TestEnginesAreYetToComeWhenOneIsBackAfterAllWereAway(t *testing.T) {
	s := fleettest.Empty(t)
	come := func(engine string) { s.Connected(engine, &enginev1.Hello{Status: fleettest.Running}) }
	gathering := func(engine string) time.Time { return s.Facts()[engine].Gathering }
	come("se-one")
	s.Disconnected("se-one", "gone")
	come("se-two")
	if at := gathering("se-one"); !at.IsZero() {
		t.Errorf("one that is new says nothing of the other: %v", at)
	}
	s.Disconnected("se-two", "gone")
	s.Now = s.Now.Add(time.Minute)
	come("se-two")
	back := s.Now
	s.Disconnected("se-two", "gone")
	s.Now = s.Now.Add(time.Minute)
	come("se-two")
	if at := gathering("se-one"); !at.Equal(back) {
		t.Errorf("one that does not come is waited for from %v, and not from %v", at, back)
	}
	if at := gathering("se-two"); !at.Equal(s.Now) {
		t.Errorf("one that is back was among those that were away: %v", at)
	}
}

func TestEngineThatComesBackWithoutAPlanServesNothing(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	if facts := s.Facts()["se-one"]; !facts.Told || facts.Holds.Of("vs-1").Duty == place.NoDuty {
		t.Errorf("got %+v", facts)
	}
	s.Connected("se-one", &enginev1.Hello{Status: fleettest.Running})
	if facts := s.Facts()["se-one"]; !facts.Told || facts.Holds.Of("vs-1").Duty != place.NoDuty {
		t.Errorf("got %+v", facts)
	}
}

func TestWhatAnEngineHasIsNotKnownToAControllerThatBegins(t *testing.T) {
	s := fleettest.New(t)
	s.Connected("se-one", &enginev1.Hello{Status: fleettest.Running, Revision: 9})
	if s.Facts()["se-one"].Told {
		t.Error("it told a revision, and not what is in it")
	}
}

func TestWhatAnEngineHasIsNotKnownWhenItsLastAnswerWasLost(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	s.Want(11, "vs-1")
	for revision, told := range map[uint64]bool{10: true, 11: false} {
		s.Connected("se-one", &enginev1.Hello{Status: fleettest.Running, Revision: revision})
		if got := s.Facts()["se-one"].Told; got != told {
			t.Errorf("it has revision %d: told %v", revision, got)
		}
		s.Applied("se-one", fleettest.PlanOf(10, "vs-1"), nil)
	}
}

func TestRefusalAndWarningsEndWithTheSessionUnlessTheEngineHasTheirPlan(t *testing.T) {
	s := fleettest.New(t)
	found := []*dataplanev1.Finding{{Kind: "virtualservice", Uuid: "vs-1", Message: "has no effect"}}
	s.Connected("se-one", &enginev1.Hello{Status: fleettest.Running})
	s.Applied("se-one", s.State.Plans["se-one"], found)
	for revision, warnings := range map[uint64]int{10: 1, 12: 0} {
		s.Refused("se-one", s.State.Plans["se-one"], found)
		s.Connected("se-one", &enginev1.Hello{Status: fleettest.Running, Revision: revision})
		s.Read(func(known *fleet.Known) {
			if engine := known.Engine("se-one"); engine.Refusal != nil || len(engine.Warnings) != warnings {
				t.Errorf("revision %d: refusal %v, warnings %v", revision, engine.Refusal, engine.Warnings)
			}
		})
		s.Applied("se-one", s.State.Plans["se-one"], found)
	}
}

func TestRefusalOfPlanThatIsNoLongerWantedIsForgotten(t *testing.T) {
	s := fleettest.New(t)
	s.Connected("se-one", &enginev1.Hello{Status: fleettest.Running})
	old := s.Want(11, "vs-1")["se-one"]
	s.Want(12, "vs-1")
	s.Refused("se-one", old, []*dataplanev1.Finding{{Kind: "virtualservice", Uuid: "vs-1", Message: "in use"}})
	if s.Facts()["se-one"].Refuses != "" {
		t.Error("an old refusal counts")
	}
}

func TestRefusalNamesWhatItIsAboutAndIsAsOldAsTheFirstOfThePlan(t *testing.T) {
	s := fleettest.New(t)
	s.Connected("se-one", &enginev1.Hello{Status: fleettest.Running})
	plan, first := s.Want(11, "vs-1")["se-one"], s.Now
	about := []*dataplanev1.Finding{{Uuid: "vs-1"}, {Uuid: "pool-1"}}
	s.Refused("se-one", plan, about)
	s.Now = s.Now.Add(time.Minute)
	s.Refused("se-one", plan, about)
	if at := s.Facts()["se-one"]; !at.Refused.Equal(first) || !slices.Equal(at.Blames, []string{"vs-1", "pool-1"}) {
		t.Errorf("since %v, for %v", at.Refused, at.Blames)
	}
	s.Refused("se-one", plan, append(about, &dataplanev1.Finding{Message: "is too long"}))
	if blames := s.Facts()["se-one"].Blames; blames != nil {
		t.Errorf("for %v", blames)
	}
}

func TestSessionsAreAsOldAsThisControllerSawThem(t *testing.T) {
	s := fleettest.Empty(t)
	at := netip.MustParseAddr("10.0.0.1")
	s.Connected("se-one", &enginev1.Hello{Routing: fleettest.Routing()})
	s.Now = s.Now.Add(time.Minute)
	s.Routed("se-one", fleettest.Routing())
	if session := s.Facts()["se-one"].Sessions[at]; session != (place.Session{Up: true, Since: fleettest.Clock}) {
		t.Errorf("told twice: %+v", session)
	}
	s.Routed("se-one", &enginev1.Routing{Peers: []*enginev1.PeerState{{Address: at.String()}}})
	if session := s.Facts()["se-one"].Sessions[at]; session != (place.Session{Since: s.Now}) {
		t.Errorf("ended: %+v", session)
	}
}
