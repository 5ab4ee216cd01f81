// Package wire is how rows travel to the record store, and how its journal holds them: a batch of rows in a compact
// form, whose values may be any bytes. Everything has a limit, and a reader trusts nothing.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Limits of a batch and of its rows.
const (
	MaxBatchBytes = 8 << 20
	MaxRows       = 10_000
	MaxRowBytes   = 256 << 10
	MaxFields     = 96
	MaxNameBytes  = 64
	MaxScopeBytes = 128 // a uuid that a client chose
	MaxValueBytes = 64 << 10
)

// Row is one record.
type Row struct {
	Time   time.Time // to the nanosecond
	Type   string    // which fields it has: query.Types
	Scope  string    // uuid of the tenant that may see the row; Everyone: each tenant
	Fields []Field   // only those with a value
}

// Everyone is the scope of rows that every tenant may see.
const Everyone = "*"

// Field is a name and a value. The value may be any bytes.
type Field struct{ Name, Value string }

// Origin names a batch. A source numbers its batches, and sends one after the other. A source that begins anew takes a
// higher epoch. A batch that the store has already is not stored again.
type Origin struct {
	Source   string
	Epoch    uint64
	Sequence uint64 // from 1
}

// Size returns an upper bound of the bytes of a row in a batch.
func (r Row) Size() int {
	size := 5*binary.MaxVarintLen32 + len(r.Type) + len(r.Scope)
	for _, field := range r.Fields {
		size += 2*binary.MaxVarintLen32 + len(field.Name) + len(field.Value)
	}
	return size
}

// Check tells what about a row is beyond the limits.
func (r Row) Check() error {
	if len(r.Fields) > MaxFields {
		return fmt.Errorf("it has %d fields, more than %d", len(r.Fields), MaxFields)
	}
	if len(r.Type) > MaxNameBytes {
		return fmt.Errorf("its type has %d bytes, more than %d", len(r.Type), MaxNameBytes)
	}
	if len(r.Scope) > MaxScopeBytes {
		return fmt.Errorf("its scope has %d bytes, more than %d", len(r.Scope), MaxScopeBytes)
	}
	for _, field := range r.Fields {
		if len(field.Name) > MaxNameBytes {
			return fmt.Errorf("the name of a field has %d bytes, more than %d", len(field.Name), MaxNameBytes)
		}
		if len(field.Value) > MaxValueBytes {
			return fmt.Errorf("field %s has %d bytes, more than %d", field.Name, len(field.Value), MaxValueBytes)
		}
	}
	if size := r.Size(); size > MaxRowBytes {
		return fmt.Errorf("it has %d bytes, more than %d", size, MaxRowBytes)
	}
	return nil
}

// Shortened returns the row with values that are within the limits. A value that was cut off ends with "…".
func (r Row) Shortened() Row {
	for most := MaxValueBytes; most >= MaxValueBytes/MaxFields; most /= 2 {
		fields := r.Fields
		for i, field := range r.Fields {
			if len(field.Value) <= most {
				continue
			}
			if &fields[0] == &r.Fields[0] {
				fields = append([]Field(nil), r.Fields...) // those of the caller stay as they are
			}
			fields[i].Value = shortened(field.Value, most)
		}
		if short := (Row{r.Time, r.Type, r.Scope, fields}); short.Size() <= MaxRowBytes {
			return short
		}
	}
	return r
}

// shortened cuts a text off between two characters.
func shortened(text string, most int) string {
	const mark = "…"
	end := most - len(mark)
	for back := range utf8.UTFMax {
		if utf8.RuneStart(text[end-back]) {
			end -= back
			break
		}
	}
	return text[:end] + mark
}

// Append writes rows behind what is in batch.
func Append(batch []byte, rows []Row) []byte {
	batch = binary.AppendUvarint(batch, uint64(len(rows)))
	for _, row := range rows {
		batch = binary.AppendVarint(batch, row.Time.UnixNano())
		batch = appendText(appendText(batch, row.Type), row.Scope)
		batch = binary.AppendUvarint(batch, uint64(len(row.Fields)))
		for _, field := range row.Fields {
			batch = appendText(appendText(batch, field.Name), field.Value)
		}
	}
	return batch
}

func appendText(batch []byte, text string) []byte {
	return append(binary.AppendUvarint(batch, uint64(len(text))), text...)
}

var errCut = errors.New("the batch ends in the middle of a row")

// Read reads a batch. The values of the rows share its memory.
func Read(batch []byte) ([]Row, error) {
	if len(batch) > MaxBatchBytes {
		return nil, fmt.Errorf("the batch has %d bytes, more than %d", len(batch), MaxBatchBytes)
	}
	r := &reader{rest: string(batch)}
	count := r.number(MaxRows)
	rows := make([]Row, 0, min(count, len(batch)))
	for range count {
		row := Row{Time: time.Unix(0, r.signed()).UTC(), Type: r.text(MaxNameBytes), Scope: r.text(MaxScopeBytes)}
		fields := r.number(MaxFields)
		row.Fields = make([]Field, 0, fields)
		for range fields {
			row.Fields = append(row.Fields, Field{r.text(MaxNameBytes), r.text(MaxValueBytes)})
		}
		if r.err != nil {
			return nil, r.err
		}
		if err := row.Check(); err != nil {
			return nil, fmt.Errorf("row %d: %w", len(rows), err)
		}
		rows = append(rows, row)
	}
	if r.err == nil && r.rest != "" {
		r.err = fmt.Errorf("%d bytes follow the last row of the batch", len(r.rest))
	}
	return rows, r.err
}

// reader takes values off the front of rest. After an error it returns zero values.
type reader struct {
	rest string
	err  error
}

func (r *reader) number(most uint64) int {
	value, size := binary.Uvarint([]byte(r.rest[:min(len(r.rest), binary.MaxVarintLen64)]))
	if !r.take(size) {
		return 0
	}
	if value > most {
		r.fail(fmt.Errorf("a count or a length in the batch is %d, more than %d", value, most))
		return 0
	}
	return int(value)
}

func (r *reader) signed() int64 {
	value, size := binary.Varint([]byte(r.rest[:min(len(r.rest), binary.MaxVarintLen64)]))
	if !r.take(size) {
		return 0
	}
	return value
}

func (r *reader) text(most uint64) string {
	size := r.number(most)
	if size > len(r.rest) {
		r.fail(errCut)
		return ""
	}
	text := r.rest[:size]
	r.rest = r.rest[size:]
	return text
}

// take drops the bytes of a number; size is what encoding/binary says that it has.
func (r *reader) take(size int) bool {
	if size <= 0 {
		r.fail(errCut)
		return false
	}
	r.rest = r.rest[size:]
	return true
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = ""
}
