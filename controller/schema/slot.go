package schema

// slot is one present value that is neither an object nor a list, and how to replace it. What an earlier version stored as
// one of these, where the field is something else now, is one slot as a whole: a secret stays one.
type slot struct {
	field *field
	path  *path
	value any
	set   func(any) // nil removes it
}

// eachSlot visits every scalar of an object that its kind knows, those in lists too, in the order of the struct.
func (r *record) eachSlot(o Object, at *path, visit func(slot)) {
	for _, f := range r.fields {
		value, ok := o[f.name]
		if !ok {
			continue
		}
		f.eachSlot(value, &path{within: at, name: f.name}, visit, func(v any) {
			if v == nil {
				delete(o, f.name)
				return
			}
			o[f.name] = v
		})
	}
}

func (f *field) eachSlot(value any, at *path, visit func(slot), set func(any)) {
	inner, isObject := value.(Object)
	items, isList := value.([]any)
	switch {
	case isObject && f.shape == object:
		f.record.eachSlot(inner, at, visit)
	case isList && f.shape == list:
		for i := range items {
			place := &path{within: at, index: i, identity: f.element.identityOf(items[i])}
			f.element.eachSlot(items[i], place, visit, func(replaced any) { items[i] = replaced })
		}
	default:
		visit(slot{field: f, path: at, value: value, set: set})
	}
}

// identityOf is by what an element of a list is known wherever it stands in it; empty: by its place.
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
