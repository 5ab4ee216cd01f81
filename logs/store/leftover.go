package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/weir-lb/weir/logs/journal"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

// leftover is what a crash has left in the journal: batches, some of whose rows the storage has on disk. It takes them
// a part at a time, so that they need little memory.
type leftover struct {
	store   *Store
	batches []numbered
	bytes   int
	from    time.Time // of the earliest row
	to      time.Time // of the latest row
	types   map[string]bool
}

type numbered struct {
	number uint64
	rows   []wire.Row
}

const leftoverBytesMax = 16 << 20

func (l *leftover) add(entry journal.Entry) error {
	rows, err := wire.Read(entry.Batch)
	if err != nil {
		return fmt.Errorf("entry %d: %w", entry.Number, err)
	}
	if l.batches == nil {
		l.types = map[string]bool{}
	}
	for _, row := range rows {
		if len(l.types) == 0 || row.Time.Before(l.from) {
			l.from = row.Time
		}
		if len(l.types) == 0 || row.Time.After(l.to) {
			l.to = row.Time
		}
		l.types[row.Type] = true
	}
	l.batches = append(l.batches, numbered{entry.Number, rows})
	if l.bytes += len(entry.Batch); l.bytes > leftoverBytesMax {
		return l.restore()
	}
	return nil
}

// restore gives the rows to the storage that it does not have.
func (l *leftover) restore() error {
	if len(l.batches) == 0 {
		return nil
	}
	s := l.store
	has := map[uint64]map[int]bool{}
	first, last := l.batches[0].number, l.batches[len(l.batches)-1].number
	for kind := range l.types {
		if err := s.present(kind, first, last, l.from, l.to, has); err != nil {
			return err
		}
	}
	for _, batch := range l.batches {
		s.apply(batch.number, batch.rows, has[batch.number])
	}
	*l = leftover{store: s}
	return nil
}

// present notes which rows of these batches the storage has.
func (s *Store) present(kind string, first, last uint64, from, to time.Time, has map[uint64]map[int]bool) error {
	filter := fmt.Sprintf("%s:range[%d, %d] | fields %s, %s", query.BatchColumn, first, last, query.BatchColumn,
		query.RowColumn)
	return s.run(context.Background(), kind, filter, from, to.Add(1), func(line line) error {
		batch, err := strconv.ParseUint(line.value(query.BatchColumn), 10, 64)
		if err != nil {
			return err
		}
		row, err := strconv.Atoi(line.value(query.RowColumn))
		if err != nil {
			return err
		}
		if has[batch] == nil {
			has[batch] = map[int]bool{}
		}
		has[batch][row] = true
		return nil
	})
}
