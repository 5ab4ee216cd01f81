package outward

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/controller/syslog"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

// Form is how a profile has records written: as JSON with the names and types of Avi's logs.
type Form struct {
	Fields []string    // those that are written; empty: all
	Syslog *SyslogForm // nil: JSON alone
}

// SyslogForm is the header of a message.
type SyslogForm struct {
	Facility                      int
	Significant, Filtered, Others int // severities, by class
	Host, Process, Kind           string
}

// encode writes a record, within a number of bytes; nil: it cannot be made that short.
func (f *Form) encode(row wire.Row, most int) []byte {
	head := ""
	if f.Syslog != nil {
		head = f.Syslog.header(row) + "\xef\xbb\xbf"
	}
	for _, valueMost := range []int{wire.MaxValueBytes, 1024, 256, 64, 16} {
		if body := f.object(row, valueMost); len(head)+len(body) <= most {
			return append([]byte(head), body...)
		}
	}
	return nil
}

func (s *SyslogForm) header(row wire.Row) string {
	severity := s.Others
	switch field(row, "class") {
	case query.Significant:
		severity = s.Significant
	case query.Filtered:
		severity = s.Filtered
	}
	return syslog.HeaderOf(8*s.Facility+severity, row.Time, s.Host, s.Process, s.Kind)
}

// object is a record as the API shows it.
func (f *Form) object(row wire.Row, valueMost int) []byte {
	var text bytes.Buffer
	put := func(name string, value []byte) {
		if len(f.Fields) > 0 && !slices.Contains(f.Fields, name) {
			return
		}
		if text.Len() > 0 {
			text.WriteByte(',')
		}
		text.Write(quoted(name))
		text.WriteByte(':')
		text.Write(value)
	}
	put("report_timestamp", quoted(row.Time.UTC().Format("2006-01-02T15:04:05.000000-07:00")))
	put("adf", strconv.AppendBool(nil, field(row, "class") == query.Significant))
	types := query.Types[row.Type]
	for _, field := range row.Fields {
		put(field.Name, typed(types[field.Name], shortened(field.Name, field.Value, valueMost)))
	}
	return slices.Concat([]byte("{"), text.Bytes(), []byte("}"))
}

// typed is a value as JSON. What is no number in spite of its type is text.
func typed(kind query.Kind, value string) []byte {
	switch kind {
	case query.Number:
		if _, err := strconv.ParseFloat(value, 64); err == nil && json.Valid([]byte(value)) {
			return []byte(value)
		}
	case query.Boolean:
		return strconv.AppendBool(nil, value == query.True)
	case query.Words:
		var text bytes.Buffer
		for i, word := range strings.Fields(value) {
			if i > 0 {
				text.WriteByte(',')
			}
			text.Write(quoted(word))
		}
		return slices.Concat([]byte("["), text.Bytes(), []byte("]"))
	}
	return quoted(value)
}
