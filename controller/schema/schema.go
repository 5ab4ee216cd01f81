// Package schema knows every kind of object that an operator can write: its fields, defaults, ranges, enums, references
// and secrets, all read once from the tags of one Go struct per file. Fields that Avi has beside (avi_fields.txt) are kept as
// they are sent, and kept_rules.go says what becomes of an object that has them.
//
// It is the first stage of a change: rest parses the body of a request, admit lets its Kind normalise, fill and check
// it and resolves its References, and model turns what was stored into structs with Into. Nothing here may do I/O, read
// a clock or write a log: what depends on the time is given the time.
package schema

import (
	"maps"
	"time"
)

// Object is one object as normalised JSON: bool, int64, float64, string, []any and nested Objects.
type Object = map[string]any

// Kind is one kind of object, "pool" or "virtualservice".
type Kind struct {
	Name   string // in URLs and references: "serviceengine"
	Title  string // in messages: "ServiceEngine"
	Prefix string // of uuids: "se" of "se-6426d0be-…"
	Only   string // uuid of the one object that there is; empty: there may be many

	scope  scope
	record *record
	fill   func(Object)                        // defaults that depend on other fields
	check  func(Object) *FieldError            // what no single field can say
	derive func(Object, time.Time) *FieldError // computed fields
}

// Kinds lists all kinds, in the order in which built-in objects of one may refer to those of another.
func Kinds() []*Kind { return kinds }

// Lookup finds a kind by its name in URLs.
func Lookup(name string) (*Kind, bool) {
	k, ok := kindByName[name]
	return k, ok
}

// PerTenant tells whether objects of this kind belong to a tenant and have a tenant_ref; their names are unique in it.
func (k *Kind) PerTenant() bool { return k.scope&perTenant != 0 }

// Creatable tells whether POST makes objects of this kind; engines make themselves by joining.
func (k *Kind) Creatable() bool { return k.Only == "" && k.scope&selfMade == 0 }

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
