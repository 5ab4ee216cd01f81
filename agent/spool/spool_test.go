package spool

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/api/record"
)

// rig is a spool whose clock and goroutine are the test's.
type rig struct {
	*testing.T
	*Spool
	dir   string
	disk  int64
	now   time.Time
	taken []string // process worker number
}

func newRig(t *testing.T, disk int64) *rig {
	r := &rig{T: t, dir: t.TempDir(), disk: disk, now: time.Now()}
	r.open()
	return r
}

// open begins a spool as after the end of the agent, in whatever way it ended.
func (r *rig) open() {
	r.Helper()
	opened, err := Open(Config{Dir: r.dir, DiskBytes: r.disk, Log: slog.New(slog.NewTextHandler(r.Output(), nil)),
		Taken: func(taken *dataplanev1.RecordsTaken) {
			r.taken = append(r.taken, fmt.Sprint(taken.GetProcess(), " ", taken.GetWorker(), " ", taken.GetNumber()))
		}})
	if err != nil {
		r.Fatal(err)
	}
	r.Spool = opened
}

// frame has count records of each class.
func frame(process uint64, worker uint32, number uint64, count int, random *rand.Rand) *dataplanev1.Records {
	frame := &dataplanev1.Records{Process: process, Worker: worker, Number: number,
		Services: []*dataplanev1.RecordedService{{Number: 1, Uuid: "vs-1"}},
		Waiting: []*dataplanev1.Unrecorded{{VirtualServiceUuid: "vs-1", Class: 3, Count: number},
			{VirtualServiceUuid: "vs-2", Class: 1}}}
	for n := range count {
		for class := record.Significant; class <= record.All; class++ {
			one := record.Record{Kind: record.Request, Class: class, Weight: uint32(n + 1), Service: 1,
				Server:   record.None,
				Sequence: uint64(n), End: time.UnixMicro(int64(number)), Client: netip.MustParseAddrPort("192.0.2.1:1")}
			noise := make([]byte, 200)
			for i := range noise {
				noise[i] = byte(random.Uint32())
			}
			one.Texts[record.Path] = noise
			frame.Packed = record.Append(frame.Packed, one)
		}
	}
	return frame
}

// count adds up weights of a batch: those of records, and those that are lost.
func count(t *testing.T, batch *enginev1.RecordBatch) (kept, lost map[record.Class]uint64) {
	t.Helper()
	kept, lost = map[record.Class]uint64{}, map[record.Class]uint64{}
	for _, part := range batch.GetParts() {
		for _, tally := range part.GetTallies() {
			if part.GetLost() != "" {
				lost[record.Class(part.GetClass())] += tally.GetWeight()
			} else {
				kept[record.Class(part.GetClass())] += tally.GetWeight()
			}
		}
	}
	return kept, lost
}

func (r *rig) send() *enginev1.RecordBatch {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Spool.take()
}

func (r *rig) took(batch *enginev1.RecordBatch) {
	r.Took(&enginev1.BatchTaken{Epoch: batch.GetEpoch(), Worker: batch.GetWorker(), Number: batch.GetNumber()})
}

func TestABatchThatTheControllerTakesAtOnceNeverTouchesTheDisk(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	r := newRig(t, 1<<20)
	r.accept(frame(7, 2, 1, 3, random), r.now)
	r.spill(r.now, patience)
	if r.taken != nil || r.diskBytes() != 0 {
		t.Errorf("told %v, with %d bytes on disk", r.taken, r.diskBytes())
	}
	batch := r.send()
	kept, _ := count(t, batch)
	if fmt.Sprint(kept) != "map[1:6 2:6 3:6]" || batch.GetWaiting()[0].GetCount() != 1 {
		t.Errorf("weights are %v, batch %v", kept, batch)
	}
	if r.send() != nil {
		t.Error("it was sent twice in one stream")
	}
	r.took(batch)
	if fmt.Sprint(r.taken) != "[7 2 1]" || len(r.entries) != 0 {
		t.Errorf("told %v, %d left", r.taken, len(r.entries))
	}
	if standing := r.Rewind(); len(standing) != 1 || standing[0].GetWaiting()[0].GetCount() != 1 {
		t.Errorf("stands %v", standing)
	}
}

func TestBatchesOnDiskSurviveTheAgentAndComeOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	r := newRig(t, 1<<20)
	for number := range uint64(5) {
		r.accept(frame(7, 0, number+1, 1, random), r.now)
	}
	r.spill(r.now, patience)
	if fmt.Sprint(r.taken) != "[7 0 1 7 0 2 7 0 3 7 0 4 7 0 5]" {
		t.Errorf("told %v", r.taken)
	}
	r.took(r.send())
	r.open()
	r.taken = nil
	r.accept(frame(7, 0, 5, 1, random), r.now) // the data plane has not heard
	r.accept(frame(7, 0, 6, 1, random), r.now)
	var numbers []uint64
	for batch := r.send(); batch != nil; batch = r.send() {
		numbers = append(numbers, batch.GetNumber())
	}
	if fmt.Sprint(numbers) != "[1 2 3 4 5 6]" || fmt.Sprint(r.taken) != "[7 0 5]" {
		t.Errorf("sends %v, told %v", numbers, r.taken)
	}
	r.Rewind()
	for range 5 {
		r.took(r.send())
	}
	r.tidy()
	if r.diskBytes() != 0 || len(r.entries) != 1 {
		t.Errorf("%d bytes on disk, %d entries", r.diskBytes(), len(r.entries))
	}
}

func TestOrdinaryRecordsGoFirstAndTheirWeightsStay(t *testing.T) {
	for name, reopen := range map[string]bool{"running": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 1))
			const disk, batches = 256 << 10, 400
			r := newRig(t, disk)
			for number := range uint64(batches) {
				r.accept(frame(7, uint32(number%3), number/3+1, 3, random), r.now)
				r.spill(r.now, 0)
				if bytes := r.diskBytes(); bytes > disk {
					t.Fatalf("%d bytes on disk", bytes)
				}
			}
			if reopen {
				r.open()
			}
			kept, lost, sent := map[record.Class]uint64{}, map[record.Class]uint64{}, 0
			last := map[uint32]uint64{}
			for batch := r.send(); batch != nil; batch = r.send() {
				if batch.GetNumber() <= last[batch.GetWorker()] {
					t.Errorf("worker %d: %d after %d", batch.GetWorker(), batch.GetNumber(), last[batch.GetWorker()])
				}
				last[batch.GetWorker()] = batch.GetNumber()
				more, less := count(t, batch)
				for class := range record.All + 1 {
					kept[class] += more[class]
					lost[class] += less[class]
				}
				sent++
			}
			for class := record.Significant; class <= record.All; class++ {
				if kept[class]+lost[class] != 6*batches {
					t.Errorf("class %d: %d kept, %d lost", class, kept[class], lost[class])
				}
			}
			if lost[record.All] < lost[record.Filtered] || lost[record.Filtered] <= lost[record.Significant] ||
				kept[record.Significant] == 0 || sent == batches {
				t.Errorf("kept %v, lost %v in %d batches", kept, lost, sent)
			}
		})
	}
}

func TestWhatTheControllerMayHaveIsNotDropped(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	r := newRig(t, 16<<10)
	r.accept(frame(7, 0, 1, 5, random), r.now)
	r.spill(r.now, 0)
	first := r.send() // and the stream breaks
	for number := range uint64(20) {
		r.accept(frame(7, 0, number+2, 5, random), r.now)
		r.spill(r.now, 0)
	}
	r.Rewind()
	again := r.send()
	if kept, lost := count(t, again); again.GetNumber() != first.GetNumber() || len(lost) != 0 ||
		kept[record.All] != 15 {
		t.Errorf("batch %d: kept %v, lost %v", again.GetNumber(), kept, lost)
	}
}

// A crash while segments are written anew leaves a batch beside the one that stands for it.
func TestACrashWhileRoomIsMadeCountsNothingTwice(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	r := newRig(t, 1<<20)
	for number := range uint64(3) {
		r.accept(frame(7, 0, number+1, 1, random), r.now)
	}
	r.spill(r.now, 0)
	husk := &enginev1.RecordBatch{Epoch: 7, Number: 3, FirstNumber: 2,
		Parts: []*enginev1.RecordPart{{Class: 1, Lost: noRoom}}}
	segment, err := createSegment(r.dir, 99)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := segment.write([]*enginev1.RecordBatch{husk}); err != nil {
		t.Fatal(err)
	}
	r.open()
	var numbers []uint64
	for batch := r.send(); batch != nil; batch = r.send() {
		numbers = append(numbers, batch.GetNumber())
	}
	if fmt.Sprint(numbers) != "[1 3]" {
		t.Errorf("sends %v", numbers)
	}
}

func TestWhatADataPlaneDidNotRecordBeforeItsEndIsTold(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	r := newRig(t, 1<<20)
	r.accept(frame(9, 0, 4, 1, random), r.now)
	r.accept(frame(8, 0, 1, 1, random), r.now) // the clock was set back
	var said string
	for batch := r.send(); batch != nil; batch = r.send() {
		_, lost := count(t, batch)
		said += fmt.Sprint(batch.GetEpoch(), " ", batch.GetNumber(), " ", lost, "; ")
	}
	if want := "9 4 map[]; 9 5 map[3:4]; 10 1 map[]; "; said != want {
		t.Errorf("sends %s, want %s", said, want)
	}
}

func TestAFullDiskLeavesBatchesWithTheDataPlane(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	r := newRig(t, 1<<20)
	r.accept(frame(7, 0, 1, 1, random), r.now)
	r.spill(r.now, 0)
	r.taken = nil
	r.segments[0].file.Close() // every write fails from now on
	r.accept(frame(7, 0, 2, 1, random), r.now)
	r.spill(r.now, 0)
	if r.taken != nil {
		t.Errorf("told %v", r.taken)
	}
	for batch := r.send(); batch != nil; batch = r.send() {
		r.took(batch)
	}
	if fmt.Sprint(r.taken) != "[7 0 2]" {
		t.Errorf("told %v", r.taken)
	}
}

func TestRunTakesFramesAndLeavesNothingInMemory(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	r := newRig(t, 1<<20)
	r.Received(frame(7, 0, 1, 1, random))
	ctx, end := context.WithCancel(t.Context())
	end()
	r.Spool.Run(ctx)
	r.open()
	if batch, err := r.Next(t.Context()); err != nil || batch.GetNumber() != 1 {
		t.Errorf("%v, %v", batch, err)
	}
}

func TestAControllerWithoutAStoreCostsNoDisk(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	r := newRig(t, 1<<20)
	for number := range uint64(3) {
		r.accept(frame(7, 0, number+1, 1, random), r.now)
	}
	r.spill(r.now, 0)
	r.accept(frame(7, 0, 4, 1, random), r.now)
	r.Unwanted()
	r.accept(frame(7, 0, 5, 1, random), r.now)
	r.spill(r.now, 0)
	r.tidy()
	if fmt.Sprint(r.taken) != "[7 0 1 7 0 2 7 0 3 7 0 4 7 0 5]" || r.diskBytes() != 0 || r.send() != nil {
		t.Errorf("told %v, with %d bytes on disk", r.taken, r.diskBytes())
	}
	r.Rewind()
	r.accept(frame(7, 0, 6, 1, random), r.now)
	if batch := r.send(); batch.GetNumber() != 6 {
		t.Errorf("sends %v", batch)
	}
}
