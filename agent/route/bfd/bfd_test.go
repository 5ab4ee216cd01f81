package bfd

import (
	"net"
	"net/netip"
	"testing"
	"time"

	wire "github.com/osrg/gobgp/v4/pkg/packet/bfd"

	"github.com/weir-lb/weir/lab/ports"
)

// patience is how long a session may take, on a machine that is busy.
const patience = 30 * time.Second

// end is a Watch at an address of loopback.
type end struct {
	*Watch
	at      netip.Addr
	changes chan struct{}
}

func newEnd(t *testing.T, address string, port uint16) *end {
	e := &end{at: netip.MustParseAddr(address), changes: make(chan struct{}, 1)}
	e.Watch = New(Config{Listen: netip.AddrPortFrom(e.at, port), Changed: func() {
		select {
		case e.changes <- struct{}{}:
		default:
		}
	}})
	t.Cleanup(e.EndAll)
	return e
}

func (e *end) begin(t *testing.T, other *end, speaks bool) {
	t.Helper()
	timers := Timers{MinTx: 100 * time.Millisecond, MinRx: 100 * time.Millisecond, Multiplier: 10}
	if err := e.Listen(other.at, e.at, timers, !speaks); err != nil {
		t.Fatal(err)
	}
	if speaks {
		e.Speak(other.at)
	}
}

// until waits for a state and returns whether the session was lost.
func (e *end) until(t *testing.T, other *end, wanted State) (lost bool) {
	t.Helper()
	limit := time.After(patience)
	for {
		state, lost := e.State(other.at)
		if state == wanted {
			return lost
		}
		select {
		case <-e.changes:
		case <-limit:
			t.Fatalf("the session with %s is %d", other.at, state)
		}
	}
}

func freePort(t *testing.T) uint16 {
	t.Helper()
	port, err := ports.FreeDatagram("127.0.0.2")
	if err != nil {
		t.Fatal(err)
	}
	return uint16(port)
}

func TestEnginesSessionIsTakenUpByTheNextAgentAndMissedWithoutOne(t *testing.T) {
	port := freePort(t)
	router, engine := newEnd(t, "127.0.0.3", port), newEnd(t, "127.0.0.2", port)
	router.begin(t, engine, true)
	engine.begin(t, router, true)
	router.until(t, engine, Up)
	engine.until(t, router, Up)

	engine.BePatient(20 * time.Second)
	heard := func() (multiplier uint8) {
		router.mu.Lock()
		defer router.mu.Unlock()
		return router.watched[engine.at].theirMultiplier
	}
	limit, looks := time.After(patience), time.NewTicker(time.Millisecond)
	defer looks.Stop()
	for heard() != 200 {
		select {
		case <-looks.C:
		case <-limit:
			t.Fatalf("the router heard of %d intervals", heard())
		}
	}
	engine.EndAll()
	next := newEnd(t, "127.0.0.2", port)
	next.begin(t, router, false)
	next.until(t, router, Up)
	if state, lost := router.State(engine.at); state != Up || lost {
		t.Errorf("the router has a session in state %d, lost: %v", state, lost)
	}
	next.EndAll()
	if lost := router.until(t, engine, Down); !lost {
		t.Error("the router did not miss an engine that is silent")
	}
	router.Pardon(engine.at)
	if _, lost := router.State(engine.at); lost {
		t.Error("the loss was not pardoned")
	}
}

func TestNextAgentWaitsForARouterThatSpeaksSlowly(t *testing.T) {
	e := newEnd(t, "127.0.0.2", freePort(t))
	slow := Timers{MinTx: 4 * time.Second, MinRx: 4 * time.Second, Multiplier: 3}
	if err := e.Listen(e.at, e.at, slow, true); err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	each := e.watched[e.at]
	if now := time.Now(); each.speak(now.Add(11*time.Second)) || !each.speak(now.Add(12*time.Second)) {
		t.Errorf("begins anew what the router may have, after %v", each.restsUntil.Sub(now))
	}
}

func TestSessionsOfIPv6StandToo(t *testing.T) {
	probe, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("this machine has no IPv6: %v", err)
	}
	probe.Close()
	e := newEnd(t, "::1", freePort(t))
	e.begin(t, e, true) // with itself: it hears its own packets, and their TTL is right
	e.until(t, e, Up)
}

func TestRouterThatCannotBeSpokenToHoldsNoSocket(t *testing.T) {
	e := newEnd(t, "127.0.0.2", freePort(t))
	// not an address of this machine
	if err := e.Listen(e.at, netip.MustParseAddr("192.0.2.1"), quick, false); err == nil {
		t.Fatal("speaks from an address that it does not have")
	}
	free, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(e.Config.Listen))
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
}

func TestSessionThatIsBegunAgainEndsTheOneBefore(t *testing.T) {
	port := freePort(t)
	router, engine := newEnd(t, "127.0.0.3", port), newEnd(t, "127.0.0.2", port)
	engine.begin(t, router, true)
	before := engine.watched[router.at]
	engine.begin(t, router, true)
	select {
	case <-before.ended:
	default:
		t.Error("the one before goes on")
	}
	router.begin(t, engine, true)
	engine.until(t, router, Up)
}

func TestHearsAgainAfterItsSocketFailed(t *testing.T) {
	port := freePort(t)
	router, engine := newEnd(t, "127.0.0.3", port), newEnd(t, "127.0.0.2", port)
	engine.begin(t, router, true)
	engine.mu.Lock()
	err := engine.listener.SetReadDeadline(time.Now())
	engine.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	limit, looks := time.After(patience), time.NewTicker(time.Millisecond)
	defer looks.Stop()
	for engine.Hear() == nil {
		select {
		case <-looks.C:
		case <-limit:
			t.Fatal("nobody was told")
		}
	}
	if err := engine.Hear(); err != nil {
		t.Errorf("told twice: %v", err)
	}
	router.begin(t, engine, true)
	engine.until(t, router, Up)
}

func TestPacketThatSomebodyPassedOnIsNotHeard(t *testing.T) {
	engine, router := newEnd(t, "127.0.0.2", freePort(t)), newEnd(t, "127.0.0.3", 0)
	engine.begin(t, router, true)
	socket, err := net.DialUDP("udp", &net.UDPAddr{IP: router.at.AsSlice()},
		net.UDPAddrFromAddrPort(engine.Config.Listen))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	theirs := newSession(quick, 7, false)
	say(socket, theirs.packet()) // with the TTL that sockets have
	proper, err := dial(router.at, engine.Config.Listen)
	if err != nil {
		t.Fatal(err)
	}
	defer proper.Close()
	theirs.mine = 8
	say(proper, theirs.packet())
	engine.until(t, router, Init)
	engine.mu.Lock()
	defer engine.mu.Unlock()
	if named := engine.watched[router.at].theirs; named != 8 {
		t.Errorf("heard of session %d", named)
	}
}

func TestAgentThatSleptHearsWhatWasSaidMeanwhileBeforeItJudges(t *testing.T) {
	begun := time.Now().Add(-2 * time.Second)
	w, each := New(Config{Changed: func() {}}), &watched{session: newSession(quick, 1, true)}
	each.receive(&wire.BFDHeader{State: wire.StateUp, MyDiscriminator: 2, YourDiscriminator: 1,
		DetectTimeMultiplier: 3}, begun)
	each.sendAt = time.Now().Add(never)
	if w.attend(each, begun.Add(100*time.Millisecond)); each.state != Up {
		t.Error("missed the router by its own sleep")
	}
	each.silentAt = begun
	if w.attend(each, time.Now()); each.state != Down || !each.lost {
		t.Error("does not miss the router")
	}
}
