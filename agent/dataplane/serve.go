package dataplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-lb/weir/agent/plan"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// serve is the loop of one life. It returns nil only when ctx ends.
func (s *Supervisor) serve(ctx context.Context, life *life) error {
	beats := time.NewTicker(s.beat)
	defer beats.Stop()
	for {
		if err := errors.Join(life.tell(s.States()), s.advance(life)); err != nil {
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
			s.take()
		case <-s.statesChanged:
		case <-s.lettingGo:
			letGo := &dataplanev1.ToDataplane{Frame: &dataplanev1.ToDataplane_LetGo{LetGo: &dataplanev1.LetGo{}}}
			if err := life.wire.write(letGo); err != nil {
				return s.lost(ctx, life, err)
			}
		case <-beats.C:
			if len(life.frames) == 0 && life.stuck(s.rollout.flight != nil) {
				return s.replace(life)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// replace ends a process that lives but does not serve. Its sockets are ours too, so clients wait for the next one.
func (s *Supervisor) replace(life *life) error {
	stuck := fmt.Errorf("it was stuck: no Sample for %v", time.Duration(life.silence)*s.beat)
	s.Log.Error("the data plane does not serve; killing it", "pid", life.process.pid, "reason", stuck)
	return errors.Join(stuck, life.process.kill())
}

// lost says why a life ended: the end of the process explains more than the end of its connection.
func (s *Supervisor) lost(ctx context.Context, life *life, cause error) error {
	select {
	case <-ctx.Done():
		return nil
	case <-life.process.exited:
		return errors.New(life.process.ending)
	case <-time.After(exitPatience):
		return fmt.Errorf("lost the connection to it: %w", cause)
	}
}

func (s *Supervisor) take() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wanted != nil {
		s.rollout.submit(s.wanted)
		s.wanted = nil
	}
}

// advance sends the next Plan that is due, with its sockets before it. A Plan whose sockets cannot be had is refused
// here, and the next is tried.
func (s *Supervisor) advance(life *life) error {
	for plan := s.rollout.next(); plan != nil; plan = s.rollout.next() {
		s.places = placesOf(plan, life.hello.GetWorkers())
		err := s.sockets.open(s.places, s.MaxSegment)
		if failed := (*listenError)(nil); errors.As(err, &failed) {
			s.conclude(life, false, failed.findings())
			continue
		}
		if err := life.give(s.sockets, s.places); err != nil {
			return err
		}
		return life.wire.write(&dataplanev1.ToDataplane{Frame: &dataplanev1.ToDataplane_Plan{Plan: plan.Dataplane}})
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
		if s.expects(frame.Nack.GetRevision()) {
			s.conclude(life, false, plan.FindingsOf(frame.Nack.GetErrors()))
		}
	case *dataplanev1.FromDataplane_Sample:
		life.silence = 0
		s.Observer.Sampled(sampleOf(frame.Sample))
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
	if applied {
		s.serving = s.places
		clear(life.states) // the Plan may bring servers whose states the data plane did not know or keep: tell all again
		s.status.ServingRevision = plan.Revision
		s.become(Running, "")
	}
	s.closeUnused()
	life.forget(s.sockets)
	switch {
	case verdict == nil && !applied:
		s.Log.Error("the data plane refuses the Plan that served before", "revision", plan.Revision, "errors", findings)
	case verdict == nil:
		s.Log.Info("the Plan that served before serves again", "revision", plan.Revision)
	case verdict.applied:
		s.Observer.Applied(plan, findings)
	default:
		s.Observer.Refused(plan, findings)
	}
}

// closeUnused closes the sockets that what serves does not use. Only now: had they been closed before the answer, a
// refused Plan would have cost the connections that wait in them.
func (s *Supervisor) closeUnused() {
	s.sockets.retain(s.serving)
}
