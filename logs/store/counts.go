package store

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/weir-lb/weir/logs/query"
)

// counts are the values of several fields, in rows of several parts of a range of time.
type counts []count

// count has the values of one field.
type count struct {
	tally
	tooMany bool // there are more than can be counted: none are here
}

// add adds the values of other rows.
func (c counts) add(others counts) {
	total := 0
	for n := range c {
		c[n].tooMany = c[n].tooMany || others[n].tooMany
		if c[n].tooMany {
			c[n].tally = tally{}
			continue
		}
		c[n].tally.add(others[n].values)
		if total += c[n].bytes; total > facetBytesMax {
			c[n] = count{tooMany: true}
		}
	}
}

// addHours adds the values of hours: of each hour and scope, a column for each field. If all take too much memory, a
// field that takes more than its part is given up.
func (c counts) addHours(hours [][]column) {
	var total atomic.Int64
	for n := range c {
		total.Add(int64(c[n].bytes))
	}
	var adding errgroup.Group
	adding.SetLimit(runtime.GOMAXPROCS(0))
	for n := range c {
		adding.Go(func() error {
			for _, columns := range hours {
				if c[n].tooMany {
					break
				}
				before := c[n].bytes
				columns[n].each(c[n].tally.addOne)
				if total.Add(int64(c[n].bytes-before)) > facetBytesMax && c[n].bytes > facetBytesMax/len(c) {
					total.Add(-int64(c[n].bytes))
					c[n] = count{tooMany: true}
				}
			}
			return nil
		})
	}
	_ = adding.Wait() // nothing fails
}

// facets are the answer.
func (c counts) facets(asked query.Facets) (facets []query.Facet) {
	for n, field := range asked.Fields {
		facets = append(facets, query.Facet{Field: field, TooMany: c[n].tooMany,
			Values: mostFrequent(c[n].values, asked.Limit)})
	}
	return facets
}

// mostFrequent orders values by weight, and those of the same weight as texts.
func mostFrequent(values []query.Value, limit int) []query.Value {
	compare := func(a, b query.Value) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(b.Rows, a.Rows), strings.Compare(a.Value, b.Value))
	}
	// Most values are rare: keep a few, and drop the rarest of these now and then.
	var most []query.Value
	least := uint64(0) // what a value has to weigh to be among them
	for _, value := range values {
		if value.Weight < least {
			continue
		}
		if most = append(most, value); len(most) >= 4*limit {
			slices.SortFunc(most, compare)
			most = most[:limit]
			least = most[limit-1].Weight
		}
	}
	slices.SortFunc(most, compare)
	return most[:min(limit, len(most))]
}
