package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/api/record"
	"github.com/weir-lb/weir/logs"
	"github.com/weir-lb/weir/logs/wire"
)

// Store is the record store. Errors: *logs.Refused, logs.ErrNoSpace, *logs.Unavailable.
type Store interface {
	Store(context.Context, wire.Origin, []wire.Row) (logs.Ack, error)
}

// retryAfter is how long a batch waits while the store takes none.
const retryAfter = 500 * time.Millisecond

// Intake takes batches of engines. It is safe for concurrent use.
type Intake struct {
	store  Store
	names  Names
	log    *slog.Logger
	now    func() time.Time
	credit *credit

	mu      sync.Mutex
	waiting map[source]standing
}

// standing is what no record of a source stands for yet.
type standing struct {
	epoch   uint64
	process uint64
	waiting []*dataplanev1.Unrecorded
}

// source is what sends numbered batches.
type source struct {
	engine string // uuid
	worker uint32
}

func (s source) String() string { return fmt.Sprintf("%s/%d", s.engine, s.worker) }

// New returns an intake. store may be nil: then it takes nothing.
func New(store Store, names Names, log *slog.Logger, now func() time.Time) *Intake {
	return &Intake{store: store, names: names, log: log, now: now, credit: newCredit(now),
		waiting: map[source]standing{}}
}

// Visit is one engine that sends batches. Its calls come one after the other, except Admit.
type Visit struct {
	intake   *Intake
	engine   string
	unpacker *unpacker
}

// ErrNoStore says that the controller keeps no records.
var ErrNoStore = errors.New("this controller keeps no records of requests")

// Enter begins a visit. engine is the uuid in the certificate of the engine. Error: ErrNoStore.
func (i *Intake) Enter(engine string) (*Visit, error) {
	if i.store == nil {
		return nil, ErrNoStore
	}
	unpacker, err := newUnpacker(i.names, i.now)
	return &Visit{i, engine, unpacker}, err
}

// Leave ends a visit.
func (v *Visit) Leave() { v.unpacker.zstd.Close() }

// Admit waits until the engine may send a batch. Release gives the place back.
func (v *Visit) Admit(ctx context.Context, packedBytes, records uint32) (release func(), err error) {
	bytes := int(min(packedBytes, packedBytesMax))
	if err := v.intake.credit.acquire(ctx, bytes, int(min(records, packedBytesMax))); err != nil {
		return nil, err
	}
	return func() { v.intake.credit.release(bytes) }, nil
}

// Stand notes what an engine says that no record stands for, as of its last batches.
func (v *Visit) Stand(worker uint32, epoch uint64, waiting []*dataplanev1.Unrecorded) {
	v.note(source{v.engine, worker}, standing{epoch: epoch, waiting: waiting})
}

// Take stores a batch. It returns when that is on disk, or can never be. Error: ctx ended before.
func (v *Visit) Take(ctx context.Context, batch *enginev1.RecordBatch) error {
	rows, err := v.unpacker.rows(v.engine, batch)
	if err != nil {
		v.intake.log.Error("an engine sent a batch of records that cannot be read", "engine", v.engine, "reason", err)
		rows = v.unpacker.unread(v.engine, batch)
	}
	from := source{v.engine, batch.GetWorker()}
	origin := wire.Origin{Source: from.String(), Epoch: batch.GetEpoch(), Sequence: batch.GetNumber()}
	// They are no part of the batch: when it comes again, a controller that was restarted need not know of them.
	if abandoned := v.abandoned(from, batch); len(abandoned) > 0 {
		of := origin
		of.Source += "/abandoned"
		if err := v.store(ctx, of, abandoned); err != nil {
			return err
		}
	}
	if err := v.store(ctx, origin, rows); err != nil {
		return err
	}
	v.note(from, standing{batch.GetEpoch(), batch.GetProcess(), batch.GetWaiting()})
	return nil
}

// store stores rows, in as many batches as the store needs. Rows that it refuses become those that say so.
func (v *Visit) store(ctx context.Context, origin wire.Origin, rows []wire.Row) error {
	for n, some := range split(rows) {
		of := origin
		if n > 0 {
			of.Source += fmt.Sprint("/", n)
		}
		err := v.storeOne(ctx, of, some)
		refused := (*logs.Refused)(nil)
		if errors.As(err, &refused) {
			v.intake.log.Error("records of an engine are lost", "engine", v.engine, "records", len(some), "reason", err)
			err = v.storeOne(ctx, of, refusedRows(some))
			if errors.As(err, &refused) {
				continue
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// storeOne stores one batch. Errors: *logs.Refused; ctx ended before.
func (v *Visit) storeOne(ctx context.Context, origin wire.Origin, rows []wire.Row) error {
	for told := false; ; told = true {
		_, err := v.intake.store.Store(ctx, origin, rows)
		refused := (*logs.Refused)(nil)
		switch {
		case err == nil, errors.As(err, &refused):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !told:
			v.intake.log.Warn("records of an engine wait", "engine", v.engine, "reason", err)
		}
		select {
		case <-time.After(retryAfter):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// waitingMax bounds what is remembered of a source.
const waitingMax = 1 << 16

func (v *Visit) note(from source, stands standing) {
	stands.waiting = stands.waiting[:min(len(stands.waiting), waitingMax)]
	v.intake.mu.Lock()
	defer v.intake.mu.Unlock()
	v.intake.waiting[from] = stands
}

// abandoned are rows for what an earlier data plane of a source did not record before its end, if its agent does not
// say so: a machine that loses power takes that along.
func (v *Visit) abandoned(from source, batch *enginev1.RecordBatch) []wire.Row {
	v.intake.mu.Lock()
	before, known := v.intake.waiting[from]
	v.intake.mu.Unlock()
	if !known || before.epoch >= batch.GetEpoch() || len(before.waiting) == 0 {
		return nil
	}
	of := v.unpacker.from(v.engine, &enginev1.RecordBatch{Worker: from.worker, Process: before.process})
	var rows []wire.Row
	for _, one := range before.waiting {
		if one.GetCount() == 0 {
			continue // it waited before
		}
		tally := &enginev1.RecordTally{VirtualServiceUuid: one.GetVirtualServiceUuid(), Kind: uint32(record.Request),
			Weight: one.GetCount(), LastUnixUs: uint64(v.intake.now().UnixMicro())}
		rows = append(rows, v.unpacker.lostRow(tally, one.GetClass(),
			"the engine ended before it had recorded them", of))
	}
	return rows
}

// Unrecorded adds up what no record stands for yet, of the virtual services that a caller may see.
func (i *Intake) Unrecorded(visible func(service string) bool) (count uint64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for from, stands := range i.waiting {
		if i.names.Engine(from.engine) == "" { // deleted
			delete(i.waiting, from)
			continue
		}
		for _, one := range stands.waiting {
			if visible(one.GetVirtualServiceUuid()) {
				count += one.GetCount()
			}
		}
	}
	return count
}
