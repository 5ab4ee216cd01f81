package store

import (
	"strings"

	"github.com/weir-lb/weir/logs/query"
)

// column has the values of a field and how often they are there, in little memory. It never changes.
type column struct {
	text    string // of all values, one after the other
	ends    []uint32
	rows    []uint32
	weights []uint64 // nil: the same as rows
}

// newColumn packs values, of which there are less than 4 GiB.
func newColumn(values []query.Value) column {
	size := 0
	for _, value := range values {
		size += len(value.Value)
	}
	var text strings.Builder
	text.Grow(size)
	c := column{ends: make([]uint32, 0, len(values)), rows: make([]uint32, 0, len(values))}
	for n, value := range values {
		text.WriteString(value.Value)
		c.ends = append(c.ends, uint32(text.Len()))
		c.rows = append(c.rows, uint32(value.Rows))
		if c.weights == nil && value.Weight != value.Rows {
			c.weights = make([]uint64, n, len(values))
			for before, value := range values[:n] {
				c.weights[before] = value.Weight
			}
		}
		if c.weights != nil {
			c.weights = append(c.weights, value.Weight)
		}
	}
	c.text = text.String()
	return c
}

func (c column) bytes() int { return len(c.text) + 4*len(c.ends) + 4*len(c.rows) + 8*len(c.weights) }

// each gives the values, in the order in which they came.
func (c column) each(do func(query.Value)) {
	begin := uint32(0)
	for n, end := range c.ends {
		value := query.Value{Value: c.text[begin:end], Rows: uint64(c.rows[n]), Weight: uint64(c.rows[n])}
		if c.weights != nil {
			value.Weight = c.weights[n]
		}
		do(value)
		begin = end
	}
}
