package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/VictoriaMetrics/VictoriaLogs/lib/logstorage"

	"github.com/weir-lb/weir/logs/query"
)

// run gives each line of the result of a query in LogsQL to each, one at a time. The query is over the rows of one type
// from one time to another, exclusive.
func (s *Store) run(
	ctx context.Context, kind, logsQL string, from, to time.Time, each func(line) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu      sync.Mutex
		failure error
	)
	err := s.runBlocks(ctx, kind, logsQL, from, to, func(block *logstorage.DataBlock) {
		mu.Lock()
		defer mu.Unlock()
		l := line{columns: block.GetColumns(false)}
		for l.row = range block.RowsCount() {
			if failure != nil {
				return
			}
			if failure = each(l); failure != nil {
				cancel()
			}
		}
	})
	return cmp.Or(failure, err)
}

// runBlocks gives the result of a query in LogsQL to each, in blocks, several at a time. A block is valid until each
// returns.
func (s *Store) runBlocks(
	ctx context.Context, kind, logsQL string, from, to time.Time, each func(*logstorage.DataBlock),
) error {
	parsed, err := logstorage.ParseQueryAtTimestamp(logsQL, s.Now().UnixNano())
	if err != nil {
		return fmt.Errorf("a query was compiled to what the storage refuses: %w", err)
	}
	parsed.AddTimeFilter(from.UnixNano(), to.UnixNano()-1)
	var stats logstorage.QueryStats
	asked := logstorage.NewQueryContext(ctx, &stats, []logstorage.TenantID{tenantOf(kind)}, parsed, false, nil)
	err = s.storageOf(kind).RunQuery(asked, func(_ uint, block *logstorage.DataBlock) { each(block) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return &query.Error{Part: "query", Problem: err.Error() + ": ask for less at once"}
	}
	return nil
}

// line is one line of a result.
type line struct {
	columns []logstorage.BlockColumn
	row     int
}

// value returns the value in a column; it is valid until the line ends.
func (l line) value(column string) string {
	for i := range l.columns {
		if l.columns[i].Name == column {
			return l.columns[i].Values[l.row]
		}
	}
	return ""
}

// place names a row: its batch, and its number in the batch.
type place struct{ batch, row string }

func (l line) place() place {
	return place{copied(l.value(query.BatchColumn)), copied(l.value(query.RowColumn))}
}

func (l line) time(column string) (time.Time, error) {
	return time.Parse(time.RFC3339Nano, l.value(column))
}

func (l line) count(column string) (uint64, error) {
	return strconv.ParseUint(l.value(column), 10, 64)
}

// number returns nil if there is none.
func (l line) number(column string) *float64 {
	number, err := strconv.ParseFloat(l.value(column), 64)
	if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
		return nil
	}
	return &number
}

func copied(value string) string { return strings.Clone(value) }
