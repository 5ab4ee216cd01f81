package store

import (
	"strings"

	"github.com/weir-lb/weir/logs/query"
)

// tally counts the values of one field. It is not safe for concurrent use.
type tally struct {
	places map[string]int32
	values []query.Value
	bytes  int // of all values, with what the tally needs to know them
}

// bytesOfValue is about what a value takes in a tally, without its text.
const bytesOfValue = 96

// place is where a value is counted.
func (t *tally) place(value string) int32 {
	at, known := t.places[value]
	if !known {
		if t.places == nil {
			t.places = map[string]int32{}
		}
		at = int32(len(t.values))
		value = strings.Clone(value) // the storage uses its memory again
		t.places[value] = at
		t.values = append(t.values, query.Value{Value: value})
		t.bytes += bytesOfValue + len(value)
	}
	return at
}

// count counts the values of some rows. Without weights, each row weighs one.
func (t *tally) count(values []string, weights []uint64) {
	last, at := "", int32(-1) // neighbours are often the same
	for row, value := range values {
		if at < 0 || value != last {
			last, at = value, t.place(value)
		}
		counted := &t.values[at]
		counted.Rows++
		if weights == nil {
			counted.Weight++
		} else {
			counted.Weight += weights[row]
		}
	}
}

// add adds what another tally has counted.
func (t *tally) add(values []query.Value) {
	if len(t.values) == 0 && len(values) > 0 {
		t.places = make(map[string]int32, len(values))
	}
	for _, value := range values {
		t.addOne(value)
	}
}

func (t *tally) addOne(value query.Value) {
	counted := &t.values[t.place(value.Value)]
	counted.Rows += value.Rows
	counted.Weight += value.Weight
}
