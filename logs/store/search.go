package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weir-lb/weir/logs/query"
)

// Ask answers a query. It reads one end of the range of time first, mostly the newest, and then more of it. When the
// time of the query is up, the answer is of the part that was read, and says how much is missing.
func (s *Store) Ask(ctx context.Context, asked query.Query) (query.Answer, error) {
	q, err := asked.Check()
	if err != nil {
		return query.Answer{}, err
	}
	s.show()
	limited, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	search := newSearch(s, q)
	whole, read := q.To.Sub(q.From), time.Duration(0)
	for _, part := range search.parts() {
		err := search.read(limited, part)
		if ctx.Err() != nil {
			return query.Answer{}, ctx.Err()
		}
		if err != nil && limited.Err() != nil {
			search.answer.PercentRemaining = 100 * float64(whole-read) / float64(whole)
			break
		}
		if err != nil {
			return query.Answer{}, err
		}
		if read += part.span(); search.grows {
			read = part.span()
		}
		if search.done() {
			break
		}
	}
	return search.finish(), nil
}

// span is a part of a range of time.
type span struct{ from, to time.Time }

func (s span) span() time.Duration { return s.to.Sub(s.from) }

// parts divides a range of time: an hour, three more hours, 12 more, 48 more, and so on. If they grow, each part also
// has the ones before it: that is for answers that cannot be put together.
func parts(from, to time.Time, grow, oldestFirst bool) []span {
	var all []span
	const first, factor = time.Hour, 4
	for begin, size := time.Duration(0), first; ; size *= factor {
		end := min(size, to.Sub(from))
		part := span{to.Add(-end), to.Add(-begin)}
		if oldestFirst {
			part = span{from.Add(begin), from.Add(end)}
		}
		if all = append(all, part); end == to.Sub(from) {
			return all
		}
		if !grow {
			begin = end
		}
	}
}

// parts are the parts of its range of time, in the order in which they are read.
func (s *search) parts() []span {
	q := s.query
	all := parts(q.From, q.To, s.grows, q.Rows != nil && q.Rows.Oldest)
	if q.Facets == nil {
		return all
	}
	for n := range len(all) - 1 { // no part ends within an hour that is counted ahead
		if border := all[n].from.Truncate(time.Hour); border.After(all[n+1].from) {
			all[n].from, all[n+1].to = border, border
		}
	}
	return all
}

// search is a query that is being answered.
type search struct {
	store  *Store
	query  query.Query
	filter string
	grows  bool // the parts that it reads grow

	answer query.Answer
	bytes  int    // of the answer, about
	toSkip int    // rows of the pages before
	counts counts // of the parts that were read, for facets
}

func newSearch(s *Store, q query.Query) *search {
	search := &search{store: s, query: q, filter: compileFilter(q)}
	if q.Rows != nil {
		search.toSkip = q.Rows.Offset
	}
	search.grows = q.Groups != nil || q.Values != nil || q.Rows != nil && q.Rows.OrderBy != "" ||
		q.Histogram != nil && !addUp(q.Histogram.Aggregates)
	return search
}

// read reads a part of the range of time. It changes the answer only if it succeeds.
func (s *search) read(ctx context.Context, part span) error {
	switch q := s.query; {
	case q.Groups != nil:
		return s.readGroups(ctx, part, *q.Groups)
	case q.Values != nil:
		return s.readGroups(ctx, part, groupsOf(*q.Values))
	case q.Histogram != nil:
		return s.readHistogram(ctx, part)
	case q.Facets != nil:
		return s.readFacets(ctx, part)
	case q.Rows.OrderBy != "":
		return s.readSortedRows(ctx, part)
	}
	return s.readRows(ctx, part)
}

// done tells whether more of the range of time cannot change the answer.
func (s *search) done() bool {
	rows := s.query.Rows
	return rows != nil && !rows.Count && rows.OrderBy == "" && len(s.answer.Rows) == rows.Limit
}

func (s *search) finish() query.Answer {
	if s.query.Facets != nil && s.counts != nil {
		s.answer.Facets = s.counts.facets(*s.query.Facets)
	}
	if s.query.Rows == nil || !s.query.Rows.Count {
		s.answer.Count = uint64(len(s.answer.Rows) + len(s.answer.Groups) + len(s.answer.Buckets) +
			len(s.answer.Facets))
	}
	return s.answer
}

// readRows reads rows in the order of time. It counts where rows are to be skipped, or counted.
func (s *search) readRows(ctx context.Context, part span) error {
	rows := *s.query.Rows
	matching, weight, limit := uint64(0), uint64(0), rows.Limit-len(s.answer.Rows)
	if rows.Count || s.toSkip > 0 {
		var err error
		if matching, weight, err = s.weigh(ctx, part); err != nil {
			return err
		}
	}
	var found []query.Row
	if skip := s.toSkip; limit > 0 && (!rows.Count && skip == 0 || matching > uint64(skip)) {
		var err error
		if found, err = s.list(ctx, part, rowsPipes(rows, skip, limit)); err != nil {
			return err
		}
	}
	s.answer.Rows = append(s.answer.Rows, found...)
	s.answer.Count += matching
	s.answer.Weight += weight
	s.toSkip -= int(min(uint64(s.toSkip), matching))
	return nil
}

// readSortedRows reads rows in the order of a field.
func (s *search) readSortedRows(ctx context.Context, part span) error {
	rows := *s.query.Rows
	matching, weight := uint64(0), uint64(0)
	if rows.Count {
		var err error
		if matching, weight, err = s.weigh(ctx, part); err != nil {
			return err
		}
	}
	s.bytes = 0
	found, err := s.list(ctx, part, rowsPipes(rows, rows.Offset, rows.Limit))
	if err == nil {
		s.answer.Rows, s.answer.Count, s.answer.Weight = found, matching, weight
	}
	return err
}

// list reads rows in two steps: first which ones, by what they are sorted by, and then the rows themselves. The storage
// sorts in little memory, which whole rows could exceed.
func (s *search) list(ctx context.Context, part span, pipes string) ([]query.Row, error) {
	wanted := map[place]int{}
	within := span{from: part.to, to: part.from}
	err := s.run(ctx, part, pipes, func(line line) error {
		at, err := line.time(bucketColumn)
		if err != nil {
			return err
		}
		wanted[line.place()] = len(wanted)
		if at.Before(within.from) {
			within.from = at
		}
		if !at.Before(within.to) {
			within.to = at.Add(1)
		}
		return nil
	})
	if err != nil || len(wanted) == 0 {
		return nil, err
	}
	return s.fetch(ctx, within, wanted)
}

// fetch reads the rows at some places, in the order that is given for each.
func (s *search) fetch(ctx context.Context, within span, wanted map[place]int) ([]query.Row, error) {
	names := slices.Sorted(maps.Keys(query.Types[s.query.Type]))
	columns := append([]string{bucketColumn, query.BatchColumn, query.RowColumn}, names...)
	found, read := make([]query.Row, len(wanted)), 0
	err := s.run(ctx, within, " | fields "+quoteAll(columns), func(line line) error {
		at, ok := wanted[line.place()]
		if !ok {
			return nil
		}
		row := &found[at]
		row.Fields = map[string]string{}
		for _, name := range names {
			if value := line.value(name); value != "" {
				row.Fields[name] = copied(value)
				s.bytes += len(name) + len(value)
			}
		}
		read++
		var err error
		if row.Time, err = line.time(bucketColumn); err != nil {
			return err
		}
		return s.checkSize()
	})
	if err == nil && read < len(wanted) { // retention or a deletion came in between
		found = slices.DeleteFunc(found, func(row query.Row) bool { return row.Fields == nil })
	}
	return found, err
}

// weigh returns how many rows match, and what their weights add up to.
func (s *search) weigh(ctx context.Context, part span) (rows, weight uint64, err error) {
	_, weighted := query.Types[s.query.Type][query.WeightField]
	err = s.run(ctx, part, countPipe(weighted), func(line line) (err error) {
		rows, err = line.count(countColumn)
		if sum := line.number(aggregateColumn(1)); sum != nil {
			weight = uint64(*sum)
		}
		return err
	})
	return rows, weight, err
}

func (s *search) readGroups(ctx context.Context, part span, groups query.Groups) error {
	var found []query.Group
	s.bytes = 0
	err := s.run(ctx, part, groupsPipes(groups), func(line line) error {
		var group query.Group
		for _, name := range groups.By {
			group.Values = append(group.Values, copied(line.value(name)))
			s.bytes += len(line.value(name))
		}
		for n := range groups.Aggregates {
			group.Aggregates = append(group.Aggregates, line.number(aggregateColumn(n+1)))
		}
		var err error
		group.Rows, err = line.count(countColumn)
		found = append(found, group)
		if err == nil {
			err = s.checkSize()
		}
		return err
	})
	if err == nil {
		s.answer.Groups = found
	}
	return err
}

func (s *search) run(ctx context.Context, part span, pipes string, each func(line) error) error {
	filter := s.filter
	if v := s.query.Values; v != nil && v.Prefix != "" {
		filter += " and (" + compare(v.Field, query.StartsWith, v.Prefix) + ")"
	}
	return s.store.run(ctx, s.query.Type, filter+pipes, part.from, part.to, each)
}

// answerBytesMax bounds the memory of an answer.
const answerBytesMax = 64 << 20

func (s *search) checkSize() error {
	if s.bytes <= answerBytesMax {
		return nil
	}
	return &query.Error{Part: "answer",
		Problem: fmt.Sprintf("it has more than %d MiB: ask for fewer rows at once", answerBytesMax>>20)}
}
