package spool

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

func TestADataPlaneThatBeginsWithoutADiskLosesNoRecords(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	r := newRig(t, 1<<20)
	path := r.epochs.path
	r.epochs.path = filepath.Join(r.dir, "away", epochName) // every write fails
	for number := range uint64(2) {
		r.accept(frame(7, 0, number+1, 1, random), r.now)
		r.spill(r.now, 0)
	}
	if r.taken != nil {
		t.Errorf("told %v before anything is safe", r.taken)
	}
	r.took(r.send()) // the controller needs no disk
	r.epochs.path = path
	r.accept(frame(7, 0, 3, 1, random), r.now)
	r.spill(r.now, 0)
	if fmt.Sprint(r.taken) != "[7 0 1 7 0 2 7 0 3]" {
		t.Errorf("told %v", r.taken)
	}
	r.open()
	var numbers []uint64
	for batch := r.send(); batch != nil; batch = r.send() {
		numbers = append(numbers, batch.GetNumber())
	}
	if fmt.Sprint(numbers) != "[2 3]" || r.epochs.last != (epoch{7, 7}) {
		t.Errorf("after a restart it sends %v, with the epoch %v", numbers, r.epochs.last)
	}
}

// An answer stands for the frames before it, too.
func TestAFrameWithoutRoomIsNotAnsweredByOneBehindIt(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	r := newRig(t, 1<<20)
	received := func(process uint64, worker uint32, number uint64) {
		one := frame(process, worker, number, 0, random)
		one.Waiting = nil
		r.Received(one)
	}
	empty := func() {
		for len(r.frames) > 0 {
			r.accept(<-r.frames, r.now)
		}
		r.spill(r.now, 0)
	}
	for number := range uint64(framesMax + 1) {
		received(7, 0, number+1)
	}
	received(7, 1, 1) // of another worker, without room as well
	empty()
	received(7, 0, framesMax+2)
	empty()
	if last := r.taken[len(r.taken)-1]; last != fmt.Sprint("7 0 ", framesMax) {
		t.Errorf("told last %v", last)
	}
	for _, number := range []uint64{framesMax, framesMax + 1, framesMax + 2} { // the data plane sends them again
		received(7, 0, number)
	}
	received(8, 1, 2) // a new process misses nothing
	r.taken = nil
	empty()
	want := fmt.Sprintf("[7 0 %d 7 0 %d 7 0 %d 8 1 2]", framesMax, framesMax+1, framesMax+2)
	if fmt.Sprint(r.taken) != want {
		t.Errorf("told %v, want %s", r.taken, want)
	}
}
