package dataplane

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/weir-lb/weir/agent/plan"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// serve is the loop of one life. It returns nil only when ctx ends.
func (s *Supervisor) serve(ctx context.Context, life *life) error {
	beats := time.NewTicker(s.beat)
	defer beats.Stop()
	for {
		s.limitSegments()
		if err := errors.Join(life.tell(s.States), s.advance(life)); err != nil {
			return s.lost(ctx, life, err)
		}
		select {
		case in, open := <-life.frames:
			if !open {
				return s.lost(ctx, life, life.reason)
			}
			s.hear(life, in.message)
		case <-life.process.exited:
			return errors.New(life.process.ending)
		case <-s.asked:
			s.take(life)
		case <-s.statesChanged:
			life.untold.add(s.takeChanged())
			life.sampleAtOnce = true
		case <-s.recordsTaken:
			if err := s.tellTaken(life); err != nil {
				return s.lost(ctx, life, err)
			}
		case <-s.lettingGo:
			letGo := &dataplanev1.ToDataplane{Frame: &dataplanev1.ToDataplane_LetGo{LetGo: &dataplanev1.LetGo{}}}
			if err := life.wire.write(letGo); err != nil {
				return s.lost(ctx, life, err)
			}
		case question := <-s.questions:
			asked := &dataplanev1.ToDataplane{Frame: &dataplanev1.ToDataplane_Question{Question: question}}
			if err := life.wire.write(asked); err != nil {
				return s.lost(ctx, life, err)
			}
			life.drafting = life.drafting || question.GetDraft() != nil
		case shares := <-s.shares:
			told := &dataplanev1.ToDataplane{Frame: &dataplanev1.ToDataplane_KeyShares{KeyShares: shares}}
			if err := life.wire.write(told); err != nil {
				return s.lost(ctx, life, err)
			}
		case <-beats.C:
			if len(life.frames) == 0 && life.stuck(s.rollout.flight != nil || life.drafting) {
				return s.replace(life)
			}
			s.rollout.beat()
		case <-ctx.Done():
			return nil
		}
	}
}

// replace ends a process that runs but does not serve. We hold its sockets, too, so clients wait for the next process.
func (s *Supervisor) replace(life *life) error {
	stuck := fmt.Errorf("it was stuck: no Sample for %v", time.Duration(life.silence)*s.beat)
	s.Log.Error("the data plane does not serve; killing it", "pid", life.process.pid, "reason", stuck)
	return errors.Join(stuck, life.process.kill())
}

// lost says why a life ended. The exit of the process explains more than the end of its connection.
func (s *Supervisor) lost(ctx context.Context, life *life, cause error) error {
	select {
	case <-ctx.Done():
		return nil
	case <-life.process.exited:
		return errors.New(life.process.ending)
	case <-time.After(s.exitPatience):
		return fmt.Errorf("lost the connection to it: %w", cause)
	}
}

// take takes the Plan that was asked for.
func (s *Supervisor) take(life *life) {
	s.mu.Lock()
	wanted := s.wanted
	s.wanted = nil
	s.mu.Unlock()
	switch serves := life.hello.GetAppliedRevision(); {
	case wanted == nil:
	case wanted == s.Kept && serves != 0 && serves != wanted.Revision:
		s.Log.Warn("the data plane keeps its Plan until the controller sends one: it is newer than the one on disk",
			"serves", serves, "disk", wanted.Revision)
		s.rollout.assume(wanted)
		s.Observer.Assumed(wanted)
	default:
		s.rollout.submit(wanted)
	}
}

// takeChanged takes the servers that have another state.
func (s *Supervisor) takeChanged() map[plan.Member]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.changed
	s.changed = map[plan.Member]bool{}
	return changed
}

// limitSegments applies limits that have changed to the sockets concerned.
func (s *Supervisor) limitSegments() {
	if all, some := s.Segments.ChangedSegments(); all || len(some) > 0 {
		s.sockets.limitSegments(s.Segments, func(at netip.Addr) bool { return all || some[at] })
	}
}

// advance sends the next Plan that is due, and its new sockets before it. A data plane that has a Plan of ours gets a
// change of it. A Plan whose sockets cannot be opened is refused here, and the next one is tried.
func (s *Supervisor) advance(life *life) error {
	for next := s.rollout.next(); next != nil; next = s.rollout.next() {
		s.step = stepTo(next, life.base, s.serving, life.hello.GetWorkers())
		err := s.sockets.open(s.step.comes, s.Segments)
		if failed := (*listenError)(nil); errors.As(err, &failed) {
			s.conclude(life, false, failed.findings())
			continue
		}
		if err := life.give(s.sockets, s.step.comes); err != nil {
			return err
		}
		return life.wire.write(s.step.frame)
	}
	return nil
}

// hear takes one frame of the data plane.
func (s *Supervisor) hear(life *life, message *dataplanev1.FromDataplane) {
	switch frame := message.GetFrame().(type) {
	case *dataplanev1.FromDataplane_Ack:
		if s.expects(frame.Ack.GetRevision()) {
			s.conclude(life, true, plan.FindingsOf(frame.Ack.GetWarnings()))
		}
	case *dataplanev1.FromDataplane_Nack:
		switch {
		case !s.expects(frame.Nack.GetRevision()):
		case frame.Nack.GetResync() && life.base != nil:
			s.resync(life)
		default:
			s.conclude(life, false, plan.FindingsOf(frame.Nack.GetErrors()))
		}
	case *dataplanev1.FromDataplane_Explanation:
		life.drafting = false
		s.Observer.Explained(frame.Explanation)
	case *dataplanev1.FromDataplane_KeyDemands:
		s.Observer.Demanded(frame.KeyDemands)
	case *dataplanev1.FromDataplane_Sample:
		life.silence = 0
		sample := sampleOf(frame.Sample)
		s.tend(sample.Up)
		s.Observer.Sampled(sample)
	case *dataplanev1.FromDataplane_Records:
		s.hearRecords(frame.Records)
	default:
		s.Log.Warn("the data plane sent a frame that has no place here", "frame", fmt.Sprintf("%T", frame))
	}
}

func (s *Supervisor) expects(revision uint64) bool {
	flight := s.rollout.flight
	if flight != nil && flight.plan.Revision == revision {
		return true
	}
	s.Log.Warn("the data plane answered for a Plan that it was not given", "revision", revision)
	return false
}

// conclude ends the Plan in flight and tells who asked for it.
func (s *Supervisor) conclude(life *life, applied bool, findings []plan.Finding) {
	plan := s.rollout.flight.plan
	verdict := s.rollout.answered(applied)
	life.silence = 0
	clear(s.settled)
	if applied {
		if life.hello.GetTakesChanges() {
			life.base = plan
		}
		if s.step.whole {
			life.forgetAllStates()
		}
		life.forgetStates(s.step.members)
		life.fresh = nil
		s.closeUnused(life, s.step.take(s.serving))
		s.listenAlways(plan, s.step.comes)
		s.giveTime(plan)
		s.status.ServingRevision = plan.Revision
		s.become(Running, "")
	} else {
		s.withdraw(life)
	}
	switch {
	case verdict == nil && !applied:
		s.logUnrestored(life, plan.Revision, findings)
	case verdict == nil:
		s.Log.Info("the Plan that served before serves again", "revision", plan.Revision)
	case verdict.applied:
		s.Observer.Applied(plan, findings)
	default:
		s.Observer.Refused(plan, findings)
	}
}

// logUnrestored says why a Plan that served before cannot serve again. It says the same reason once in a life, because
// the Plan is sent again and again.
func (s *Supervisor) logUnrestored(life *life, revision uint64, findings []plan.Finding) {
	if reason := fmt.Sprint(findings); reason != life.unrestored {
		life.unrestored = reason
		s.Log.Error("the Plan that served before cannot serve again; it is sent again from time to time", "revision",
			revision, "errors", findings)
	}
}

// withdraw closes the sockets that were opened for the Plan in flight. What the data plane got for it, and drops, it
// gets again with the next one, also where a Plan served before.
func (s *Supervisor) withdraw(life *life) {
	life.forget(life.fresh)
	life.fresh = nil
	s.closeUnused(life, s.step.newIn(s.serving))
}

// closeUnused closes the sockets at these places. After a whole Plan it closes every socket that is not in use: an
// earlier process may have left some. It is called after the answer of the data plane: if sockets were closed earlier,
// a refused Plan would cost the connections that wait in them.
func (s *Supervisor) closeUnused(life *life, unused []slot) {
	if s.step.whole {
		life.forget(s.sockets.retain(s.serving))
	} else {
		life.forget(s.sockets.close(unused))
	}
}

// resync sends the Plan in flight again, and whole: the data plane does not have the base of the change.
func (s *Supervisor) resync(life *life) {
	s.Log.Warn("the data plane does not have the base of a change; sending it the whole Plan", "revision",
		s.rollout.flight.plan.Revision)
	life.base = nil
	s.withdraw(life)
	s.rollout.again()
}
