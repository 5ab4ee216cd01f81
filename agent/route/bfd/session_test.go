package bfd

import (
	"testing"
	"time"

	wire "github.com/osrg/gobgp/v4/pkg/packet/bfd"
)

var quick = Timers{MinTx: 300 * time.Millisecond, MinRx: 300 * time.Millisecond, Multiplier: 3}

// pair is an engine and a router, and the time.
type pair struct {
	*testing.T
	now            time.Time
	engine, router *session
}

func newPair(t *testing.T) *pair {
	p := &pair{T: t, now: time.Unix(1, 0), engine: newSession(quick, 0xe1, false),
		router: newSession(quick, 0xa1, false)}
	p.engine.speak(p.now)
	p.router.speak(p.now)
	return p
}

func standing(t *testing.T) *pair {
	p := newPair(t)
	p.pass(5 * time.Second)
	p.states(Up, Up)
	return p
}

// pass lets time go by; nil: a side that is not there.
func (p *pair) pass(wait time.Duration) {
	for end := p.now.Add(wait); p.now.Before(end); p.now = p.now.Add(time.Millisecond) {
		p.say(p.engine, p.router)
		p.say(p.router, p.engine)
	}
}

func (p *pair) say(from, to *session) {
	if from == nil {
		return
	}
	if packet := from.due(p.now, 1); packet != nil && to != nil && to.isFor(packet) {
		to.receive(packet, p.now)
	}
}

func (p *pair) states(engine, router State) {
	p.Helper()
	if p.engine != nil && p.engine.state != engine || p.router != nil && p.router.state != router {
		p.Fatalf("the engine is %v and the router %v", p.engine, p.router)
	}
}

func TestTwoSidesFindEachOtherSlowlyAndAreQuickThen(t *testing.T) {
	p := newPair(t)
	if said := p.engine.due(p.now, 1); said.DesiredMinTxInterval != 1_000_000 {
		t.Errorf("before the session is up: %+v", said)
	}
	p.pass(5 * time.Second)
	p.states(Up, Up)
	if p.engine.polling || p.router.polling || p.router.theirMinTx != quick.MinTx {
		t.Errorf("the engine has %+v, the router %+v", p.engine, p.router)
	}
}

func TestRouterThatAsksForMoreHearsItFromThenOn(t *testing.T) {
	p := standing(t)
	said := p.router.packet()
	said.RequiredMinRxInterval = 1_000_000 // as routers do until they are up
	p.engine.receive(said, p.now)
	p.engine.sendAt = p.now
	p.engine.due(p.now, 1)
	said.RequiredMinRxInterval = 300_000
	p.engine.receive(said, p.now)
	if wait := p.engine.next(p.now).Sub(p.now); wait > quick.MinTx {
		t.Errorf("the router waits for %v, and misses the engine after 900 ms", wait)
	}
}

func TestSilenceOfThreeIntervalsIsALossAndLessIsNone(t *testing.T) {
	p := standing(t)
	engine := p.engine
	p.engine = nil
	p.pass(600 * time.Millisecond)
	p.states(Up, Up)
	p.pass(301 * time.Millisecond)
	p.states(Up, Down)
	if !p.router.lost || engine.lost {
		t.Errorf("router %+v, engine %+v", p.router, engine)
	}
}

func TestRouterThatEndsOrBeginsAnewHasNotMissedUs(t *testing.T) {
	for name, said := range map[string]wire.BFDHeader{
		"ends":        {State: wire.StateAdminDown, MyDiscriminator: 0xa1, YourDiscriminator: 0xe1},
		"begins anew": {State: wire.StateDown, MyDiscriminator: 0xa2},
	} {
		p := standing(t)
		said.DetectTimeMultiplier = 3
		if !p.engine.isFor(&said) {
			t.Fatalf("%s: not heard", name)
		}
		p.engine.receive(&said, p.now)
		if p.engine.state != Down || p.engine.lost {
			t.Errorf("%s: %+v", name, p.engine)
		}
	}
	p := standing(t)
	p.engine.receive(&wire.BFDHeader{State: wire.StateDown, MyDiscriminator: 0xa1, YourDiscriminator: 0xe1,
		DetectTimeMultiplier: 3}, p.now)
	if !p.engine.lost {
		t.Error("the router missed us, and we did not hear of it")
	}
}

func TestSessionThatStoodDoesNotComeUpAgainByItself(t *testing.T) {
	p := standing(t)
	before := p.router
	p.router = newSession(quick, 0xa2, false) // of the next session of BGP, which is still to begin
	p.router.speak(p.now)
	p.pass(rest)
	p.states(Down, Down)
	if p.router.theirs != 0 {
		t.Errorf("the router knows of %x, which is about to end", p.router.theirs)
	}
	p.engine.speak(p.now)
	p.pass(5 * time.Second)
	p.states(Up, Up)

	p = standing(t)
	p.router = nil
	p.pass(901 * time.Millisecond)
	p.router = before
	p.pass(5 * time.Second)
	if p.states(Down, Down); !p.engine.lost {
		t.Errorf("has not lost it: %+v", p.engine)
	}
}

func TestSessionThatStoodRestsUntilItIsKnownWhatElseEnded(t *testing.T) {
	p := standing(t)
	p.engine.receive(&wire.BFDHeader{State: wire.StateDown, MyDiscriminator: 0xa2, DetectTimeMultiplier: 3}, p.now)
	if p.engine.speak(p.now.Add(rest - time.Millisecond)) {
		t.Error("speaks at once")
	}
	if !p.engine.speak(p.now.Add(rest)) || p.engine.speak(p.now.Add(rest)) {
		t.Error("is not begun again, or is twice")
	}
}

func TestSessionThatIsToComeUpWaitsWhenTheRouterBeginsAnother(t *testing.T) {
	p := newPair(t)
	said := wire.BFDHeader{State: wire.StateDown, MyDiscriminator: 0xa1, DetectTimeMultiplier: 3}
	p.engine.receive(&said, p.now)
	p.states(Init, Down)
	said.MyDiscriminator = 0xa2
	p.engine.receive(&said, p.now)
	if p.states(Down, Down); p.engine.due(p.now.Add(time.Minute), 1) != nil || p.engine.lost {
		t.Errorf("goes on with another: %+v", p.engine)
	}
}

func TestPollIsAnsweredAtOnceAndOnce(t *testing.T) {
	p := standing(t)
	p.engine.sendAt = p.now.Add(quick.MinTx)
	said := wire.BFDHeader{
		State: wire.StateUp, MyDiscriminator: 0xa1, YourDiscriminator: 0xe1, DetectTimeMultiplier: 3, Poll: true,
		RequiredMinRxInterval: 300_000,
	}
	p.engine.receive(&said, p.now)
	said.Poll = false // the one after it comes before we had the time to answer
	p.engine.receive(&said, p.now)
	if !p.engine.next(p.now).Equal(p.now) {
		t.Error("lets the router wait")
	}
	if answer := p.engine.due(p.now, 1); answer == nil || !answer.Final || answer.Poll {
		t.Errorf("answers %+v", answer)
	}
	if again := p.engine.due(p.now, 1); again != nil {
		t.Errorf("said %+v, too", again)
	}
}

func TestPollThatEndsASessionIsNotAnsweredByTheNext(t *testing.T) {
	p := standing(t)
	p.engine.receive(&wire.BFDHeader{State: wire.StateDown, MyDiscriminator: 0xa2, DetectTimeMultiplier: 3, Poll: true},
		p.now)
	p.engine.speak(p.now.Add(rest))
	if first := p.engine.due(p.now.Add(rest), 1); first == nil || first.Final {
		t.Errorf("begins with %+v", first)
	}
}

func TestSessionThatIsNotUpDoesNotBeginAgainBeforeItsAgentEnds(t *testing.T) {
	p := newPair(t)
	if !p.engine.bePatient(20*time.Second, p.now) {
		t.Error("a router that has no session does not wait")
	}
	if p.engine.speak(p.now.Add(time.Second)) {
		t.Error("begins one that is missed at once")
	}
}

func TestNextAgentGoesOnWithASessionWhoseRouterWasAskedForPatience(t *testing.T) {
	p := standing(t)
	if !p.engine.bePatient(20*time.Second, p.now) {
		t.Fatal("there is nobody to ask")
	}
	p.pass(2 * time.Second)
	p.engine = nil // the agent ends
	p.pass(15 * time.Second)
	p.states(Down, Up)
	p.engine = newSession(quick, 0xe2, true) // and the next one listens
	p.pass(400 * time.Millisecond)
	p.states(Up, Up)
	if p.engine.mine != 0xe1 || p.engine.listens {
		t.Errorf("goes on as %+v", p.engine)
	}
	p.engine.speak(p.now)
	p.pass(2 * time.Second)
	p.states(Up, Up)
	p.engine = nil // which dies
	p.pass(901 * time.Millisecond)
	p.states(Down, Down)
}

func TestPatienceEndsWhenNoAgentComes(t *testing.T) {
	p := standing(t)
	p.engine.bePatient(20*time.Second, p.now)
	p.pass(time.Second)
	p.engine = nil
	p.pass(19 * time.Second)
	p.states(Down, Up)
	p.pass(1500 * time.Millisecond)
	p.states(Down, Down)
}

func TestPatienceIsWhatAPacketCanSay(t *testing.T) {
	p := standing(t)
	p.engine.bePatient(time.Hour, p.now)
	if p.engine.multiplier != 255 {
		t.Errorf("%d intervals", p.engine.multiplier)
	}
}

func TestSessionThatIsNotUpStaysSoOnceTheAgentIsToEnd(t *testing.T) {
	p := newPair(t)
	if !p.engine.bePatient(time.Minute, p.now) {
		t.Error("a router that has not heard of us may miss us")
	}
	p.pass(5 * time.Second)
	p.states(Down, Down)

	p = newPair(t)
	p.engine.receive(&wire.BFDHeader{State: wire.StateDown, MyDiscriminator: 0xa1, DetectTimeMultiplier: 3}, p.now)
	if p.states(Init, Down); p.engine.bePatient(time.Minute, p.now) {
		t.Error("a router that may be up is taken to wait")
	}

	p = standing(t)
	p.engine = newSession(quick, 0xe2, true)
	p.engine.bePatient(time.Minute, p.now)
	p.pass(500 * time.Millisecond)
	if !p.engine.listens {
		t.Error("took up a session just to end it")
	}
}

func TestSaysNothingUnaskedToARouterThatWantsNothing(t *testing.T) {
	p := newPair(t)
	said := wire.BFDHeader{State: wire.StateInit, MyDiscriminator: 0xa1, YourDiscriminator: 0xe1,
		DetectTimeMultiplier: 255, DesiredMinTxInterval: 1_000_000}
	p.engine.receive(&said, p.now)
	if p.engine.due(p.now, 0) == nil {
		t.Error("the router does not hear that the session is up")
	}
	if packet := p.engine.due(p.now.Add(time.Minute), 0); packet != nil {
		t.Errorf("said %+v", packet)
	}
}

func TestForgetsARouterThatEndedAndIsSilent(t *testing.T) {
	p := standing(t)
	p.engine.receive(&wire.BFDHeader{State: wire.StateAdminDown, MyDiscriminator: 0xa1, YourDiscriminator: 0xe1,
		DetectTimeMultiplier: 3}, p.now)
	p.router = nil
	p.pass(901 * time.Millisecond)
	if said := p.engine.packet(); said.YourDiscriminator != 0 {
		t.Errorf("names a session that the router may have forgotten: %+v", said)
	}
}

func TestOwnSleepIsNotTheRoutersSilence(t *testing.T) {
	p := standing(t)
	p.now = p.now.Add(2 * time.Second)
	p.engine.excuse(1900*time.Millisecond, p.now)
	p.engine.due(p.now, 1)
	p.states(Up, Up)
	p.router = nil
	p.pass(901 * time.Millisecond)
	p.states(Down, Up)

	p = standing(t)
	p.router = nil
	p.now = p.engine.silentAt.Add(time.Millisecond)
	p.engine.excuse(time.Millisecond, p.now) // timers are never quite on time
	p.engine.due(p.now, 1)
	p.states(Down, Up)
}

func TestListenerSaysNothingBeforeItSpeaks(t *testing.T) {
	s := newSession(quick, 1, true)
	now := time.Unix(1, 0)
	if s.due(now.Add(time.Minute), 0) != nil || s.next(now).Before(now.Add(time.Minute)) {
		t.Errorf("spoke: %+v", s)
	}
	if s.isFor(&wire.BFDHeader{State: wire.StateDown}) {
		t.Error("a router that has no session is heard")
	}
	s.speak(now)
	if s.due(now, 0) == nil {
		t.Error("says nothing")
	}
}

func TestPacketOfAFormerSessionIsNotTakenForOneThatStands(t *testing.T) {
	s := newSession(quick, 1, false)
	if s.isFor(&wire.BFDHeader{State: wire.StateUp, MyDiscriminator: 2, YourDiscriminator: 3}) {
		t.Error("took up a session that was not there before this agent")
	}
}

func FuzzTakesNoPacketThatIsNone(f *testing.F) {
	valid, _ := (&wire.BFDHeader{Version: 1, State: wire.StateUp, DetectTimeMultiplier: 3,
		MyDiscriminator: 7}).MarshalBinary()
	f.Add(valid)
	f.Add(valid[:23])
	f.Add(append([]byte{0x40}, valid[1:]...))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		packet := parse(bytes)
		if packet == nil {
			return
		}
		if len(bytes) < 24 || packet.MyDiscriminator == 0 || packet.DetectTimeMultiplier == 0 || packet.Version != 1 {
			t.Fatalf("took %x as %+v", bytes, packet)
		}
		newSession(quick, 1, true).receive(packet, time.Unix(1, 0))
	})
}
