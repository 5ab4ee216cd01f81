package schema

import (
	"maps"
	"slices"
)

// Unknown finds a field that the kind does not have, for tools that tell their user about a slip. A write through the
// API drops such fields in silence, as Avi's does. The error is a *FieldError; nil means that all are known.
func (k *Kind) Unknown(o Object) error {
	if problem := k.record.unknown(o, nil); problem != nil {
		problem.Kind = k.Name
		return problem
	}
	return nil
}

// Fields names what an object of the kind may have at its top, in the order of its struct; computed fields are left out.
func (k *Kind) Fields() []string {
	var names []string
	for _, f := range k.record.fields {
		if !f.computed {
			names = append(names, f.name)
		}
	}
	return names
}

func (r *record) unknown(o Object, at *path) *FieldError {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		f, known := r.byName[name]
		here := &path{within: at, name: name}
		if !known {
			return refuse(here, "is unknown%s", r.hint(name))
		}
		if problem := f.unknown(o[name], here); problem != nil {
			return problem
		}
	}
	return nil
}

func (f *field) unknown(value any, at *path) *FieldError {
	switch v := value.(type) {
	case Object:
		if f.shape == object {
			return f.record.unknown(v, at)
		}
	case []any:
		for i := range v {
			if f.shape != list {
				break
			}
			if problem := f.element.unknown(v[i], &path{within: at, index: i}); problem != nil {
				return problem
			}
		}
	}
	return nil
}

// hint is the field whose name takes the fewest edits to become the one given, if they are few.
func (r *record) hint(name string) string {
	best := slices.MinFunc(r.fields, func(a, b *field) int { return edits(a.name, name) - edits(b.name, name) })
	if 2*edits(best.name, name) > len(name) {
		return ""
	}
	return "; did you mean " + best.name + "?"
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
