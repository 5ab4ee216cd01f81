package attack

import (
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/place"
)

func TestAttackLastsWhileAnEngineIsSilent(t *testing.T) {
	s := newStage(t, 5, ofClients)
	s.pass(10, 0, 0)
	s.wants(s.pass(20, 0, 20), attackOf)
	s.wants(s.pass(60, 0))
	s.wants(s.pass(1, 0, 61*20))
	s.wants(s.pass(10, 0, 20))
	told := s.pass(40, 0, 0)
	s.wants(told, endOf+"the attack is over after 1m3")
	if !strings.Contains(told[0], "with at most 1") {
		t.Errorf("got %q", told)
	}
}

func TestWhatComesLateIsNoAttack(t *testing.T) {
	s := newStage(t, 5, ofClients)
	s.pass(10, 1, 1)
	s.wants(s.pass(3600, 1))
	s.wants(s.pass(1, 1, 3601))
	s.wants(s.pass(20, 1, 1))
}

func TestWhatTheNextDataPlaneCountsInSilenceIsNoAttack(t *testing.T) {
	s := newStage(t, 5, ofClients)
	s.pass(5, 0, 0)
	s.refused[1] = 1000
	s.pass(5, 0, 0) // an attack
	s.pass(60, 0, 0)
	s.wants(s.pass(3600, 1))
	s.begun, s.refused[1] = 1, 0
	s.wants(s.pass(1, 1, 3000))
	s.wants(s.pass(20, 1, 1))
}

func TestAttackInSilenceIsAnAttackWhenTheEngineIsBack(t *testing.T) {
	s := newStage(t, 5, ofClients)
	s.pass(10, 0, 0)
	s.wants(s.pass(20, 0))
	s.wants(s.pass(1, 0, 2000), attackOf+"477 requests") // 2000 in 21 s
}

func TestAttackEndsWithoutAnEngineThatServesNoMoreAndThatIsBackLater(t *testing.T) {
	s := newStage(t, 5, ofClients)
	s.pass(10, 0, 0)
	s.wants(s.pass(5, 20, 1), attackOf)
	s.wants(s.pass(60, 0))
	alone := fleettest.Both(s.VS)
	alone.Seats = alone.Seats[:1]
	s.State.Assignments = place.Assignments(nil).With([]place.Assignment{alone})
	s.Observe(s.State)
	s.wants(s.pass(29, 0))
	s.wants(s.pass(10, 0), endOf)
	s.wants(s.pass(3000, 0))
	s.wants(s.pass(1, 0, 3100))
}

func TestAttackWithPausesIsOneAttack(t *testing.T) {
	s := newStage(t, 1, ofClients)
	s.pass(10, 0, 0)
	var told []string
	for range 20 {
		told = append(told, s.pass(1, 60, 0)...)
		told = append(told, s.pass(4, 0, 0)...)
	}
	s.wants(told, attackOf)
	s.wants(s.pass(40, 0, 0), endOf+"the attack is over after 1m36s")
}

func TestNewLeaderDoesNotKnowWhetherAnAttackIsOver(t *testing.T) {
	s := watching(fleettest.Empty(t))
	is := func(over bool, of, why string) {
		t.Helper()
		if s.watch.IsOver("vs-1", of) != over {
			t.Error(why)
		}
	}
	is(false, ofClients.Attack, "it has not looked yet")
	s.pass(120)
	is(false, ofClients.Attack, "there is no model yet")
	whole := fleettest.New(t)
	s.VS, s.WebPool = whole.VS, whole.WebPool
	s.guard(10, 5, ofClients)
	s.pass(59)
	is(false, "DOS_HTTP_ERROR", "it may get a threshold")
	s.pass(2)
	is(true, "DOS_HTTP_ERROR", "it has no threshold")
	is(false, ofClients.Attack, "no engine has connected")
	s.Serve("se-one", "se-two")
	s.pass(120, 0)
	is(false, ofClients.Attack, "an engine has sent no sample")
	s.pass(60, 0, 0)
	is(false, ofClients.Attack, "not all engines have been heard for a minute")
	s.pass(1, 0, 0)
	is(true, ofClients.Attack, "there is no attack")

	s = newStage(t, 60, ofClients)
	s.pass(120, 0, 0)
	is(false, ofClients.Attack, "it has looked for less than two periods")
	s.pass(1, 0, 0)
	is(true, ofClients.Attack, "there is no attack on the long period")
}

func TestNewLeaderDoesNotKnowWhetherAnAttackOnWhatHasNoThresholdsIsOver(t *testing.T) {
	s := watching(fleettest.New(t))
	s.pass(60)
	if s.watch.IsOver("vs-1", ofClients.Attack) {
		t.Error("it has looked for less than a minute")
	}
	s.pass(1)
	if !s.watch.IsOver("vs-1", ofClients.Attack) {
		t.Error("there is no threshold")
	}
}

func TestReturnOfAnEngineHidesNoAttackOnAnother(t *testing.T) {
	s := newStage(t, 5, ofClients)
	s.refused[1] = 100_000
	s.pass(10, 0, 0)
	s.pass(20, 0)
	s.wants(s.pass(1, 100, 1), attackOf+"101 requests")
}
