package link

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// Session is what the agent and its controller have agreed on, as a pure state machine: deltas and the data plane's
// verdicts in, Plans and answers out. It outlives the streams that carry it. Its zero value holds no Plan. Not for
// concurrent use.
type Session struct {
	held    *enginev1.Plan // the data plane serves it; nil: none yet
	foreign bool           // held comes from another controller: its revision means nothing to this one
	flight  *flight        // given to the data plane, and its answer is awaited
}

// flight is a Plan under way, and the nonce to answer with.
type flight struct {
	plan  *enginev1.Plan
	nonce string
}

// Revision is what Hello says about the Plan held.
func (s *Session) Revision() uint64 {
	if s.foreign {
		return 0
	}
	return s.held.GetRevision()
}

// Rejoined says that the controller is another one from now on, so only a whole Plan of it can be understood.
func (s *Session) Rejoined() {
	s.foreign = true
}

// Opened begins a new stream. Its controller builds on the Plan held and waits for no answer of the stream before.
func (s *Session) Opened() {
	s.flight = nil
}

// Receive takes a delta and returns the Plan to try, or the answer that asks for a whole one.
func (s *Session) Receive(delta *enginev1.PlanDelta) (*enginev1.Plan, *enginev1.Report) {
	plan, fits := patch(s.base(), delta)
	if !fits {
		return nil, nack(delta.GetRevision(), delta.GetNonce(), enginev1.NackCause_NACK_CAUSE_RESYNC, nil)
	}
	s.flight = &flight{plan: plan, nonce: delta.GetNonce()}
	return plan, nil
}

// base is what the controller builds on: the newest Plan that it knows to be understood.
func (s *Session) base() *enginev1.Plan {
	if s.flight != nil {
		return s.flight.plan
	}
	if s.foreign {
		return nil
	}
	return s.held
}

// Applied says that the data plane serves this Plan. It returns the Ack that is due, or nil.
func (s *Session) Applied(plan *enginev1.Plan, warnings []*dataplanev1.Finding) *enginev1.Report {
	nonce := s.land(plan)
	s.held = plan
	if nonce == "" {
		return nil // perhaps it comes from disk, so it is as foreign as what was held
	}
	s.foreign = false
	return &enginev1.Report{Body: &enginev1.Report_Ack{
		Ack: &enginev1.Ack{Revision: plan.GetRevision(), Nonce: nonce, Warnings: warnings},
	}}
}

// Refused says that the data plane does not take this Plan and serves the one before. It returns the Nack that is due,
// or nil.
func (s *Session) Refused(plan *enginev1.Plan, errors []*dataplanev1.Finding) *enginev1.Report {
	nonce := s.land(plan)
	if nonce == "" {
		return nil
	}
	return nack(plan.GetRevision(), nonce, enginev1.NackCause_NACK_CAUSE_REFUSED, errors)
}

// land ends the flight of this Plan and returns the nonce to answer with. Nobody waits for that of a Plan that a newer one
// or a new stream overtook.
func (s *Session) land(plan *enginev1.Plan) string {
	if s.flight == nil || s.flight.plan != plan {
		return ""
	}
	nonce := s.flight.nonce
	s.flight = nil
	return nonce
}

func nack(revision uint64, nonce string, cause enginev1.NackCause, errors []*dataplanev1.Finding) *enginev1.Report {
	return &enginev1.Report{Body: &enginev1.Report_Nack{
		Nack: &enginev1.Nack{Revision: revision, Nonce: nonce, Cause: cause, Errors: errors},
	}}
}
