package spool

import (
	"maps"
	"slices"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/api/record"
)

// lives has what each worker sent last.
type lives map[uint32]*life

type life struct {
	last    key
	process uint64
	waiting []*dataplanev1.Unrecorded // as of the last batch
	kinds   map[string]uint32         // of the last record of each virtual service
}

// kindsMax is how many virtual services are remembered.
const kindsMax = 1 << 16

func (l lives) at(worker uint32) *life {
	if l[worker] == nil {
		l[worker] = &life{kinds: map[string]uint32{}}
	}
	return l[worker]
}

// isNew tells whether a batch comes behind those that came before.
func (l *life) isNew(named key) bool {
	return named.epoch > l.last.epoch || named.epoch == l.last.epoch && named.number > l.last.number
}

func (l *life) heard(named key) {
	if l.isNew(named) {
		l.last = named
	}
}

func (l *life) note(batch *enginev1.RecordBatch) {
	l.process, l.waiting = batch.GetProcess(), batch.GetWaiting()
	if len(l.kinds) > kindsMax {
		clear(l.kinds) // most are of virtual services that were deleted
	}
	for _, part := range batch.GetParts() {
		for _, tally := range part.GetTallies() {
			l.kinds[tally.GetVirtualServiceUuid()] = tally.GetKind()
		}
	}
}

// dataplaneEnded is why no record stands for some requests.
const dataplaneEnded = "the data plane ended before it had recorded them"

// begin returns the last batches of data planes before this epoch: what no record of theirs stands for is lost.
func (l lives) begin(epoch uint64) (last []*enginev1.RecordBatch) {
	for _, worker := range slices.Sorted(maps.Keys(l)) {
		ended := l[worker]
		if ended.last.epoch >= epoch || len(ended.waiting) == 0 {
			continue
		}
		ended.last.number++
		batch := &enginev1.RecordBatch{Epoch: ended.last.epoch, Worker: worker, Number: ended.last.number,
			Process: ended.process}
		parts := map[uint32]*enginev1.RecordPart{}
		for _, waiting := range ended.waiting {
			if waiting.GetCount() == 0 {
				continue // it waited before
			}
			class := waiting.GetClass()
			if parts[class] == nil {
				parts[class] = &enginev1.RecordPart{Class: class, Lost: dataplaneEnded}
				batch.Parts = append(batch.Parts, parts[class])
			}
			kind := ended.kinds[waiting.GetVirtualServiceUuid()]
			if kind == 0 {
				kind = uint32(record.Request)
			}
			parts[class].Tallies = append(parts[class].Tallies, &enginev1.RecordTally{
				VirtualServiceUuid: waiting.GetVirtualServiceUuid(), Kind: kind, Weight: waiting.GetCount(),
				LastUnixUs: uint64(time.Now().UnixMicro()),
			})
		}
		ended.waiting = nil
		if len(batch.Parts) > 0 {
			last = append(last, batch)
		}
	}
	return last
}
