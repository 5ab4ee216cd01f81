package schema

import (
	"maps"
	"slices"
)

const (
	unknownMax   = 20 // of one object; of more it is told that there are more
	nameMax      = 64 // bytes of a name that is told of; no field has so long a one
	hintDistance = 2  // a hint is for a slip in less than each second letter
)

// Unknown finds a field that neither the kind nor Avi has, for tools that tell their user about a slip. The error is a
// *FieldError; nil means that all are known.
func (k *Kind) Unknown(o Object) error {
	if found := k.AllUnknown(o); len(found) > 0 {
		return found[0]
	}
	return nil
}

// AllUnknown finds the fields that neither the kind nor Avi has; of many the first, and that there are more. A write
// through the API drops them, as Avi's does, and tells of them.
func (k *Kind) AllUnknown(o Object) []*FieldError {
	var found []*FieldError
	k.record.unknown(o, nil, func(problem *FieldError) bool {
		problem.Kind = k.Name
		found = append(found, problem)
		return len(found) <= unknownMax
	})
	if len(found) > unknownMax {
		found[unknownMax] = &FieldError{Kind: k.Name, Problem: "has more fields that are unknown"}
	}
	return found
}

// Fields names what an object of the kind may have at its top, in the order of its struct; fields that are computed, or
// only kept, are left out.
func (k *Kind) Fields() []string {
	var names []string
	for _, f := range k.record.fields {
		if !f.computed && !f.kept {
			names = append(names, f.name)
		}
	}
	return names
}

// unknown visits the fields that a record does not have, until visit says that it is enough.
func (r *record) unknown(o Object, at *path, visit func(*FieldError) bool) bool {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		f, known := r.byName[name]
		here := &path{within: at, name: shortened(name)}
		if !known && !visit(refuse(here, "is unknown%s", r.hint(name))) {
			return false
		}
		if known && !f.unknown(o[name], here, visit) {
			return false
		}
	}
	return true
}

func (f *field) unknown(value any, at *path, visit func(*FieldError) bool) bool {
	switch v := value.(type) {
	case Object:
		if f.shape == object {
			return f.record.unknown(v, at, visit)
		}
	case []any:
		for i := range v {
			if f.shape == list && !f.element.unknown(v[i], &path{within: at, index: i}, visit) {
				return false
			}
		}
	}
	return true
}

// hint is the field whose name takes the fewest edits to become the one given, if they are few.
func (r *record) hint(name string) string {
	if len(name) > nameMax {
		return ""
	}
	best := slices.MinFunc(r.fields, func(a, b *field) int { return edits(a.name, name) - edits(b.name, name) })
	if hintDistance*edits(best.name, name) > len(name) {
		return ""
	}
	return "; did you mean " + best.name + "?"
}

func shortened(name string) string {
	if len(name) > nameMax {
		return name[:nameMax] + "…"
	}
	return name
}

// edits is the Levenshtein distance of two texts, in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
