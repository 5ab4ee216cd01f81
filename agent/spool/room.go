package spool

import (
	"fmt"
	"os"
	"path/filepath"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/api/record"
	"github.com/weir-lb/weir/durable"
)

// makeRoom drops records until the rest is within the budget: of the class all first, the oldest first.
func (s *Spool) makeRoom() {
	for s.diskBytes() > s.DiskBytes {
		from, class := s.leastWanted()
		if from < 0 {
			return
		}
		if err := s.rewrite(from, class); err != nil {
			s.Log.Error("the agent's records take more of the disk than they may", "reason", err)
			return
		}
	}
}

func (s *Spool) diskBytes() (bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.segments {
		bytes += one.bytes
	}
	return bytes
}

// leastWanted returns the segment and the class that go next; -1: nothing can go.
func (s *Spool) leastWanted() (at int, class record.Class) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for class := record.All; class >= record.Significant; class-- {
		for at, one := range s.segments {
			if one.classBytes(class) > 0 {
				return at, class
			}
		}
	}
	return -1, 0
}

// rewrite writes a segment anew, without the records of a class, and together with small ones before it.
func (s *Spool) rewrite(at int, class record.Class) error {
	s.mu.Lock()
	from := at
	for from > 0 && s.segments[from-1].bytes < s.segmentBytes()/8 {
		from--
	}
	old := append([]*segment(nil), s.segments[from:at+1]...)
	var before []*entry
	for _, one := range old {
		before = append(before, one.live...)
	}
	sent := map[*entry]bool{}
	for _, one := range before {
		sent[one] = one.sent
	}
	s.mu.Unlock()
	batches, of, err := shrunk(before, sent, class)
	if err != nil {
		return err
	}
	name := filepath.Join(s.Dir, segmentName(old[len(old)-1].number))
	file, err := os.OpenFile(name+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	fresh := &segment{number: old[len(old)-1].number, file: file}
	places, err := fresh.write(batches)
	if err != nil {
		file.Close()
		os.Remove(file.Name())
		return fmt.Errorf("%s: %w", file.Name(), err)
	}
	return s.replace(from, at, old, fresh, sent, places, batches, of)
}

// shrunk are the batches of entries without the records of a class. Those of a worker that have no records left become
// one. of has for each batch the entries in it.
func shrunk(
	before []*entry, sent map[*entry]bool, class record.Class,
) (batches []*enginev1.RecordBatch, of [][]*entry, err error) {
	last := map[uint32]int{} // by worker: the place in batches
	for _, one := range before {
		batch, err := one.segment.read(one.place)
		if err != nil {
			return nil, nil, err
		}
		if !sent[one] {
			drop(batch, class)
		}
		at, has := last[one.worker]
		if has && !sent[one] && isHusk(batch) && !sent[of[at][0]] && isHusk(batches[at]) &&
			batches[at].GetEpoch() == batch.GetEpoch() {
			batches[at], of[at] = merge(batches[at], batch), append(of[at], one)
			continue
		}
		last[one.worker] = len(batches)
		batches, of = append(batches, batch), append(of, []*entry{one})
	}
	return batches, of, nil
}

// replace puts a segment in the place of others. If one of their batches was sent meanwhile, the controller may have
// it, so nothing of it may change: then all stays as it is.
func (s *Spool) replace(
	from, at int, old []*segment, fresh *segment, sent map[*entry]bool, places []place, batches []*enginev1.RecordBatch,
	of [][]*entry,
) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, together := range of {
		for _, one := range together {
			if one.taken || one.sent != sent[one] {
				fresh.file.Close()
				return os.Remove(fresh.file.Name())
			}
		}
	}
	if err := os.Rename(fresh.file.Name(), filepath.Join(s.Dir, segmentName(fresh.number))); err != nil {
		return err
	}
	for n, together := range of {
		newest := together[len(together)-1]
		newest.segment, newest.place, newest.bytes = fresh, places[n], bytesOf(batches[n])
		fresh.live = append(fresh.live, newest)
		for _, merged := range together[:len(together)-1] {
			s.forget(merged)
		}
	}
	s.segments = append(s.segments[:from:from], append([]*segment{fresh}, s.segments[at+1:]...)...)
	for _, one := range old {
		one.file.Close()
		if one.number != fresh.number {
			os.Remove(filepath.Join(s.Dir, segmentName(one.number)))
		}
	}
	return durable.SyncDir(s.Dir)
}
