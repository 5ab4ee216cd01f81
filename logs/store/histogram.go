package store

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/logs/query"
)

// bucketKey tells the buckets of a histogram apart.
type bucketKey struct {
	start  time.Time
	values string
}

func keyOf(bucket query.Bucket) bucketKey {
	const between = "\x00"
	return bucketKey{bucket.Start, strings.Join(bucket.Values, between)}
}

// readHistogram adds a part to the histogram. If parts grow, the part takes the place of the one before.
func (s *search) readHistogram(ctx context.Context, part span) error {
	asked := *s.query.Histogram
	found := map[bucketKey]query.Bucket{}
	if !s.grows {
		for _, bucket := range s.answer.Buckets {
			found[keyOf(bucket)] = bucket
		}
	}
	s.bytes = 0
	err := s.run(ctx, part, histogramPipe(asked), func(line line) error {
		bucket, err := bucketOf(asked, line)
		if err != nil {
			return err
		}
		for _, value := range bucket.Values {
			s.bytes += len(value)
		}
		s.bytes += bucketBytes
		if before, known := found[keyOf(bucket)]; known {
			bucket = together(asked, before, bucket)
		}
		found[keyOf(bucket)] = bucket
		return s.checkSize()
	})
	if err != nil {
		return err
	}
	s.answer.Buckets = nil
	for _, bucket := range found {
		s.answer.Buckets = append(s.answer.Buckets, bucket)
	}
	slices.SortFunc(s.answer.Buckets, func(a, b query.Bucket) int {
		return cmp.Or(a.Start.Compare(b.Start), slices.Compare(a.Values, b.Values))
	})
	return nil
}

// bucketBytes is about what a bucket takes in an answer, without its values.
const bucketBytes = 128

func bucketOf(asked query.Histogram, line line) (bucket query.Bucket, err error) {
	if bucket.Start, err = line.time(bucketColumn); err != nil {
		return bucket, err
	}
	for _, name := range asked.By {
		bucket.Values = append(bucket.Values, copied(line.value(name)))
	}
	for n := range asked.Aggregates {
		bucket.Aggregates = append(bucket.Aggregates, line.number(aggregateColumn(n+1)))
	}
	bucket.Rows, err = line.count(countColumn)
	return bucket, err
}

// addUp tells whether the aggregates of two parts of a bucket make up those of the whole.
func addUp(aggregates []query.Aggregate) bool {
	return !slices.ContainsFunc(aggregates, func(a query.Aggregate) bool {
		return a.Function != "sum" && a.Function != "min" && a.Function != "max"
	})
}

// together makes one bucket of two parts.
func together(asked query.Histogram, a, b query.Bucket) query.Bucket {
	a.Rows += b.Rows
	for n, aggregate := range asked.Aggregates {
		x, y := a.Aggregates[n], b.Aggregates[n]
		switch {
		case y == nil:
		case x == nil:
			a.Aggregates[n] = y
		case aggregate.Function == "sum":
			sum := *x + *y
			a.Aggregates[n] = &sum
		case aggregate.Function == "min" && *y < *x, aggregate.Function == "max" && *y > *x:
			a.Aggregates[n] = y
		}
	}
	return a
}
