// Package bfd is BFD with routers (RFC 5880; over one hop, RFC 5881): each side notices when the other is silent for
// some intervals. session.go is the protocol, a value without clock and sockets. socket.go sends and receives packets.
// This file runs the sessions.
//
// GoBGP has BFD, too. This implementation can do two more things, which an agent needs that is replaced while its data
// plane serves: it asks routers to wait longer before it ends, and it continues a session of the agent before it.
package bfd

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	wire "github.com/osrg/gobgp/v4/pkg/packet/bfd"
)

// State is that of a session (RFC 5880 §4.1).
type State uint8

const (
	AdminDown State = iota
	Down
	Init
	Up
)

// Timers are the intervals that an engine asks for. The slower side determines the interval.
type Timers struct {
	MinTx, MinRx time.Duration
	Multiplier   uint8 // number of intervals without a packet after which a session is down
}

// Config says where to listen, and who receives changes.
type Config struct {
	Listen  netip.AddrPort // invalid: port 3784 of all addresses
	Changed func()         // a session has; may be called from anywhere
}

// Watch is all the sessions of a network namespace.
type Watch struct {
	Config
	mu       sync.Mutex
	listener *net.UDPConn // nil: there is no session, or listening has failed
	failure  error        // of the listener; nil: none, or told
	watched  map[netip.Addr]*watched
}

// watched is a session, the socket that it speaks by, and its end.
type watched struct {
	*session
	socket *net.UDPConn
	woken  chan struct{} // capacity 1
	ended  chan struct{}
}

// New returns a Watch without sessions.
func New(config Config) *Watch {
	if !config.Listen.IsValid() {
		config.Listen = netip.AddrPortFrom(netip.Addr{}, port)
	}
	return &Watch{Config: config, watched: map[netip.Addr]*watched{}}
}

// Listen makes a session that sends nothing before Speak. With follow, it continues a session that the router has with
// an earlier agent. An invalid local address leaves the choice to the kernel.
func (w *Watch) Listen(router, local netip.Addr, timers Timers, follows bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(router)
	socket, err := dial(local, netip.AddrPortFrom(router, w.Config.Listen.Port()))
	if err != nil {
		return fmt.Errorf("BFD with %s: %w", router, err)
	}
	if err := w.open(); err != nil {
		socket.Close()
		return err
	}
	added := &watched{
		session: newSession(timers, w.unusedDiscriminator(), follows), socket: socket, woken: make(chan struct{}, 1),
		ended: make(chan struct{}),
	}
	if follows { // the router sends a packet within this time, if it has a session
		added.restsUntil = time.Now().Add(time.Duration(timers.Multiplier) * max(timers.MinTx, timers.MinRx))
	}
	w.watched[router] = added
	go w.keep(added)
	return nil
}

// Hear listens again after listening has failed. It returns that failure once, and the reason if listening still fails.
func (w *Watch) Hear() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	failure := w.failure
	w.failure = nil
	if len(w.watched) == 0 {
		return failure
	}
	return errors.Join(failure, w.open())
}

func (w *Watch) open() error {
	if w.listener != nil {
		return nil
	}
	listener, err := listen(w.Config.Listen)
	if err != nil {
		return fmt.Errorf("BFD: %w", err)
	}
	w.listener = listener
	go w.hear(listener)
	return nil
}

// close ends a listener, unless it has been.
func (w *Watch) close(listener *net.UDPConn) {
	if listener != nil && w.listener == listener {
		listener.Close()
		w.listener = nil
	}
}

func (w *Watch) unusedDiscriminator() uint32 {
	for {
		chosen := rand.Uint32()
		if chosen != 0 && w.named(chosen) == nil {
			return chosen
		}
	}
}

func (w *Watch) named(discriminator uint32) *watched {
	for _, each := range w.watched {
		if each.mine == discriminator {
			return each
		}
	}
	return nil
}

// Speak starts the session, unless it has started or pauses. It may be called again and again.
func (w *Watch) Speak(router netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if each := w.watched[router]; each != nil && each.speak(time.Now()) {
		each.wake()
	}
}

// State is the state of the session with a router, and whether the session was lost since it started.
func (w *Watch) State(router netip.Addr) (state State, lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if each := w.watched[router]; each != nil {
		return each.state, each.lost
	}
	return Down, false
}

// Pardon forgets a loss that happened before the session mattered.
func (w *Watch) Pardon(router netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if each := w.watched[router]; each != nil {
		each.lost = false
	}
}

// BePatient asks the routers to wait longer for packets of this engine, until End. It sends this at once. It tells
// whether all routers will wait.
func (w *Watch) BePatient(during time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := true
	for _, each := range w.watched {
		all = each.bePatient(during, time.Now()) && all
		each.wake()
	}
	return all
}

// End falls silent towards a router.
func (w *Watch) End(router netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(router)
}

// EndAll falls silent towards all.
func (w *Watch) EndAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for router := range w.watched {
		w.end(router)
	}
}

func (w *Watch) end(router netip.Addr) {
	each := w.watched[router]
	if each == nil {
		return
	}
	close(each.ended)
	each.listens = true // a packet may be about to leave, and would look like a new session of the router
	delete(w.watched, router)
	if len(w.watched) == 0 {
		w.close(w.listener)
	}
}

func (s *watched) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// keep sends due packets in time, until the session ends.
func (w *Watch) keep(each *watched) {
	defer each.socket.Close()
	timer := time.NewTimer(never)
	defer timer.Stop()
	for next := time.Now(); ; {
		next = w.attend(each, next)
		timer.Reset(time.Until(next))
		select {
		case <-timer.C:
		case <-each.woken:
		case <-each.ended:
			return
		}
	}
}

// attend sends due packets, and returns when the next one is due. Meant is the latest time at which it should have been
// called.
func (w *Watch) attend(each *watched, meant time.Time) (next time.Time) {
	now := time.Now()
	w.mu.Lock()
	before := each.state
	each.excuse(now.Sub(meant), now)
	packet := each.due(now, rand.Float64())
	changed, next := before != each.state, each.next(now)
	w.mu.Unlock()
	if packet != nil {
		say(each.socket, packet)
	}
	if changed {
		w.Changed()
	}
	return next
}

// hear receives packets of routers, until the listener is closed or fails.
func (w *Watch) hear(listener *net.UDPConn) {
	var buffer, control [256]byte
	for {
		from, packet, err := receive(listener, buffer[:], control[:])
		if err != nil {
			w.fail(listener, err)
			return
		}
		if packet != nil {
			w.take(from, packet)
		}
	}
}

func (w *Watch) fail(listener *net.UDPConn, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listener == listener { // it was not closed on purpose
		w.failure = fmt.Errorf("BFD: %w", err)
		w.close(listener)
	}
}

func (w *Watch) take(from netip.Addr, packet *wire.BFDHeader) {
	w.mu.Lock()
	each := w.watched[from]
	if each == nil || !each.isFor(packet) {
		w.mu.Unlock()
		return
	}
	before := each.state
	each.receive(packet, time.Now())
	changed := before != each.state
	w.mu.Unlock()
	each.wake() // answered here only, so that packets keep their order
	if changed {
		w.Changed()
	}
}
