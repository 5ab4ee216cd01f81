// Package schema holds what all kinds of object have in common. It reads the fields, defaults, ranges, enums,
// references and secrets of a kind from the tags of a Go struct, and the rest from the Definition that the kind
// registers. The kinds are in package kinds, one file each; schema names none of them but the tenant. avi_fields.txt
// lists the fields of the Avi API. Weir keeps those that a struct lacks as they were sent, and rules of the kind say
// what they mean for the object.
//
// It is the first stage of a change: rest parses the body of a request, admit has its Kind normalise, fill and check it
// and resolves its References, and model turns what was stored into structs with Into. Nothing here may do I/O, read a
// clock or write a log: functions that depend on the time take it as an argument.
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
