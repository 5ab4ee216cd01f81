package schema

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// Search returns a function that tells whether an object contains a text. It looks at what a client may read: the JSON
// of the object, without spaces, fields sorted, secrets hidden. It does not copy the object. With fold, upper and lower
// case are the same. The function is not safe for concurrent use.
func (k *Kind) Search(text string, fold bool) func(Object) bool {
	s := &search{text: text, fold: fold}
	if fold {
		s.text = strings.ToLower(text)
	}
	s.inNumbers = strings.Trim(s.text, "0123456789+-.eE") == ""
	s.inSensitive = s.within(Sensitive)
	s.inKnownNames = s.named(k.record, map[*record]bool{})
	if spansTokens(s.text) {
		return func(o Object) bool {
			s.written = s.appendRecord(s.written[:0], k.record, o)
			return s.inWritten()
		}
	}
	return func(o Object) bool { return s.text == "" || s.inRecord(k.record, o) }
}

// spansTokens tells whether a match of the text can begin in one token of the JSON and end in another. A match without
// a quotation mark is either inside one string or outside all strings. Outside, a colon can only follow a quotation
// mark.
func spansTokens(text string) bool {
	const outsideStrings = "{}[],:0123456789+-.eEtrufalsn"
	return strings.Contains(text, `"`) || strings.ContainsAny(text, "{}[],:") &&
		strings.LastIndexByte(text, ':') <= 0 && strings.Trim(text, outsideStrings) == ""
}

// search is a search for one text.
type search struct {
	text         string
	fold         bool
	inNumbers    bool   // a number may hold the text
	inSensitive  bool   // the text that replaces a secret contains the text
	inKnownNames bool   // the name of a field that the kind knows holds the text
	written      []byte // JSON of the token or the object that is searched
}

func (s *search) inRecord(r *record, o Object) bool {
	for name, value := range o {
		f := r.byName[name]
		if (f == nil || s.inKnownNames) && s.within(name) || s.inField(f, value) {
			return true
		}
	}
	return false
}

// named tells whether the name of a field of the record, or of a record within it, contains the text.
func (s *search) named(r *record, seen map[*record]bool) bool {
	if r == nil || seen[r] {
		return false
	}
	seen[r] = true
	return slices.ContainsFunc(r.fields, func(f *field) bool {
		inner := f.record
		if f.shape == list {
			inner = f.element.record
		}
		return s.within(f.name) || s.named(inner, seen)
	})
}

// inField looks into the value of a field. f is nil if the kind has no such field.
func (s *search) inField(f *field, value any) bool {
	switch v := value.(type) {
	case Object:
		if f != nil && f.shape == object {
			return s.inRecord(f.record, v)
		}
	case []any:
		if f != nil && f.shape == list {
			return slices.ContainsFunc(v, func(item any) bool { return s.inField(f.element, item) })
		}
	}
	if f.hides(value) {
		return s.inSensitive
	}
	return s.inValue(value)
}

// inValue looks into a value whose fields the kind does not know.
func (s *search) inValue(value any) bool {
	switch v := value.(type) {
	case string:
		return s.within(v)
	case bool:
		return strings.Contains(strconv.FormatBool(v), s.text)
	case nil:
		return strings.Contains("null", s.text)
	case int64:
		if !s.inNumbers {
			return false
		}
		s.written = strconv.AppendInt(s.written[:0], v, 10)
		return s.inWritten()
	case Object:
		for name, inner := range v {
			if s.within(name) || s.inValue(inner) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(v, s.inValue)
	}
	s.written = AppendJSON(s.written[:0], value)
	return s.inWritten()
}

// within tells whether a string contains the text, in the form that it has in JSON.
func (s *search) within(value string) bool {
	if !plain(value) {
		s.written = AppendJSON(s.written[:0], value)
		return s.inWritten()
	}
	if !s.fold {
		return strings.Contains(value, s.text)
	}
	s.written = s.written[:0]
	for i := range len(value) {
		s.written = append(s.written, lower(value[i]))
	}
	return bytes.Contains(s.written, []byte(s.text))
}

func (s *search) inWritten() bool {
	if s.fold {
		return bytes.Contains(bytes.ToLower(s.written), []byte(s.text))
	}
	return bytes.Contains(s.written, []byte(s.text))
}

// appendRecord appends the JSON of an object, secrets hidden.
func (s *search) appendRecord(to []byte, r *record, o Object) []byte {
	return appendObject(to, o, func(to []byte, name string, value any) []byte {
		return s.appendField(to, r.byName[name], value)
	})
}

func (s *search) appendField(to []byte, f *field, value any) []byte {
	switch v := value.(type) {
	case Object:
		if f != nil && f.shape == object {
			return s.appendRecord(to, f.record, v)
		}
	case []any:
		if f != nil && f.shape == list {
			return appendList(to, v, func(to []byte, item any) []byte { return s.appendField(to, f.element, item) })
		}
	}
	if f.hides(value) {
		value = Sensitive
	}
	return AppendJSON(to, value)
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
