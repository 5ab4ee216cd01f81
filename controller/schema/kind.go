package schema

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/schema/column"
)

// Kind is one kind of object: what its struct and its Definition say. Its file, in kinds, is the one place that knows
// them.
type Kind struct {
	Name  string // in URLs and references: "serviceengine"
	Title string // in messages, and the name of its struct: "ServiceEngine"
	Definition

	record *record
	check  func(Object) *FieldError // what no single field can say; nil: nothing
}

// Definition is what the file of a kind says of it beside its fields. Fields that refer to a tenant make it one of a
// tenant's, and a Validate method of its struct says what no single field can say.
type Definition struct {
	Short    []string // what people type instead of its name: "vs"
	Prefix   string   // of uuids: "se" of "se-6426d0be-…"; empty: its name
	Only     string   // uuid of the one object that there is; empty: there may be many
	SelfMade bool     // nobody creates them: engines join
	Private  bool     // seen in their own tenant only; of other kinds a tenant sees the objects of admin too
	Sealed   bool     // nobody reads its secrets, whoever exports objects
	Own      bool     // Avi has no such kind
	Serving  Serving

	FilledBy  func(Object)                        // defaults that depend on other fields
	DerivedBy func(Object, time.Time) *FieldError // computed fields
	Builtins  []Object                            // as an operator would send them; with "uuid" if not made of the name

	Columns []column.Column // of its table, after NAME; none: UUID
	Beside  []string        // kinds whose objects the columns follow references to
	Example string          // how to create one at the command line; empty: from a file

	Kept   []Rule // what becomes of an object with a field that Avi has and the struct has not
	Unread []Rule // of a field that the struct has and nothing reads, named in full
}

// Serving says what objects of a kind have to do with traffic.
type Serving int

const (
	Apart         Serving = iota // nothing: there is nothing to close
	PartOfService                // a virtual service is made of them
	Service                      // they are virtual services
)

// The kinds that there are. Files of kinds write them while the program starts; after that they are only read.
var (
	kindByName = map[string]*Kind{}
	enums      = map[string][]string{}
)

// Register makes a kind of a struct and a definition, in an init function. The kind is named for the struct:
// Register[Pool] makes "pool".
func Register[T any](definition Definition) *Kind {
	t := reflect.TypeFor[T]()
	k := &Kind{Name: strings.ToLower(t.Name()), Title: t.Name(), Definition: definition, record: describe(t, 0)}
	if k.Prefix == "" {
		k.Prefix = k.Name
	}
	if _, ok := any(new(T)).(validated); ok {
		k.check = checkAs[T]
	}
	if kindByName[k.Name] != nil {
		panic("schema: there are two kinds " + k.Name)
	}
	kindByName[k.Name] = k
	k.keepRest()
	return k
}

// Enum names a set of values that an `enum:` tag can ask for. A file has it as a variable of its package, so that it is
// there when the first kind is registered.
func Enum(name string, values ...string) []string {
	if enums[name] != nil {
		panic("schema: there are two enums " + name)
	}
	enums[name] = values
	return values
}

// validated is a kind with rules between its fields.
type validated interface{ Validate() *FieldError }

func checkAs[T any](o Object) *FieldError {
	typed, err := Into[T](o)
	if err != nil {
		return &FieldError{Problem: err.Error()}
	}
	return any(typed).(validated).Validate()
}

// Kinds lists all kinds by name.
func Kinds() []*Kind {
	return slices.SortedFunc(maps.Values(kindByName), func(a, b *Kind) int { return strings.Compare(a.Name, b.Name) })
}

// Lookup finds a kind by its name in URLs.
func Lookup(name string) (*Kind, bool) {
	k, ok := kindByName[name]
	return k, ok
}

// PerTenant tells whether objects of this kind belong to a tenant and have a tenant_ref; their names are unique in it.
func (k *Kind) PerTenant() bool {
	f := k.record.byName["tenant_ref"]
	return f != nil && !f.kept
}

// Creatable tells whether POST makes objects of this kind.
func (k *Kind) Creatable() bool { return k.Only == "" && !k.SelfMade }
