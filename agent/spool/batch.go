package spool

import (
	"cmp"
	"slices"

	"github.com/klauspost/compress/zstd"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/api/record"
)

// packer makes batches of what a data plane sends. It is not safe for concurrent use.
type packer struct{ zstd *zstd.Encoder }

func newPacker() (*packer, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	return &packer{encoder}, err
}

// pack parts the records of a frame by class, so that those of one class can go alone. broken says from where on the
// frame has no records.
func (p *packer) pack(frame *dataplanev1.Records, epoch uint64) (batch *enginev1.RecordBatch, broken error) {
	names := map[uint32]string{}
	for _, service := range frame.GetServices() {
		names[service.GetNumber()] = service.GetUuid()
	}
	var packed [record.All + 1][]byte
	var tallies [record.All + 1]map[tallied]*enginev1.RecordTally
	for rest := frame.GetPacked(); len(rest) > 0; {
		one, behind, err := record.Next(rest)
		if err != nil {
			broken = err
			break
		}
		class := min(max(one.Class, record.Significant), record.All)
		packed[class] = append(packed[class], rest[:len(rest)-len(behind)]...)
		if tallies[class] == nil {
			tallies[class] = map[tallied]*enginev1.RecordTally{}
		}
		add(tallies[class], &enginev1.RecordTally{
			VirtualServiceUuid: names[one.Service], Kind: uint32(one.Kind), Records: 1, Weight: uint64(one.Weight),
			LastUnixUs: uint64(one.End.UnixMicro()),
		})
		rest = behind
	}
	batch = &enginev1.RecordBatch{
		Epoch: epoch, Worker: frame.GetWorker(), Number: frame.GetNumber(), Process: frame.GetProcess(),
		Services: frame.GetServices(), Servers: frame.GetServers(), Waiting: frame.GetWaiting(),
	}
	for class, bytes := range packed {
		if len(bytes) > 0 {
			batch.Parts = append(batch.Parts, &enginev1.RecordPart{
				Class: uint32(class), Zstd: p.zstd.EncodeAll(bytes, nil), PackedBytes: uint32(len(bytes)),
				Tallies: sorted(tallies[class]),
			})
		}
	}
	return batch, broken
}

// tallied is what a tally counts.
type tallied struct {
	service string
	kind    uint32
}

func add(to map[tallied]*enginev1.RecordTally, more *enginev1.RecordTally) {
	key := tallied{more.GetVirtualServiceUuid(), more.GetKind()}
	sum := to[key]
	if sum == nil {
		to[key] = more
		return
	}
	sum.Records += more.GetRecords()
	sum.Weight += more.GetWeight()
	sum.LastUnixUs = max(sum.GetLastUnixUs(), more.GetLastUnixUs())
}

func sorted(tallies map[tallied]*enginev1.RecordTally) []*enginev1.RecordTally {
	var all []*enginev1.RecordTally
	for _, tally := range tallies {
		all = append(all, tally)
	}
	slices.SortFunc(all, func(a, b *enginev1.RecordTally) int {
		return cmp.Or(cmp.Compare(a.GetVirtualServiceUuid(), b.GetVirtualServiceUuid()),
			cmp.Compare(a.GetKind(), b.GetKind()))
	})
	return all
}

// noRoom is why the records of a part are lost.
const noRoom = "the engine had no room for them while the controller was away"

// drop leaves of the parts of a class only how many records there were, and what they stood for.
func drop(batch *enginev1.RecordBatch, class record.Class) {
	for _, part := range batch.GetParts() {
		if record.Class(part.GetClass()) == class && part.GetLost() == "" {
			part.Zstd, part.PackedBytes, part.Lost = nil, 0, noRoom
		}
	}
	if isHusk(batch) {
		batch.Services, batch.Servers = nil, nil
	}
}

// isHusk tells whether all records of a batch are lost.
func isHusk(batch *enginev1.RecordBatch) bool {
	return !slices.ContainsFunc(batch.GetParts(), func(part *enginev1.RecordPart) bool { return part.GetLost() == "" })
}

// merge makes one husk of two of the same worker, with the number of the later one.
func merge(earlier, later *enginev1.RecordBatch) *enginev1.RecordBatch {
	type key struct {
		class uint32
		why   string
	}
	sums := map[key]map[tallied]*enginev1.RecordTally{}
	for _, batch := range []*enginev1.RecordBatch{earlier, later} {
		for _, part := range batch.GetParts() {
			of := key{part.GetClass(), part.GetLost()}
			if sums[of] == nil {
				sums[of] = map[tallied]*enginev1.RecordTally{}
			}
			for _, tally := range part.GetTallies() {
				add(sums[of], tally)
			}
		}
	}
	later.Parts, later.FirstNumber = nil, cmp.Or(earlier.GetFirstNumber(), earlier.GetNumber())
	for of, tallies := range sums {
		later.Parts = append(later.Parts, &enginev1.RecordPart{Class: of.class, Lost: of.why, Tallies: sorted(tallies)})
	}
	slices.SortFunc(later.Parts, func(a, b *enginev1.RecordPart) int {
		return cmp.Or(cmp.Compare(a.GetClass(), b.GetClass()), cmp.Compare(a.GetLost(), b.GetLost()))
	})
	return later
}

// bytesOf is how many bytes each class takes in a batch.
func bytesOf(batch *enginev1.RecordBatch) (bytes [record.All + 1]int64) {
	for _, part := range batch.GetParts() {
		if class := part.GetClass(); class < uint32(len(bytes)) {
			bytes[class] += int64(len(part.GetZstd()))
		}
	}
	return bytes
}
