package bfd

import (
	"math"
	"time"

	wire "github.com/osrg/gobgp/v4/pkg/packet/bfd"
)

const (
	// idleInterval is the shortest interval of a session that is not up (RFC 5880 §6.8.3).
	idleInterval = time.Second
	// unknownMinRx is assumed of a router that has not announced its own (RFC 5880 §6.8.1).
	unknownMinRx = time.Microsecond
	// multiplierMax is the largest multiplier that a packet can hold.
	multiplierMax = math.MaxUint8
	// never is when something is due that is not.
	never = 100 * 365 * 24 * time.Hour
	// starved is a delay after which this process, and not the timer, must have been late.
	starved = 20 * time.Millisecond
	// rest is how long a lost session stays silent. In this time the agent learns whether the BGP session ended, too.
	rest = 500 * time.Millisecond
)

// session is RFC 5880 §6.8 in asynchronous mode, without authentication. Received packets and the time go in; packets
// to send come out. A session that was lost, or that its router has restarted, does not come up by itself, but only by
// speak: the router's next session may belong to a BGP session that has not begun, and the router would count an early
// restart as a loss.
type session struct {
	timers Timers
	state  State
	mine   uint32 // discriminators
	theirs uint32 // 0: not known

	listens    bool // says nothing as yet
	follows    bool // the router may still have a session with the agent before this one
	lost       bool // it was up, and the router fell silent or ended it
	polling    bool // the router has to confirm our timers
	polled     bool // we have to confirm the router's
	diagnostic wire.DiagnosticType
	multiplier uint8 // as we say it
	silentAt   time.Time
	sendAt     time.Time
	restsUntil time.Time // it does not speak before

	// What the router said last.
	theirMinTx, theirMinRx time.Duration
	theirMultiplier        uint8
}

func newSession(timers Timers, discriminator uint32, follows bool) *session {
	return &session{
		timers: timers, state: Down, mine: discriminator, listens: true, follows: follows,
		multiplier: timers.Multiplier,
		theirMinRx: unknownMinRx,
	}
}

// speak starts the session if it was only listening and the pause is over, and tells whether it did.
func (s *session) speak(now time.Time) (begun bool) {
	begun = s.listens && !now.Before(s.restsUntil)
	if begun {
		s.listens, s.sendAt = false, now
	}
	return begun
}

// isFor tells whether a packet from the session's router belongs to this session (RFC 5880 §6.8.6): it names our
// discriminator, or the router does not know one yet. While we only listen, it may name the discriminator of the
// earlier agent, which we then take over.
func (s *session) isFor(p *wire.BFDHeader) bool {
	switch {
	case p.YourDiscriminator == s.mine:
		return !s.listens
	case p.YourDiscriminator == 0:
		return !s.listens && p.State <= wire.StateDown
	default:
		return s.listens && s.follows && p.State == wire.StateUp
	}
}

// receive takes a packet that isFor this session.
func (s *session) receive(p *wire.BFDHeader, now time.Time) {
	if s.listens {
		s.listens, s.state, s.mine, s.polling, s.sendAt = false, Up, p.YourDiscriminator, true, now
	}
	begunAnew := s.theirs != 0 && p.MyDiscriminator != s.theirs
	s.theirs, s.theirMultiplier = p.MyDiscriminator, p.DetectTimeMultiplier
	s.theirMinTx, s.theirMinRx = microseconds(p.DesiredMinTxInterval), microseconds(p.RequiredMinRxInterval)
	if s.theirMinRx == 0 { // the router wants packets only after changes (RFC 5880 §6.8.7)
		s.theirMinRx = never
	}
	if p.Final {
		s.polling = false
	}
	s.polled = p.Poll || s.polled
	before := s.state
	s.step(State(p.State), begunAnew, now)
	if s.state != before { // RFC 5880 §6.8.7: the other side must not wait for the answer
		s.sendAt = now
	}
	// RFC 5880 §6.8.3: the router may want packets more often now
	if next := now.Add(s.interval()); next.Before(s.sendAt) {
		s.sendAt = next
	}
	s.silentAt = now.Add(s.detection())
}

// interval is the longest time between two of our packets; detection is the silence after which the router counts as
// lost.
func (s *session) interval() time.Duration { return max(s.minTx(), s.theirMinRx) }

func (s *session) detection() time.Duration {
	return time.Duration(s.theirMultiplier) * max(s.timers.MinRx, s.theirMinTx)
}

// excuse ignores a silence that we caused by being late: the router's packets are still in the socket.
func (s *session) excuse(late time.Duration, now time.Time) {
	if late < starved {
		return
	}
	if s.silentAt.Before(now) {
		s.silentAt = now
	}
	s.silentAt = s.silentAt.Add(min(late, s.detection()))
}

// step is the state machine of RFC 5880 §6.8.6. If a router stops BFD (AdminDown) or restarts it, it has not lost us
// (RFC 5882 §3.2).
func (s *session) step(theirs State, begunAnew bool, now time.Time) {
	switch {
	case theirs == AdminDown:
		s.become(Down, wire.DiagnosticNeighborSignaledSessionDown, now)
	case theirs == Down && begunAnew:
		s.become(Down, wire.DiagnosticNeighborSignaledSessionDown, now)
		s.fallSilent(now)
	case s.state == Down && theirs == Down:
		s.become(Init, wire.DiagnosticNoDiagnostic, now)
	case s.state == Down && theirs == Init, s.state == Init && theirs >= Init:
		s.become(Up, wire.DiagnosticNoDiagnostic, now)
	case s.state == Up && theirs == Down:
		s.lost = true
		s.become(Down, wire.DiagnosticNeighborSignaledSessionDown, now)
	}
}

func (s *session) become(next State, why wire.DiagnosticType, now time.Time) {
	if next == s.state {
		return
	}
	if s.state == Up {
		s.fallSilent(now)
	}
	s.polling = next == Up // our interval is another one now
	s.state, s.diagnostic = next, why
}

// fallSilent waits for speak.
func (s *session) fallSilent(now time.Time) {
	s.listens, s.follows, s.polled, s.restsUntil = true, false, false, now.Add(rest)
	s.forget()
}

// forget drops what the router said.
func (s *session) forget() { s.theirs, s.theirMinRx = 0, unknownMinRx }

// due returns the packet that is to be sent now; nil: none is. Spread, from 0 to 1, varies the time of the next packet,
// so that sessions do not send all at once.
func (s *session) due(now time.Time, spread float64) *wire.BFDHeader {
	if s.theirs != 0 && !now.Before(s.silentAt) {
		s.lost = s.lost || s.state == Up
		s.become(Down, wire.DiagnosticControlDetectionTimeExpired, now)
		s.forget()
	}
	switch {
	case s.listens:
		return nil
	case s.polled: // RFC 5880 §6.5: at once, whatever else is due
		s.polled = false
		return s.final()
	case now.Before(s.sendAt):
		return nil
	}
	s.sendAt = now.Add(jittered(s.interval(), s.multiplier, spread))
	return s.packet()
}

// next is when something is due again.
func (s *session) next(now time.Time) time.Time {
	at := now.Add(never)
	switch {
	case s.listens:
	case s.polled:
		return now
	default:
		at = s.sendAt
	}
	if s.theirs != 0 && s.silentAt.Before(at) {
		at = s.silentAt
	}
	return at
}

// minTx is what we say of our own pace.
func (s *session) minTx() time.Duration {
	if s.state == Up {
		return s.timers.MinTx
	}
	return max(s.timers.MinTx, idleInterval)
}

// jittered shortens an interval by up to a quarter, and by at least a tenth if one late packet would be too many (RFC
// 5880 §6.8.7).
func jittered(interval time.Duration, multiplier uint8, spread float64) time.Duration {
	most := 1.0
	if multiplier == 1 {
		most = 0.9
	}
	return time.Duration(float64(interval) * (0.75 + (most-0.75)*spread))
}

func (s *session) packet() *wire.BFDHeader {
	return &wire.BFDHeader{
		Version: 1, State: wire.StateType(s.state), Diagnostic: s.diagnostic, Poll: s.polling,
		DetectTimeMultiplier: s.multiplier,
		MyDiscriminator:      s.mine, YourDiscriminator: s.theirs,
		DesiredMinTxInterval:  uint32(s.minTx().Microseconds()),
		RequiredMinRxInterval: uint32(s.timers.MinRx.Microseconds()),
	}
}

// final is the answer to a poll.
func (s *session) final() *wire.BFDHeader {
	answer := s.packet()
	answer.Poll, answer.Final = false, true
	return answer
}

// bePatient asks the router to wait longer, as far as a packet can say: the router waits for our multiplier times the
// slower side's interval. A session that is not up sends nothing any more, so that it does not come up only to be lost.
// bePatient tells whether the router will wait: it may already be up while our side is not.
func (s *session) bePatient(during time.Duration, now time.Time) bool {
	if s.state != Up {
		s.listens, s.follows, s.restsUntil = true, false, now.Add(during)
		return s.state != Init
	}
	intervals := math.Ceil(float64(during) / float64(s.interval()))
	s.multiplier, s.sendAt = uint8(min(max(intervals, float64(s.multiplier)), multiplierMax)), now
	return true
}

func microseconds(n uint32) time.Duration { return time.Duration(n) * time.Microsecond }
