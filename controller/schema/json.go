package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// AppendJSON appends the JSON of a value. The bytes are those of encoding/json, but objects cost less. It panics if
// JSON cannot represent the value.
func AppendJSON(to []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return appendText(to, v)
	case bool:
		return strconv.AppendBool(to, v)
	case int64:
		return strconv.AppendInt(to, v, 10)
	case Object:
		return appendObject(to, v, func(to []byte, _ string, inner any) []byte { return AppendJSON(to, inner) })
	case []any:
		return appendList(to, v, AppendJSON)
	case []Object:
		return appendList(to, v, func(to []byte, o Object) []byte { return AppendJSON(to, o) })
	}
	return appendAny(to, value)
}

func appendText(to []byte, text string) []byte {
	if !plain(text) {
		return appendAny(to, text)
	}
	return append(append(append(to, '"'), text...), '"')
}

func appendAny(to []byte, value any) []byte {
	text, err := json.Marshal(value)
	must("JSON", err)
	return append(to, text...)
}

func appendObject(to []byte, o Object, appendField func(to []byte, name string, value any) []byte) []byte {
	if o == nil {
		return append(to, "null"...)
	}
	names := slices.AppendSeq(make([]string, 0, len(o)), maps.Keys(o))
	slices.Sort(names)
	to = append(to, '{')
	for i, name := range names {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(appendText(to, name), ':')
		to = appendField(to, name, o[name])
	}
	return append(to, '}')
}

func appendList[T any](to []byte, items []T, appendItem func(to []byte, item T) []byte) []byte {
	if items == nil {
		return append(to, "null"...)
	}
	to = append(to, '[')
	for i, item := range items {
		if i > 0 {
			to = append(to, ',')
		}
		to = appendItem(to, item)
	}
	return append(to, ']')
}

// plain tells whether the JSON of a string is the string itself between quotation marks. It returns false for all
// strings that are not ASCII.
func plain(value string) bool {
	for i := range len(value) {
		if !plainBytes[value[i]] {
			return false
		}
	}
	return true
}

var plainBytes = func() (plain [256]bool) {
	for c := ' '; c <= '~'; c++ {
		plain[c] = !strings.ContainsRune(`"\<>&`, c)
	}
	return plain
}()
