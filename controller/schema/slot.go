package schema

import "slices"

// slot is a value that is neither an object nor a list, with a function that replaces it. If an earlier version stored
// an object or a list in a field that now holds something else, the whole value is one slot: a secret stays secret.
type slot struct {
	field *field
	path  *path
	value any
	set   func(any) // nil removes it
}

// mark is a property of fields: a walk over an object visits the slots of one mark.
type mark int

const (
	isSecret mark = iota
	isReference
	marks
)

func (f *field) has(m mark) bool {
	if m == isSecret {
		return f.secret
	}
	return f.refers()
}

// eachSlot visits each slot with a mark, in lists and objects too, in the order of the struct.
func (r *record) eachSlot(m mark, o Object, at *path, visit func(slot)) {
	for _, f := range r.marked(m) {
		value, ok := o[f.name]
		if !ok {
			continue
		}
		f.eachSlot(m, value, &path{within: at, name: f.name}, visit, func(v any) {
			if v == nil {
				delete(o, f.name)
				return
			}
			o[f.name] = v
		})
	}
}

// marked lists the fields that have a mark, or contain one that has. Call it only after all kinds are registered.
func (r *record) marked(m mark) []*field {
	if known := r.marks[m].Load(); known != nil {
		return *known
	}
	found := []*field{}
	for _, f := range r.fields {
		if f.holds(m, map[*record]bool{}) {
			found = append(found, f)
		}
	}
	r.marks[m].Store(&found)
	return found
}

// holds tells whether a field has a mark, or contains one that has. seen are the records that the search has visited.
func (f *field) holds(m mark, seen map[*record]bool) bool {
	switch {
	case f.has(m):
		return true
	case f.shape == list:
		return f.element.holds(m, seen)
	case f.shape != object || seen[f.record]:
		return false
	}
	seen[f.record] = true
	return slices.ContainsFunc(f.record.fields, func(inner *field) bool { return inner.holds(m, seen) })
}

func (f *field) eachSlot(m mark, value any, at *path, visit func(slot), set func(any)) {
	inner, isObject := value.(Object)
	items, isList := value.([]any)
	switch {
	case isObject && f.shape == object:
		f.record.eachSlot(m, inner, at, visit)
	case isList && f.shape == list:
		for i := range items {
			place := &path{within: at, index: i, identity: f.element.identityOf(items[i])}
			f.element.eachSlot(m, items[i], place, visit, func(replaced any) { items[i] = replaced })
		}
	case f.has(m):
		visit(slot{field: f, path: at, value: value, set: set})
	}
}

// identityOf is the key that identifies an element of a list; empty: only its position does.
func (f *field) identityOf(value any) string {
	o, ok := value.(Object)
	if !ok || f.record == nil || f.record.identity == nil {
		return ""
	}
	return f.record.identity(o)
}

// eachRecord visits an object and all objects within it, the outer one first.
func (r *record) eachRecord(o Object, visit func(*record, Object)) {
	visit(r, o)
	for _, f := range r.fields {
		switch v := o[f.name].(type) {
		case Object:
			if f.shape == object {
				f.record.eachRecord(v, visit)
			}
		case []any:
			if f.shape != list || f.element.shape != object {
				continue
			}
			for _, item := range v {
				if inner, ok := item.(Object); ok {
					f.element.record.eachRecord(inner, visit)
				}
			}
		}
	}
}
