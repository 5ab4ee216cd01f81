package store

import (
	"encoding/json"
	"sync"
)

const (
	// fieldsMost is the number of names of fields that are shared. There are about 2,000 in all kinds together.
	fieldsMost = 4096
	// valuesMost is the number of texts that are shared of one field. A field with more of them has names or addresses.
	valuesMost = 16
	// sharedMost is the length of the longest text that is shared.
	sharedMost = 64
)

// words has what objects have in common: the names of their fields, and texts that many of them have in a field, such
// as "V4". Thousands of objects are in memory, and each word is there once.
type words struct {
	mu     sync.Mutex
	fields map[string]*field
}

type field struct {
	name   string
	values map[string]any // nil: there were too many
}

// plain undoes markReals: digits alone become an int64, all else a float64. It takes names and texts from the words.
func (w *words) plain(object map[string]any) (map[string]any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fields == nil {
		w.fields = map[string]*field{}
	}
	return w.object(object)
}

func (w *words) object(from map[string]any) (map[string]any, error) {
	made := make(map[string]any, len(from))
	for name, value := range from {
		of := w.field(name)
		is, err := w.value(of, value)
		if err != nil {
			return nil, err
		}
		made[of.name] = is
	}
	return made, nil
}

// field returns one of its own for a name that finds no room.
func (w *words) field(name string) *field {
	of := w.fields[name]
	if of == nil {
		of = &field{name: name}
		if len(w.fields) < fieldsMost {
			of.values = map[string]any{}
			w.fields[name] = of
		}
	}
	return of
}

func (w *words) value(of *field, value any) (any, error) {
	switch v := value.(type) {
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return whole, nil
		}
		return v.Float64()
	case string:
		return of.text(v), nil
	case map[string]any:
		return w.object(v)
	case []any:
		for i := range v {
			var err error
			if v[i], err = w.value(of, v[i]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

func (f *field) text(text string) any {
	if f.values == nil || len(text) > sharedMost {
		return text
	}
	shared, has := f.values[text]
	if has {
		return shared
	}
	if len(f.values) == valuesMost {
		f.values = nil
		return text
	}
	shared = text
	f.values[text] = shared
	return shared
}
