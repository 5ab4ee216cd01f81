package intake

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/api/record"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

// Limits of a batch.
const (
	packedBytesMax = 1 << 20 // of all parts, before compression
	talliesMax     = 1 << 16 // of a part: what an engine had no room for adds up in one batch
	namesMax       = 1 << 16 // services, or servers
)

// aheadMax is how far ahead of this controller's clock the end of a record may be. The store takes no more.
const aheadMax = time.Hour

// unpacker reads batches. It is not safe for concurrent use.
type unpacker struct {
	names Names
	zstd  *zstd.Decoder
	now   func() time.Time
}

func newUnpacker(names Names, now func() time.Time) (*unpacker, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(packedBytesMax))
	return &unpacker{names, decoder, now}, err
}

// rows makes rows of a batch of an engine. An error says that the batch is broken: no part of it can be used.
func (u *unpacker) rows(engine string, batch *enginev1.RecordBatch) ([]wire.Row, error) {
	if len(batch.GetServices()) > namesMax || len(batch.GetServers()) > namesMax {
		return nil, errors.New("it names too many objects")
	}
	of := u.from(engine, batch)
	var rows []wire.Row
	left := packedBytesMax
	for _, part := range batch.GetParts() {
		if part.GetLost() != "" {
			lost, err := u.lost(part, of)
			if err != nil {
				return nil, err
			}
			rows = append(rows, lost...)
			continue
		}
		packed, err := u.zstd.DecodeAll(part.GetZstd(), nil)
		if err != nil {
			return nil, err
		}
		if left -= len(packed); left < 0 {
			return nil, fmt.Errorf("its records have more than %d bytes", packedBytesMax)
		}
		if rows, err = u.unpack(packed, of, rows); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (u *unpacker) unpack(packed []byte, of from, rows []wire.Row) ([]wire.Row, error) {
	for len(packed) > 0 {
		one, rest, err := record.Next(packed)
		if err != nil {
			return nil, err
		}
		one.End = u.atMostNow(one.End)
		rows, packed = append(rows, rowOf(one, of).Shortened()), rest
	}
	return rows, nil
}

// atMostNow is the time of a record. If the clock of an engine is far ahead, the time is the controller's.
func (u *unpacker) atMostNow(end time.Time) time.Time {
	if now := u.now(); end.After(now.Add(aheadMax)) {
		return now
	}
	return end
}

func (u *unpacker) from(engine string, batch *enginev1.RecordBatch) from {
	of := from{
		engine: engine, engineName: u.names.Engine(engine), process: batch.GetProcess(), worker: batch.GetWorker(),
		services: map[uint32]named{}, servers: map[uint32]server{},
	}
	for _, service := range batch.GetServices() {
		of.services[service.GetNumber()] = named{service.GetUuid(), u.names.Service(service.GetUuid())}
	}
	for _, one := range batch.GetServers() {
		of.servers[one.GetNumber()] = server{
			id: one.GetServerId(), hostname: u.names.Server(one.GetPoolUuid(), one.GetServerId()),
			pool: one.GetPoolUuid(), poolName: u.names.Pool(one.GetPoolUuid()),
			atServicePort: one.GetAtServicePort(),
		}
	}
	return of
}

// lost makes rows that stand for records that an engine had no room for.
func (u *unpacker) lost(part *enginev1.RecordPart, of from) ([]wire.Row, error) {
	if len(part.GetTallies()) > talliesMax {
		return nil, fmt.Errorf("it tallies more than %d virtual services", talliesMax)
	}
	var rows []wire.Row
	for _, tally := range part.GetTallies() {
		rows = append(rows, u.lostRow(tally, part.GetClass(), part.GetLost(), of))
	}
	return rows, nil
}

// unread makes rows that stand for the records of a batch that cannot be read.
func (u *unpacker) unread(engine string, batch *enginev1.RecordBatch) (rows []wire.Row) {
	of := from{engine: engine, engineName: u.names.Engine(engine), process: batch.GetProcess(),
		worker: batch.GetWorker()}
	for _, part := range batch.GetParts() {
		for _, tally := range part.GetTallies()[:min(len(part.GetTallies()), talliesMax)] {
			rows = append(rows, u.lostRow(tally, part.GetClass(), cmp.Or(part.GetLost(), "their batch was broken"), of))
		}
	}
	return rows
}

// lostRow stands for records of one virtual service and class.
func (u *unpacker) lostRow(tally *enginev1.RecordTally, class uint32, why string, of from) wire.Row {
	service := named{tally.GetVirtualServiceUuid(), u.names.Service(tally.GetVirtualServiceUuid())}
	f := make(fields, 0, 12)
	f.service(of, service, record.Class(class))
	f.number(query.WeightField, tally.GetWeight())
	f.number("lost", tally.GetRecords())
	f.text("lost_reason", why)
	kind := query.Requests
	if record.Kind(tally.GetKind()) != record.Request {
		kind = query.Connections
	}
	end := u.atMostNow(time.UnixMicro(int64(tally.GetLastUnixUs())).UTC())
	return wire.Row{Time: end, Type: kind, Scope: scopeOf(service), Fields: f}.Shortened()
}
