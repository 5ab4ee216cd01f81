package outward

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	logtext "github.com/weir-lb/weir/logs/text"
	"github.com/weir-lb/weir/logs/wire"
)

// object is a row as one JSON object: time, type, scope, and its fields. Values are text, as they are stored. No value
// has more than a number of bytes: longer ones end with "…".
func object(row wire.Row, valueMost int) []byte {
	var text bytes.Buffer
	put := func(name, value string) {
		if text.Len() == 0 {
			text.WriteByte('{')
		} else {
			text.WriteByte(',')
		}
		text.Write(quoted(name))
		text.WriteByte(':')
		text.Write(quoted(shortened(name, value, valueMost)))
	}
	put("time", row.Time.UTC().Format(time.RFC3339Nano))
	put("type", row.Type)
	if row.Scope != wire.Everyone {
		put("scope", row.Scope)
	}
	for _, field := range row.Fields {
		if !slices.Contains(ownNames, field.Name) {
			put(field.Name, field.Value)
		}
	}
	text.WriteByte('}')
	return text.Bytes()
}

var ownNames = []string{"time", "type", "scope"}

// quoted is a JSON string, in which bytes that are no UTF-8 are as package text writes them. Characters that end a line
// for some reader, or that a terminal would act on, are escapes, so no value can begin another message.
func quoted(value string) []byte {
	text, _ := json.Marshal(logtext.Encode(value)) // strings always have a JSON
	return []byte(logtext.InertJSON(string(text)))
}

// shortened is a value with at most so many bytes. By the whole id of a record, receivers find that record again.
func shortened(name, value string, most int) string {
	if name == "request_id" {
		return value
	}
	return cut(value, most)
}

// cut shortens a value at a boundary between characters.
func cut(value string, most int) string {
	if len(value) <= most {
		return value
	}
	end := max(0, most-len("…"))
	for end > 0 && !utf8.RuneStart(value[end]) {
		end--
	}
	return value[:end] + "…"
}

// objectWithin is the object with values short enough to have a number of bytes; nil: it cannot be made that short.
func objectWithin(row wire.Row, most int) []byte {
	for _, valueMost := range []int{wire.MaxValueBytes, 1024, 256, 64, 16} {
		if text := object(row, valueMost); len(text) <= most {
			return text
		}
	}
	return nil
}

// field returns the value of a field; empty: there is none.
func field(row wire.Row, name string) string {
	for _, field := range row.Fields {
		if field.Name == name {
			return field.Value
		}
	}
	return ""
}

// Severities of syslog (RFC 5424 §6.2.1).
const (
	severityError   = 3
	severityWarning = 4
	severityNotice  = 5
	severityInfo    = 6
)

// severity is how much a row needs somebody: an event by its id, a request by its status, a change that was refused.
func severity(row wire.Row) int {
	id := field(row, "event_id")
	status, _ := strconv.Atoi(field(row, "response_code"))
	switch {
	case strings.HasSuffix(id, "_DOWN") || status >= 500:
		return severityError
	case strings.HasSuffix(id, "_DROPPED") || strings.HasSuffix(id, "_REFUSED") || strings.HasSuffix(id, "_LOST"):
		return severityWarning
	case field(row, "refused") != "" || status >= 400:
		return severityNotice
	}
	return severityInfo
}
