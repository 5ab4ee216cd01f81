package spool

import (
	"math/rand/v2"
	"testing"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/api/record"
)

// stored is a controller: it stores each batch whose number is higher than those before.
type stored struct {
	last   uint64
	weight uint64
}

func (s *stored) take(t *testing.T, batch *enginev1.RecordBatch) {
	t.Helper()
	if batch.GetNumber() <= s.last {
		return
	}
	s.last = batch.GetNumber()
	kept, lost := count(t, batch)
	s.weight += kept[record.All] + lost[record.All]
}

func TestWhatTheControllerTookIsNotCountedAgainAfterARestartWithoutRoom(t *testing.T) {
	for name, answered := range map[string]bool{"the agent knows": true, "the answers are lost": false} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 1))
			r := newRig(t, 1<<20)
			for number := range uint64(20) {
				r.accept(frame(7, 0, number+1, 5, random), r.now)
			}
			r.spill(r.now, 0)
			var controller stored
			for range 15 {
				batch := r.send()
				controller.take(t, batch)
				if answered {
					r.took(batch)
				}
			}
			r.disk = 16 << 10
			r.open()
			const more = 10
			for number := range uint64(more) {
				r.accept(frame(7, 0, number+21, 5, random), r.now)
				r.spill(r.now, 0)
			}
			for batch := r.send(); batch != nil; batch = r.send() {
				controller.take(t, batch)
				r.took(batch)
			}
			if want := uint64((20 + more) * 15); controller.weight != want {
				t.Errorf("the controller has the weight %d, want %d", controller.weight, want)
			}
			r.tidy()
			if r.diskBytes() != 0 {
				t.Errorf("%d bytes on disk", r.diskBytes())
			}
		})
	}
}
