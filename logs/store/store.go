// Package store is the record store: the process `weir records`. It takes batches of rows over a unix socket, keeps
// them in VictoriaLogs' storage, and answers queries. It is a process of its own because that storage ends the process
// it runs in when its disk fails (docs/decisions/record-store.md).
//
// A batch is acknowledged when it is in the journal on disk; then its rows go to the storage, which holds them in
// memory for seconds before it writes them. Each row has the number of its batch and its own in the batch. After a
// crash the store asks the storage which rows of the journal it has, and adds the others. So no acknowledged row is
// lost, and none is there twice.
package store

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/VictoriaLogs/lib/logstorage"
	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/logs"
	"github.com/weir-lb/weir/logs/journal"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/text"
	"github.com/weir-lb/weir/logs/wire"
)

const (
	// futureMax is how far ahead of this machine's clock the time of a row may be.
	futureMax = time.Hour
	// journalBytesMax is when the journal is settled, although rows come.
	journalBytesMax = 64 << 20
	// settleAfter is how long the journal waits to be settled.
	settleAfter = 10 * time.Minute
	// flushInterval is how long the storage holds rows in memory at least.
	flushInterval = time.Second
)

// Config says where and how much to keep.
type Config struct {
	Dir          string
	Retention    time.Duration // whole days; how long events and audit entries are kept
	DiskBytes    int64         // the oldest days go when these rows take more; the last two days always stay
	Requests     Budget        // of the records of data planes
	ReserveBytes uint64        // with less free space on the disk, no rows are taken
	Now          func() time.Time
	Log          *slog.Logger
}

// Budget is what records of data planes may take. They have a room of their own, so that they push out nothing else.
type Budget struct {
	Retention time.Duration
	DiskBytes int64
}

// requestsReserve is how many times the reserve has to be free for records of data planes, so that events and audit
// entries have room when these have none any more.
const requestsReserve = 4

// Store keeps rows. It is safe for concurrent use.
type Store struct {
	Config
	storage  *logstorage.Storage // of events and audit entries
	requests *logstorage.Storage // of records of data planes
	journal  *journal.Journal

	applying sync.RWMutex // held while rows go to the storage; taken whole to settle the journal
	showing  sync.Mutex   // held while rows become visible
	fresh    atomic.Bool  // rows came since the storage made its rows visible
	hours    *hours       // of records of requests, counted ahead
	rows     atomic.Uint64
	refused  atomic.Uint64
}

// DiskFull says that a batch was not taken for want of space.
type DiskFull struct{ Reason string }

func (e *DiskFull) Error() string { return e.Reason }

// Open opens the store, and adds what a crash has left in the journal alone.
func Open(config Config) (*Store, error) {
	s := &Store{Config: config, hours: newHours()}
	// Without some space the storage cannot even open.
	const least = 8 << 20
	if free, err := s.free(); err != nil || free < least {
		return nil, errors.Join(err, fmt.Errorf("%d MiB are free under %s: free at least %d MiB", free>>20,
			s.Dir, least>>20))
	}
	s.storage = openStorage(filepath.Join(s.Dir, "rows"), Budget{s.Retention, s.DiskBytes})
	s.requests = openStorage(filepath.Join(s.Dir, "requests"), s.Requests)
	left := &leftover{store: s}
	var err error
	if s.journal, err = journal.Open(filepath.Join(s.Dir, "journal"), left.add); err == nil {
		err = left.restore()
	}
	if err == nil {
		err = s.settle()
	}
	if err != nil {
		s.storage.MustClose()
		s.requests.MustClose()
		return nil, fmt.Errorf("the journal of the record store: %w", err)
	}
	return s, nil
}

func openStorage(path string, budget Budget) *logstorage.Storage {
	return logstorage.MustOpenStorage(path, &logstorage.StorageConfig{
		Retention: budget.Retention, MaxDiskSpaceUsageBytes: budget.DiskBytes, FlushInterval: flushInterval,
		FutureRetention: 2 * 24 * time.Hour,
	})
}

// storageOf returns the storage that has the rows of a type.
func (s *Store) storageOf(kind string) *logstorage.Storage {
	if isOfDataPlanes(kind) {
		return s.requests
	}
	return s.storage
}

func (s *Store) retentionOf(kind string) time.Duration {
	if isOfDataPlanes(kind) {
		return s.Requests.Retention
	}
	return s.Retention
}

func isOfDataPlanes(kind string) bool { return kind == query.Requests || kind == query.Connections }

// Close writes everything to disk.
func (s *Store) Close() error {
	s.applying.Lock()
	defer s.applying.Unlock()
	cut, err := s.journal.Cut()
	s.storage.MustClose()
	s.requests.MustClose()
	if err != nil {
		return err
	}
	return s.journal.Settle(cut)
}

// refusalsShown is how many refused rows an Ack explains.
const refusalsShown = 10

// Add stores a batch, unless it came before. When Add returns without an error, the rows survive any crash.
func (s *Store) Add(origin wire.Origin, batch []byte) (logs.Ack, error) {
	rows, err := wire.Read(batch)
	if err != nil {
		return logs.Ack{}, err
	}
	if err := s.hasSpace(reserveFor(rows)); err != nil {
		return logs.Ack{}, err
	}
	ack := logs.Ack{}
	good := s.acceptable(rows, &ack)
	if len(good) < len(rows) {
		batch = wire.Append(nil, good)
	}
	s.applying.RLock()
	defer s.applying.RUnlock()
	number, isNew, err := s.journal.Append(origin, batch)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return logs.Ack{}, &DiskFull{fmt.Sprintf("the disk under %s is full: %v", s.Dir, err)}
	}
	if err != nil || !isNew {
		return ack, err
	}
	s.apply(number, good, nil)
	ack.Stored = len(good)
	s.rows.Add(uint64(len(good)))
	s.refused.Add(uint64(ack.Refusals))
	return ack, nil
}

// acceptable returns the rows that can be stored.
func (s *Store) acceptable(rows []wire.Row, ack *logs.Ack) []wire.Row {
	now := s.Now()
	good := make([]wire.Row, 0, len(rows))
	for n, row := range rows {
		err := checkRow(row, now, s.retentionOf(row.Type))
		if err == nil {
			good = append(good, row)
			continue
		}
		if ack.Refusals++; len(ack.Refused) < refusalsShown {
			ack.Refused = append(ack.Refused, logs.Refusal{Row: n, Reason: err.Error()})
		}
	}
	return good
}

func checkRow(row wire.Row, now time.Time, retention time.Duration) error {
	if row.Time.After(now.Add(futureMax)) {
		return fmt.Errorf("its time %s is more than %v ahead of the controller's clock",
			row.Time.Format(time.RFC3339), futureMax)
	}
	if row.Time.Before(now.Add(-retention)) {
		return fmt.Errorf("its time %s is before what is kept, which is %d days", row.Time.Format(time.RFC3339),
			int(retention.Hours()/24))
	}
	fields, known := query.Types[row.Type]
	if !known {
		return fmt.Errorf("there are no records of type %q", text.Encode(row.Type))
	}
	if row.Scope == "" {
		return errors.New("it has no scope")
	}
	for _, field := range row.Fields {
		kind, known := fields[field.Name]
		if !known {
			return fmt.Errorf("records of type %s have no field %q", row.Type, text.Encode(field.Name))
		}
		if kind == query.Boolean && field.Value != query.True && field.Value != "" {
			return fmt.Errorf("field %s is neither true nor without a value: %q", field.Name, text.Encode(field.Value))
		}
		if kind != query.Number || field.Value == "" {
			continue
		}
		if number, err := strconv.ParseFloat(field.Value, 64); err != nil || query.FormatNumber(number) != field.Value {
			return fmt.Errorf("field %s is no plain number: %q", field.Name, text.Encode(field.Value))
		}
	}
	return nil
}

// apply gives rows of a batch to the storage, except those that it has.
func (s *Store) apply(number uint64, rows []wire.Row, has map[int]bool) {
	batch := strconv.FormatUint(number, 10)
	added := map[*logstorage.Storage]*logstorage.LogRows{}
	var fields []logstorage.Field
	for n, row := range rows {
		if has[n] {
			continue
		}
		storage := s.storageOf(row.Type)
		if added[storage] == nil {
			added[storage] = logstorage.GetLogRows(nil, nil, nil, nil, "")
		}
		var streamFields int
		fields, streamFields = fieldsOf(fields[:0], row, batch, n)
		added[storage].MustAdd(tenantOf(row.Type), row.Time.UnixNano(), fields, streamFields)
		if added[storage].NeedFlush() {
			storage.MustAddRows(added[storage])
			added[storage].ResetKeepSettings()
		}
	}
	for storage, rest := range added {
		storage.MustAddRows(rest)
		logstorage.PutLogRows(rest)
	}
	s.fresh.Store(true)
	s.hours.changed(hoursOf(rows), s.Now())
}

// fieldsOf writes what the storage keeps of a row. The first fields, so many, name the stream of the row: rows of a
// stream are next to each other.
func fieldsOf(fields []logstorage.Field, row wire.Row, batch string, n int) ([]logstorage.Field, int) {
	add := func(name, value string) { fields = append(fields, logstorage.Field{Name: name, Value: value}) }
	add(query.ScopeColumn, text.Encode(row.Scope))
	streams := query.Streams[row.Type]
	for _, name := range streams {
		for _, field := range row.Fields {
			if field.Name == name && field.Value != "" {
				add(name, text.Encode(field.Value))
				break
			}
		}
	}
	streamFields := len(fields)
	add(query.BatchColumn, batch)
	add(query.RowColumn, strconv.Itoa(n))
	for _, field := range row.Fields {
		if !slices.Contains(streams, field.Name) {
			add(field.Name, text.Encode(field.Value))
		}
	}
	return fields, streamFields
}

// tenantOf keeps the types of records apart.
func tenantOf(kind string) logstorage.TenantID {
	return logstorage.TenantID{AccountID: typeNumbers[kind]}
}

// typeNumbers are on disk: a number is never used again for another type.
var typeNumbers = map[string]uint32{query.Events: 1, query.Audit: 2, query.Requests: 3, query.Connections: 4}

// reserveFor returns how many times the reserve has to be free for some rows.
func reserveFor(rows []wire.Row) uint64 {
	if slices.ContainsFunc(rows, func(row wire.Row) bool { return isOfDataPlanes(row.Type) }) {
		return requestsReserve
	}
	return 1
}

// hasSpace tells why no rows are taken; nil: they are.
func (s *Store) hasSpace(reserves uint64) error {
	free, err := s.free()
	if err != nil {
		return err
	}
	if least := s.ReserveBytes * reserves; free < least {
		return &DiskFull{fmt.Sprintf("%d MiB are free under %s, less than the %d MiB that must stay free",
			free>>20, s.Dir, least>>20)}
	}
	return nil
}

func (s *Store) free() (uint64, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(s.Dir, &disk); err != nil {
		return 0, fmt.Errorf("%s: %w", s.Dir, err)
	}
	return disk.Bavail * uint64(disk.Bsize), nil
}
