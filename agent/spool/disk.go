package spool

import (
	"errors"
	"os"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// spill puts batches on disk that have been in memory for too long, and all before them.
func (s *Spool) spill(now time.Time, patience time.Duration) {
	fresh, batches := s.fresh()
	if len(fresh) == 0 || len(fresh) <= freshMax && now.Sub(fresh[0].came) < patience {
		return
	}
	if err := s.write(fresh, batches); err != nil {
		s.stop(err)
		return
	}
	s.stuck = ""
	s.makeRoom()
}

// stop notes why the disk takes nothing, and says so once.
func (s *Spool) stop(err error) {
	if s.stuck != err.Error() {
		s.Log.Error("records stay with the data plane: the agent cannot put them on disk", "reason", err)
	}
	s.stuck = err.Error()
}

// fresh are the entries that are in memory alone, which are the newest ones.
func (s *Spool) fresh() (fresh []*entry, batches []*enginev1.RecordBatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := len(s.entries)
	for first > 0 && s.entries[first-1].segment == nil {
		first--
	}
	for _, one := range s.entries[first:] {
		if !one.taken {
			fresh, batches = append(fresh, one), append(batches, one.batch)
		}
	}
	return fresh, batches
}

// write puts entries into the newest segment, and tells the data plane.
func (s *Spool) write(fresh []*entry, batches []*enginev1.RecordBatch) error {
	if err := s.epochs.save(); err != nil {
		return err
	}
	segment, err := s.writable()
	if err != nil {
		return err
	}
	places, err := segment.write(batches)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, one := range fresh {
		if one.taken {
			continue
		}
		one.segment, one.place, one.batch = segment, places[i], nil
		segment.live = append(segment.live, one)
		s.Taken(takenOf(one.process, one.key))
	}
	return nil
}

// writable is the segment that grows.
func (s *Spool) writable() (*segment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := uint64(1)
	if len(s.segments) > 0 {
		newest := s.segments[len(s.segments)-1]
		if newest.bytes < s.segmentBytes() {
			return newest, nil
		}
		number = newest.number + 1
	}
	created, err := createSegment(s.Dir, number)
	if err == nil {
		s.segments = append(s.segments, created)
	}
	return created, err
}

func (s *Spool) segmentBytes() int64 {
	const most = 8 << 20
	return min(most, max(1, s.DiskBytes/16))
}

// tidy deletes segments whose batches are taken.
func (s *Spool) tidy() {
	s.mu.Lock()
	var left, gone []*segment
	for _, one := range s.segments {
		if len(one.live) > 0 {
			left = append(left, one)
		} else {
			gone = append(gone, one)
		}
	}
	s.segments = left
	s.mu.Unlock()
	for _, one := range gone {
		if err := one.remove(s.Dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			s.Log.Error("a file with records that the controller has cannot be deleted", "reason", err)
		}
	}
}
