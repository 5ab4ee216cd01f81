// Package spool keeps records of requests and connections from the moment the data plane hands them over until the
// controller has them: in memory for a moment, and on disk if the controller is away or slow. The data plane learns
// that a batch is taken when the controller has it, or when it is on disk. So a batch survives the end of any process.
//
// When the disk budget is used up, records go: first those of the class all, then filtered ones, then significant ones,
// of each the oldest first. Of these stays how many they were and what they stood for, in place of their batch, so that
// the controller counts them once. batch.go, segment.go and room.go have the parts.
package spool

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/api/record"
)

const (
	// patience is how long a batch stays in memory before it goes to disk.
	patience = 150 * time.Millisecond
	// freshMax is how many batches stay in memory before they go to disk at once: a data plane waits when four do.
	freshMax = 2
	// framesMax is how many frames wait for Run. A data plane has fewer on their way.
	framesMax = 64
)

// Config says where and how much to keep.
type Config struct {
	Dir       string
	DiskBytes int64
	// Taken is told which batches of the data plane are safe. It may not block.
	Taken func(*dataplanev1.RecordsTaken)
	Log   *slog.Logger
}

// Spool is safe for concurrent use.
type Spool struct {
	Config
	frames chan *dataplanev1.Records
	packer *packer
	epochs epochs
	lives  lives  // of Run alone
	stuck  string // of Run alone: why the disk takes nothing; empty: it does

	receiving sync.Mutex
	missing   map[uint32]missed // by worker: the first frame that had no room

	mu       sync.Mutex
	entries  []*entry // that the controller does not have, oldest first
	next     int      // in entries: the first that this stream has not sent
	segments []*segment
	standing map[uint32]*enginev1.Standing // as of the last batch that was taken, by worker
	changed  chan struct{}                 // closed at the next change
	unwanted bool                          // the controller keeps no records
}

// missed names a frame that was not taken.
type missed struct{ process, number uint64 }

// key names a batch.
type key struct {
	epoch  uint64
	worker uint32
	number uint64
}

// entry is a batch.
type entry struct {
	key
	process uint64
	first   uint64                // of the batches that it stands for; set when it was found on disk
	bytes   [record.All + 1]int64 // by class
	came    time.Time
	sent    bool                  // the controller may have it
	taken   bool                  // the controller has it
	batch   *enginev1.RecordBatch // nil: it is on disk alone
	segment *segment              // nil: it is in memory alone
	place   place
	waiting []*dataplanev1.Unrecorded // after the batch; of one that was sent
}

func newEntry(batch *enginev1.RecordBatch) *entry {
	return &entry{
		key:     key{batch.GetEpoch(), batch.GetWorker(), batch.GetNumber()},
		process: batch.GetProcess(), bytes: bytesOf(batch), batch: batch,
	}
}

// Open finds what an earlier agent has left on disk.
func Open(config Config) (*Spool, error) {
	if err := os.MkdirAll(config.Dir, 0o700); err != nil {
		return nil, err
	}
	packer, err := newPacker()
	if err != nil {
		return nil, err
	}
	segments, err := openSegments(config.Dir)
	if err != nil {
		return nil, err
	}
	s := &Spool{
		Config: config, frames: make(chan *dataplanev1.Records, framesMax), packer: packer, segments: segments,
		standing: map[uint32]*enginev1.Standing{}, changed: make(chan struct{}), lives: lives{},
		missing: map[uint32]missed{},
	}
	s.entries = known(segments)
	for _, one := range s.entries {
		one.sent = true // the disk does not tell which of them the controller took from an earlier agent
		s.lives.at(one.worker).heard(one.key)
	}
	s.epochs, err = openEpochs(config.Dir)
	return s, err
}

// Received takes a frame of the data plane. It never blocks. A data plane that sends more than it may gets no answer.
// An answer stands for all frames before it. So those behind are left with the data plane as well, until it sends the
// missing one again.
func (s *Spool) Received(frame *dataplanev1.Records) {
	s.receiving.Lock()
	defer s.receiving.Unlock()
	missing, is := s.missing[frame.GetWorker()]
	is = is && missing.process == frame.GetProcess()
	if is && missing.number < frame.GetNumber() {
		return
	}
	select {
	case s.frames <- frame:
		if !is || missing.number == frame.GetNumber() {
			delete(s.missing, frame.GetWorker())
		}
	default:
		s.missing[frame.GetWorker()] = missed{frame.GetProcess(), frame.GetNumber()}
		s.Log.Error("the data plane sends more records than it may", "worker", frame.GetWorker(),
			"number", frame.GetNumber())
	}
}

// Run takes frames until ctx ends. Then it puts on disk what is in memory.
func (s *Spool) Run(ctx context.Context) {
	ticks := time.NewTicker(patience / 3)
	defer ticks.Stop()
	for {
		select {
		case frame := <-s.frames:
			s.accept(frame, time.Now())
			s.spill(time.Now(), patience)
		case <-ticks.C:
			s.spill(time.Now(), patience)
			s.tidy()
		case <-ctx.Done():
			for len(s.frames) > 0 {
				s.accept(<-s.frames, time.Now())
			}
			s.spill(time.Now(), 0)
			return
		}
	}
}

// accept makes a batch of a frame. One that is here already is as safe as it was.
func (s *Spool) accept(frame *dataplanev1.Records, now time.Time) {
	epoch := s.epochs.of(frame.GetProcess())
	if err := s.epochs.save(); err != nil {
		s.stop(err) // it is tried again before the first batch goes to disk
	}
	for _, last := range s.lives.begin(epoch) {
		s.keep(last, now) // an earlier data plane has ended
	}
	life := s.lives.at(frame.GetWorker())
	named := key{epoch, frame.GetWorker(), frame.GetNumber()}
	if !life.isNew(named) {
		if !s.isFresh(named) {
			s.Taken(takenOf(frame.GetProcess(), named))
		}
		return
	}
	batch, broken := s.packer.pack(frame, epoch)
	if broken != nil {
		s.Log.Error("the data plane sent what is no record", "worker", frame.GetWorker(), "reason", broken)
	}
	life.heard(named)
	life.note(batch)
	s.keep(batch, now)
}

func (s *Spool) keep(batch *enginev1.RecordBatch, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := newEntry(batch)
	if s.unwanted {
		s.Taken(takenOf(kept.process, kept.key))
		return
	}
	kept.came = now
	s.entries = append(s.entries, kept)
	s.wake()
}

// isFresh tells whether a batch is in memory alone.
func (s *Spool) isFresh(named key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.entries {
		if one.key == named {
			return one.segment == nil && !one.taken
		}
	}
	return false
}

func takenOf(process uint64, named key) *dataplanev1.RecordsTaken {
	return &dataplanev1.RecordsTaken{Process: process, Worker: named.worker, Number: named.number}
}

func (s *Spool) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}
