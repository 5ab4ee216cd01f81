package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Decode reads the body of a write. It accepts values of a similar type ("80", "true"). It drops unknown and computed
// fields; null means absent. The error is a *FieldError that names the first wrong field.
func (k *Kind) Decode(body []byte) (Object, error) {
	sent, err := Parse(k.Name, body)
	if err != nil {
		return nil, err
	}
	return k.Normalise(sent)
}

// Normalise does what Decode does, for an object that is parsed already, such as a stored object with a patch applied.
func (k *Kind) Normalise(sent Object) (Object, error) {
	o, problem := k.record.accept(sent, nil)
	if problem != nil {
		problem.Kind = k.Name
		return nil, problem
	}
	return o, nil
}

func (r *record) accept(sent Object, at *path) (Object, *FieldError) {
	o := make(Object, len(sent))
	for _, f := range r.fields {
		raw, ok := sent[f.name]
		if f.computed || !f.required && (!ok || raw == nil) {
			continue
		}
		here := &path{within: at, name: f.name}
		if !ok || raw == nil {
			return nil, refuse(here, "is required")
		}
		value, problem := f.accept(raw, here)
		if problem != nil {
			return nil, problem
		}
		if f.required && value == "" {
			return nil, refuse(here, "is required")
		}
		o[f.name] = value
	}
	return o, nil
}

func (f *field) accept(raw any, at *path) (any, *FieldError) {
	switch f.shape {
	case boolean:
		return acceptBoolean(raw, at)
	case whole:
		return f.acceptWhole(raw, at)
	case real:
		return acceptReal(raw, at)
	case text:
		return f.acceptText(raw, at)
	case list:
		return f.acceptList(raw, at)
	}
	sent, ok := raw.(Object)
	if !ok {
		return nil, refuse(at, "must be an object, not %s: give its fields, such as %s.%s", Show(raw), at,
			f.record.example())
	}
	return f.record.accept(sent, at)
}

// example returns a path to a value in a record: through the fields that are required, otherwise through the first.
func (r *record) example() string {
	var first *field
	for _, f := range r.fields {
		usable := !f.kept && !f.computed
		if usable && (first == nil || f.required && !first.required) {
			first = f
		}
	}
	switch {
	case first == nil:
		return "…"
	case first.shape == object:
		return first.name + "." + first.record.example()
	}
	return first.name
}

func acceptBoolean(raw any, at *path) (any, *FieldError) {
	switch v := raw.(type) {
	case bool:
		return v, nil
	case string:
		switch strings.ToLower(v) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	}
	return nil, refuse(at, "%s is not true or false", Show(raw))
}

func (f *field) acceptWhole(raw any, at *path) (any, *FieldError) {
	value, ok := toWhole(raw)
	if !ok {
		return nil, refuse(at, "%s is not a whole number", Show(raw))
	}
	if (value < f.low || value > f.high) && (f.also == nil || *f.also != value) {
		return nil, refuse(at, "%d is out of range; give %s", value, f.rangeText())
	}
	return value, nil
}

func (f *field) rangeText() string {
	bounds := fmt.Sprintf("%d to %d", f.low, f.high)
	if f.also == nil {
		return bounds
	}
	return fmt.Sprintf("%d, or %s", *f.also, bounds)
}

func toWhole(raw any) (int64, bool) {
	var digits string
	switch v := raw.(type) {
	case int64:
		return v, true
	case float64:
		digits = strconv.FormatFloat(v, 'f', -1, 64)
	case json.Number:
		digits = v.String()
	case string:
		digits = strings.TrimSpace(v)
	default:
		return 0, false
	}
	if value, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return value, true
	}
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil || value != math.Trunc(value) || math.Abs(value) >= 1<<53 {
		return 0, false
	}
	return int64(value), true
}

func acceptReal(raw any, at *path) (any, *FieldError) {
	var digits string
	switch v := raw.(type) {
	case float64:
		return v, nil
	case int64:
		return float64(v), nil
	case json.Number:
		digits = v.String()
	case string:
		digits = strings.TrimSpace(v)
	}
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
		return nil, refuse(at, "%s is not a number", Show(raw))
	}
	return value, nil
}

func (f *field) acceptText(raw any, at *path) (any, *FieldError) {
	var value string
	switch v := raw.(type) {
	case string:
		value = v
	case json.Number:
		value = v.String()
	case int64, float64, bool:
		value = fmt.Sprint(v)
	default:
		return nil, refuse(at, "must be a text, not %s", Show(raw))
	}
	if f.enum != nil && !slices.Contains(f.enum, value) {
		return nil, refuse(at, "%q is unknown; give one of %s", value, strings.Join(f.enum, ", "))
	}
	if value != "" && f.refers() {
		if _, err := ParseRef(f.ref, value); err != nil {
			return nil, refuse(at, "%v", err)
		}
	}
	return value, nil
}

func (f *field) acceptList(raw any, at *path) (any, *FieldError) {
	sent, ok := raw.([]any)
	if !ok {
		return nil, refuse(at, "must be a list, not %s", Show(raw))
	}
	if problem := f.checkLength(len(sent), at); problem != nil {
		return nil, problem
	}
	values := make([]any, len(sent))
	for i := range sent {
		value, problem := f.element.accept(sent[i], &path{within: at, index: i})
		if problem != nil {
			return nil, problem
		}
		values[i] = value
	}
	return values, nil
}

func (f *field) checkLength(items int, at *path) *FieldError {
	if items > f.items {
		return refuse(at, "has %d items; give at most %d", items, f.items)
	}
	return nil
}

func refuse(at *path, problem string, args ...any) *FieldError {
	return &FieldError{Field: at.String(), Problem: fmt.Sprintf(problem, args...)}
}

// Show returns a text for a foreign value in a message: its type, and the value itself if it is short.
func Show(raw any) string {
	switch v := raw.(type) {
	case nil:
		return "null"
	case Object:
		return "an object"
	case []any:
		return "a list"
	case string:
		if len(v) > 60 {
			v = v[:60] + "…"
		}
		return strconv.Quote(v)
	}
	return fmt.Sprint(raw)
}
