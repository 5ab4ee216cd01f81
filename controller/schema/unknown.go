package schema

import (
	"maps"
	"slices"
	"strings"
)

const (
	unknownMax   = 20 // of one object; then one more says that there are others
	nameMax      = 64 // bytes of a name in a message; no field has a longer name
	hintDistance = 2  // a hint differs in at most one edit for each two bytes
	hintLength   = 4  // bytes of a name that a hint may contain; shorter ones are in too many
	hintDepth    = 3  // objects within objects
)

// Unknown returns a field that neither the kind nor Avi has, so that a tool can point out a typing mistake. The error
// is a *FieldError; nil: all fields are known.
func (k *Kind) Unknown(o Object) error {
	if found := k.AllUnknown(o); len(found) > 0 {
		return found[0]
	}
	return nil
}

// AllUnknown returns the fields that neither the kind nor Avi has. If there are many, it returns the first ones, and
// one entry that says that there are more. A write through the API drops these fields, as Avi's does, and warns about
// them.
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

// Fields returns the names of the top-level fields that a client can set, in the order of the struct. It leaves out
// fields that are only kept.
func (k *Kind) Fields() []string {
	var names []string
	for _, f := range k.record.fields {
		if !f.computed && !f.kept {
			names = append(names, f.name)
		}
	}
	return names
}

// unknown visits the fields that a record does not have, until visit returns false.
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

// hint returns the field that was probably meant: one of this name further inside, the one with the most similar name
// if it is similar enough, or one whose name contains the name.
func (r *record) hint(name string) string {
	if len(name) > nameMax {
		return ""
	}
	meant := r.inside(name, hintDepth)
	best := slices.MinFunc(r.fields, func(a, b *field) int { return edits(a.name, name) - edits(b.name, name) })
	if meant == "" && hintDistance*edits(best.name, name) <= len(name) {
		meant = best.name
	}
	if meant == "" && len(name) >= hintLength {
		meant = r.containing(name)
	}
	if meant == "" {
		return ""
	}
	return "; did you mean " + meant + "?"
}

// inside returns the path of a field of this name in the objects of a record, down to a depth; empty: there is none.
func (r *record) inside(name string, depth int) string {
	if depth == 0 {
		return ""
	}
	for _, f := range r.fields {
		if f.shape != object || f.kept {
			continue
		}
		if _, has := f.record.byName[name]; has {
			return f.name + "." + name
		}
		if further := f.record.inside(name, depth-1); further != "" {
			return f.name + "." + further
		}
	}
	return ""
}

// containing returns the shortest name of a field that contains a text; empty: none does.
func (r *record) containing(text string) (found string) {
	for _, f := range r.fields {
		if !f.kept && strings.Contains(f.name, text) && (found == "" || len(f.name) < len(found)) {
			found = f.name
		}
	}
	return found
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
