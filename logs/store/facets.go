package store

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/VictoriaLogs/lib/logstorage"

	"github.com/weir-lb/weir/logs/query"
)

// facetBytesMax bounds the memory of the values that one query counts.
const facetBytesMax = 128 << 20

// counting counts the values of several fields, with a few workers at once. A field that has too many values is given
// up.
type counting struct {
	fields []string
	weight string // the column with the weight of a row; empty: each weighs one
	gaveUp []atomic.Bool

	mu   sync.Mutex
	idle []*counter // those that no worker has
	all  []*counter
}

// counter is what one worker counts.
type counter struct {
	tallies []tally // of the fields
	weights []uint64
}

func newCounting(fields []string, kind string) *counting {
	c := &counting{fields: fields, gaveUp: make([]atomic.Bool, len(fields))}
	if _, weighted := query.Types[kind][query.WeightField]; weighted {
		c.weight = query.WeightField
	}
	return c
}

// pipes names the columns that are read.
func (c *counting) pipes() string {
	columns := c.fields
	if c.weight != "" && !slices.Contains(columns, c.weight) {
		columns = append(slices.Clone(columns), c.weight)
	}
	return " | fields " + quoteAll(columns)
}

// countersAtOnce is about how many workers read blocks at the same time.
const countersAtOnce = 4

// block counts the rows of a block. Several workers call it at once.
func (c *counting) block(block *logstorage.DataBlock) {
	counter := c.take()
	defer c.give(counter)
	var weights []uint64
	if c.weight != "" {
		weights = counter.weigh(block.GetColumnByName(c.weight))
	}
	for n, field := range c.fields {
		if c.gaveUp[n].Load() {
			counter.tallies[n] = tally{}
			continue
		}
		if column := block.GetColumnByName(field); column != nil {
			counter.tallies[n].count(column.Values, weights)
		} else {
			counter.tallies[n].count(make([]string, block.RowsCount()), weights)
		}
	}
	c.check(counter)
}

// check gives up the field that takes most, if a worker needs too much memory.
func (c *counting) check(counter *counter) {
	bytes, largest := 0, 0
	for n := range counter.tallies {
		bytes += counter.tallies[n].bytes
		if counter.tallies[n].bytes > counter.tallies[largest].bytes {
			largest = n
		}
	}
	if bytes > facetBytesMax/countersAtOnce {
		c.gaveUp[largest].Store(true)
		counter.tallies[largest] = tally{}
	}
}

// weigh reads the weights of the rows of a block. A row without one weighs nothing, as where weights are added up.
func (c *counter) weigh(column *logstorage.BlockColumn) []uint64 {
	if column == nil {
		return nil
	}
	c.weights = c.weights[:0]
	last, weight := "", uint64(0)
	for _, text := range column.Values {
		if text != last {
			last = text
			weight, _ = strconv.ParseUint(text, 10, 64)
		}
		c.weights = append(c.weights, weight)
	}
	return c.weights
}

func (c *counting) take() *counter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle) - 1; n >= 0 {
		taken := c.idle[n]
		c.idle = c.idle[:n]
		return taken
	}
	made := &counter{tallies: make([]tally, len(c.fields))}
	c.all = append(c.all, made)
	return made
}

func (c *counting) give(counter *counter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, counter)
}

// sums puts together what the workers have counted.
func (c *counting) sums() counts {
	sums := make(counts, len(c.fields))
	for n := range c.fields {
		sums[n].tooMany = c.gaveUp[n].Load()
	}
	for _, counter := range c.all {
		of := make(counts, len(c.fields))
		for n := range c.fields {
			of[n].tally = counter.tallies[n]
		}
		sums.add(of)
	}
	return sums
}

// count counts the values of some fields, in the rows of a type that match a filter.
func (s *Store) count(ctx context.Context, kind, filter string, fields []string, part span) (counts, error) {
	counting := newCounting(fields, kind)
	if err := s.runBlocks(ctx, kind, filter+counting.pipes(), part.from, part.to, counting.block); err != nil {
		return nil, err
	}
	return counting.sums(), nil
}

// readFacets counts the values of a part of the range of time, and adds them to those of the parts before. It reads
// what is not counted ahead.
func (s *search) readFacets(ctx context.Context, part span) error {
	fields := s.query.Facets.Fields
	toRead, known := s.divide(part)
	var read []counts
	for _, part := range toRead {
		found, err := s.store.count(ctx, s.query.Type, s.filter, fields, part)
		if err != nil {
			return err
		}
		read = append(read, found)
	}
	if s.counts == nil {
		s.counts = make(counts, len(fields))
	}
	for _, found := range read {
		s.counts.add(found)
	}
	s.counts.addHours(known)
	return nil
}

// divide divides a part of the range of time into what has to be read, and the columns of whole hours that are counted.
func (s *search) divide(part span) (toRead []span, known [][]column) {
	if !countedAhead(s.query) {
		return []span{part}, nil
	}
	days := s.store.requests.PartitionList()
	begin := part.from
	if oldest := s.store.Now().Add(-(hoursMost + 2) * time.Hour); begin.Before(oldest) {
		begin = earlier(oldest, part.to)
		toRead = append(toRead, span{part.from, begin})
	}
	for begin.Before(part.to) {
		end := earlier(begin.Truncate(time.Hour).Add(time.Hour), part.to)
		columns, counted := [][]column(nil), false
		// Retention may have removed the day.
		if end.Sub(begin) == time.Hour && slices.Contains(days, begin.UTC().Format("20060102")) {
			columns, counted = s.store.hours.of(startOf(begin), s.query.Scope, s.query.Facets.Fields)
		}
		switch last := len(toRead) - 1; {
		case counted:
			known = append(known, columns...)
		case last >= 0 && toRead[last].to.Equal(begin):
			toRead[last].to = end
		default:
			toRead = append(toRead, span{begin, end})
		}
		begin = end
	}
	return toRead, known
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
