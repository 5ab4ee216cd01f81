// Package schema is what all kinds of object have in common: it reads the fields, defaults, ranges, enums, references
// and secrets of a kind from the tags of a Go struct, and what else there is to say of the kind from a Definition
// beside it. The kinds themselves are in kinds, one file each; none but the tenant is known here by its name. Fields
// that Avi has beside (avi_fields.txt) are kept as they are sent, and rules of the kind say what becomes of an object
// that has them.
//
// It is the first stage of a change: rest parses the body of a request, admit lets its Kind normalise, fill and check
// it and resolves its References, and model turns what was stored into structs with Into. Nothing here may do I/O, read
// a clock or write a log: what depends on the time is given the time.
package schema

import "maps"

// Object is one object as normalised JSON: bool, int64, float64, string, []any and nested Objects.
type Object = map[string]any

// Clone copies an object so deeply that nothing is shared with the original.
func Clone(o Object) Object { return clone(o).(Object) }

func clone(value any) any {
	switch v := value.(type) {
	case Object:
		copied := maps.Clone(v)
		for name := range copied {
			copied[name] = clone(copied[name])
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i := range v {
			copied[i] = clone(v[i])
		}
		return copied
	}
	return value
}
