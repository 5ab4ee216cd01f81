package spool

import (
	"context"
	"maps"
	"slices"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// Rewind begins a stream: all batches that are not taken are sent again. It returns what each worker's records did not
// stand for when the controller took its last batch.
func (s *Spool) Rewind() []*enginev1.Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.unwanted = 0, false
	return slices.Collect(maps.Values(s.standing))
}

// Next waits for the next batch that this stream has not sent.
func (s *Spool) Next(ctx context.Context) (*enginev1.RecordBatch, error) {
	for {
		s.mu.Lock()
		batch, changed := s.take(), s.changed
		s.mu.Unlock()
		if batch != nil {
			return batch, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Drain waits until the controller has all batches that came, or ctx ends.
func (s *Spool) Drain(ctx context.Context) {
	for {
		s.mu.Lock()
		left, changed := len(s.entries)+len(s.frames), s.changed
		s.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// take returns the next batch; nil: there is none. One that cannot be read any more is lost.
func (s *Spool) take() *enginev1.RecordBatch {
	for s.next < len(s.entries) {
		one := s.entries[s.next]
		batch := one.batch
		if batch == nil && !one.taken {
			var err error
			if batch, err = one.segment.read(one.place); err != nil {
				s.Log.Error("records are lost: they cannot be read from the disk of the agent", "reason", err)
				s.forget(one)
				continue
			}
		}
		s.next++
		if !one.taken {
			one.sent, one.waiting = true, batch.GetWaiting()
			return batch
		}
	}
	return nil
}

// Unwanted says that the controller keeps no records. Until it takes one, all are dropped at once.
func (s *Spool) Unwanted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unwanted = true
	for len(s.entries) > 0 {
		first := s.entries[0]
		if first.segment == nil {
			s.Taken(takenOf(first.process, first.key))
		}
		s.forget(first)
	}
}

// Took says that the controller has a batch.
func (s *Spool) Took(taken *enginev1.BatchTaken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unwanted = false
	named := key{taken.GetEpoch(), taken.GetWorker(), taken.GetNumber()}
	for _, one := range s.entries[:s.next] {
		if one.key != named {
			continue
		}
		if one.segment == nil {
			s.Taken(takenOf(one.process, named))
		}
		s.standing[named.worker] = &enginev1.Standing{Epoch: named.epoch, Worker: named.worker, Waiting: one.waiting}
		s.forget(one)
		return
	}
}

// forget drops a batch.
func (s *Spool) forget(gone *entry) {
	gone.taken, gone.batch = true, nil
	if gone.segment != nil {
		live := gone.segment.live
		if at := slices.Index(live, gone); at >= 0 {
			gone.segment.live = slices.Delete(live, at, at+1)
		}
	}
	done := 0
	for done < len(s.entries) && s.entries[done].taken {
		done++
	}
	s.entries = slices.Delete(s.entries, 0, done)
	s.next = max(0, s.next-done)
	if len(s.entries) == 0 {
		s.wake()
	}
}
