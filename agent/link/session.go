package link

import (
	"github.com/weir-lb/weir/agent/plan"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// Session is what the agent and its controller have agreed on, as a pure state machine: deltas and the data plane's
// verdicts in, Plans and answers out. It outlives streams. Its zero value holds no Plan. It is not safe for concurrent
// use.
type Session struct {
	held    *plan.Plan // the data plane serves it; nil: none yet
	foreign bool       // held comes from another controller: its revision means nothing to this one
	flight  *flight    // given to the data plane, and its answer is awaited
}

// flight is a Plan under way, and the nonce to answer with.
type flight struct {
	plan  *plan.Plan
	nonce string
}

// Revision is what Hello says about the Plan held.
func (s *Session) Revision() uint64 {
	if s.foreign || s.held == nil {
		return 0
	}
	return s.held.Revision
}

// Rejoined says that there is a new controller, so that only a whole Plan makes sense.
func (s *Session) Rejoined() {
	s.foreign = true
}

// Opened starts a new stream. Its controller builds on the Plan held, and waits for no answer of the earlier stream.
func (s *Session) Opened() {
	s.flight = nil
}

// Receive takes a delta. It returns the Plan to try; or an answer that asks for a whole Plan, or that refuses this one
// because it cannot be read.
func (s *Session) Receive(delta *enginev1.PlanDelta) (*plan.Plan, *enginev1.Report) {
	base := s.base()
	wire, fits := patch(base.Wire(), delta)
	if !fits {
		return nil, nack(delta.GetRevision(), delta.GetNonce(), enginev1.NackCause_NACK_CAUSE_RESYNC, nil)
	}
	read, findings := base.Next(wire)
	if read == nil {
		s.flight = nil // nobody waits for the answer to the one before
		return nil, nack(delta.GetRevision(), delta.GetNonce(), enginev1.NackCause_NACK_CAUSE_REFUSED, findings)
	}
	s.flight = &flight{plan: read, nonce: delta.GetNonce()}
	return read, nil
}

// base is what the controller builds on: the newest Plan that it knows to be understood.
func (s *Session) base() *plan.Plan {
	if s.flight != nil {
		return s.flight.plan
	}
	if s.foreign {
		return nil
	}
	return s.held
}

// Applied says that the data plane serves this Plan. It returns the Ack that is due, or nil.
func (s *Session) Applied(applied *plan.Plan, warnings []plan.Finding) *enginev1.Report {
	nonce := s.land(applied)
	s.held = applied
	if nonce == "" {
		return nil // perhaps it comes from disk, so it is as foreign as what was held
	}
	s.foreign = false
	return &enginev1.Report{Body: &enginev1.Report_Ack{
		Ack: &enginev1.Ack{Revision: applied.Revision, Nonce: nonce, Warnings: plan.WireFindings(warnings)},
	}}
}

// Refused says that the data plane has refused this Plan and serves the one before. It returns the Nack to send, or
// nil.
func (s *Session) Refused(plan *plan.Plan, errors []plan.Finding) *enginev1.Report {
	nonce := s.land(plan)
	if nonce == "" {
		return nil
	}
	return nack(plan.Revision, nonce, enginev1.NackCause_NACK_CAUSE_REFUSED, errors)
}

// land ends the flight of this Plan and returns the nonce for the answer. Nobody waits for the answer if a newer Plan
// or a new stream came meanwhile.
func (s *Session) land(plan *plan.Plan) string {
	if s.flight == nil || s.flight.plan != plan {
		return ""
	}
	nonce := s.flight.nonce
	s.flight = nil
	return nonce
}

func nack(revision uint64, nonce string, cause enginev1.NackCause, errors []plan.Finding) *enginev1.Report {
	return &enginev1.Report{Body: &enginev1.Report_Nack{
		Nack: &enginev1.Nack{Revision: revision, Nonce: nonce, Cause: cause, Errors: plan.WireFindings(errors)},
	}}
}
