package link

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/plan"
)

const (
	// HeartbeatInterval is the longest time between two reports of an agent.
	HeartbeatInterval = 2 * time.Second
	// heartbeatsMissed is the number of missed heartbeats that ends a session: the agent is cut off, or hangs.
	heartbeatsMissed = 5
	// retryInterval is the time after which the controller sends a refused Plan again: its obstacle on the engine may
	// be gone.
	retryInterval = 30 * time.Second
)

var errOverdue = errors.New("no heartbeat from the agent")

// ErrProtocol says that an agent broke the contract of engine.proto. Its session ends; the agent may dial again.
var ErrProtocol = errors.New("protocol violation")

// session is the protocol with one agent, as a pure state machine: it turns reports and Plans into directives and
// outcomes. One Plan is in flight at a time. Of the Plans that arrive meanwhile only the newest is kept, so a slow
// engine costs the memory of one Plan.
type session struct {
	greeted bool
	sampled bool // a whole Sample has come
	heard   time.Time
	target  *enginev1.Plan // the Plan that the engine should have
	held    *enginev1.Plan // the Plan that the engine has; nil: unknown
	flight  *enginev1.Plan // the Plan that was sent and has no answer yet
	whole   bool           // the flight is a whole Plan, not a change
	refused *enginev1.Plan // a target that the engine refused; it is sent again at retryAt
	retryAt time.Time
	nonce   uint64 // of the flight
}

// step is the result of one event.
type step struct {
	directives []*enginev1.Directive
	outcome    *outcome
}

// outcome is the engine's answer to a Plan.
type outcome struct {
	plan     *enginev1.Plan
	applied  bool
	findings []*dataplanev1.Finding // warnings if applied, otherwise errors
}

// newSession begins a session. held is the Plan that the engine last confirmed; nil: unknown.
func newSession(held, target *enginev1.Plan, now time.Time) *session {
	return &session{held: held, target: target, heard: now}
}

// retarget takes a newer Plan.
func (s *session) retarget(target *enginev1.Plan) step {
	s.target = target
	return step{directives: s.send()}
}

// report handles a report of the agent. Errors: ErrProtocol.
func (s *session) report(report *enginev1.Report, now time.Time) (step, error) {
	s.heard = now
	if hello := report.GetHello(); hello != nil {
		return s.hello(hello)
	}
	if !s.greeted {
		return step{}, fmt.Errorf("%w: report before Hello", ErrProtocol)
	}
	switch body := report.GetBody().(type) {
	case *enginev1.Report_Ack:
		return s.ack(body.Ack)
	case *enginev1.Report_Nack:
		return s.nack(body.Nack, now)
	case *enginev1.Report_Sample:
		if body.Sample.GetChanges() && !s.sampled {
			return step{}, fmt.Errorf("%w: changes of a Sample that was not sent", ErrProtocol)
		}
		s.sampled = true
	}
	return step{}, nil
}

// tick does what is due. It returns errOverdue if the agent has been silent for too long.
func (s *session) tick(now time.Time) (step, error) {
	if now.Sub(s.heard) > heartbeatsMissed*HeartbeatInterval {
		return step{}, errOverdue
	}
	if s.refused != nil && !now.Before(s.retryAt) {
		s.refused = nil
		return step{directives: s.send()}, nil
	}
	return step{}, nil
}

func (s *session) hello(hello *enginev1.Hello) (step, error) {
	if s.greeted {
		return step{}, fmt.Errorf("%w: second Hello", ErrProtocol)
	}
	s.greeted = true
	if s.held.GetRevision() != hello.GetRevision() {
		s.held = nil
	}
	welcome := &enginev1.Directive{Body: &enginev1.Directive_Welcome{
		Welcome: &enginev1.Welcome{HeartbeatIntervalMs: uint32(HeartbeatInterval.Milliseconds()),
			TakesChanges: true},
	}}
	return step{directives: append([]*enginev1.Directive{welcome}, s.send()...)}, nil
}

func (s *session) ack(ack *enginev1.Ack) (step, error) {
	if !s.answers(ack.GetNonce()) {
		return step{}, nil
	}
	landed := s.flight
	if ack.GetRevision() != landed.GetRevision() {
		return step{}, fmt.Errorf("%w: Ack of revision %d, but revision %d was sent", ErrProtocol, ack.GetRevision(),
			landed.GetRevision())
	}
	s.held, s.flight = landed, nil
	return step{
		directives: s.send(),
		outcome:    &outcome{plan: landed, applied: true, findings: ack.GetWarnings()},
	}, nil
}

func (s *session) nack(nack *enginev1.Nack, now time.Time) (step, error) {
	if !s.answers(nack.GetNonce()) {
		return step{}, nil
	}
	lost := s.flight
	s.flight = nil
	if nack.GetCause() == enginev1.NackCause_NACK_CAUSE_RESYNC {
		if s.whole {
			return step{}, fmt.Errorf("%w: the agent asked for a resync after a whole Plan", ErrProtocol)
		}
		s.held = nil
		return step{directives: s.send()}, nil
	}
	s.refused, s.retryAt = lost, now.Add(retryInterval)
	return step{
		directives: s.send(),
		outcome:    &outcome{plan: lost, findings: nack.GetErrors()},
	}, nil
}

// answers tells whether a nonce belongs to the flight. If not, the answer is late.
func (s *session) answers(nonce string) bool {
	return s.flight != nil && nonce == strconv.FormatUint(s.nonce, 10)
}

// send starts a flight if there is a Plan to send and no other flight.
func (s *session) send() []*enginev1.Directive {
	if !s.greeted || s.flight != nil || s.target == nil || s.target == s.held || s.target == s.refused {
		return nil
	}
	delta := plan.Delta(s.held, s.target)
	s.flight, s.whole = s.target, s.held == nil
	s.nonce++
	delta.Nonce = strconv.FormatUint(s.nonce, 10)
	return []*enginev1.Directive{{Body: &enginev1.Directive_Plan{Plan: delta}}}
}
