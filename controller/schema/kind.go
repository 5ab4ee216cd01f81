package schema

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/schema/column"
)

// Kind is one kind of object: its struct and its Definition. Only the file of the kind, in package kinds, lists them.
type Kind struct {
	Name  string // in URLs and references: "serviceengine"
	Title string // in messages, and the name of its struct: "ServiceEngine"
	Definition

	record *record
	check  func(Object) *FieldError // rules between fields; nil: none
	tells  func(Object) []string    // see Reveals; nil: nothing
	idle   func(Object) []Kept      // values without a function; nil: none
	// misnamed finds what is named and not referred to; nil: nothing. It is asked with the names of objects, by
	// reference.
	misnamed func(Object, func(reference string) string) []Kept
}

// Definition is what the file of a kind says besides the fields. A kind whose struct has a tenant_ref belongs to
// tenants. A Validate method of the struct checks rules between fields, a Reveals method says what its objects tell
// others, an Idle method finds values that have no function, of fields that have one, and a Misnamed method finds texts
// that name nothing.
type Definition struct {
	Short    []string // other names at the command line: "vs"
	Prefix   string   // of uuids: "se" of "se-6426d0be-…"; empty: the name of the kind
	Only     string   // uuid of the only object; empty: there can be many
	SelfMade bool     // objects are not created through the API: engines join
	Private  bool     // other tenants do not see the objects of tenant admin
	Sealed   bool     // its secrets are never exported
	Own      bool     // Avi has no such kind
	// Unaudited: the controller writes the objects to report something, and no operator's action is hidden by leaving
	// such writes out of the audit trail.
	Unaudited bool
	// SlowToCheck: a large object has so many regular expressions that other writers do not wait for its check.
	SlowToCheck bool
	Serving     Serving
	// Permission is the resource of roles that says who may read and write the objects; empty: that of the same name.
	Permission string

	FilledBy  func(Object)                        // defaults that depend on other fields
	DerivedBy func(Object, time.Time) *FieldError // computed fields
	// as an operator would send them; "uuid" is needed only if it is not made from the name
	Builtins []Object

	Columns []column.Column // of the table, after NAME; empty: UUID
	Beside  []string        // kinds that the columns read through references
	Example string          // a command that creates an object; empty: one that reads a file

	Kept   []Rule // for fields of Avi's that the struct lacks
	Unread []Rule // for fields of the struct that have no function, by their full path
}

// Serving is the role of a kind in traffic.
type Serving int

const (
	Apart         Serving = iota // none: no virtual service can be closed
	PartOfService                // virtual services use them
	IsService                    // they are virtual services
)

// These maps are written while the program starts, and only read afterwards.
var (
	kindByName = map[string]*Kind{}
	enums      = map[string][]string{}
)

// Register makes a kind from a struct and a definition. Call it in an init function. The kind has the name of the
// struct: Register[Pool] makes "pool".
func Register[T any](definition Definition) *Kind {
	t := reflect.TypeFor[T]()
	k := &Kind{Name: strings.ToLower(t.Name()), Title: t.Name(), Definition: definition, record: describe(t, 0)}
	if k.Prefix == "" {
		k.Prefix = k.Name
	}
	if own := "PERMISSION_" + strings.ToUpper(k.Name); k.Permission == "" && IsResource(own) {
		k.Permission = own
	}
	if _, ok := any(new(T)).(validated); ok {
		k.check = checkAs[T]
	}
	if _, ok := any(new(T)).(revealing); ok {
		k.tells = tellsAs[T]
	}
	if _, ok := any(new(T)).(idle); ok {
		k.idle = idleAs[T]
	}
	if _, ok := any(new(T)).(misnaming); ok {
		k.misnamed = misnamedAs[T]
	}
	if kindByName[k.Name] != nil {
		panic("schema: there are two kinds " + k.Name)
	}
	kindByName[k.Name] = k
	k.keepRest()
	k.noteUnread()
	return k
}

// Enum names the values that fields with the tag `enum:"name"` can have. Call it to initialise a variable of the
// package: Go initialises variables before it runs the init functions that register kinds.
func Enum(name string, values ...string) []string {
	if enums[name] != nil {
		panic("schema: there are two enums " + name)
	}
	enums[name] = values
	return values
}

// validated is a struct with rules between its fields.
type validated interface{ Validate() *FieldError }

func checkAs[T any](o Object) *FieldError {
	typed, err := Into[T](o)
	if err != nil {
		return &FieldError{Problem: err.Error()}
	}
	return any(typed).(validated).Validate()
}

// revealing is a struct whose objects have the controller tell others something, such as a rule that sends alerts.
type revealing interface{ Reveals() []string }

func tellsAs[T any](o Object) []string {
	typed, err := Into[T](o)
	if err != nil {
		return nil
	}
	return any(typed).(revealing).Reveals()
}

// idle is a struct whose fields can have values without a function.
type idle interface{ Idle() []Kept }

func idleAs[T any](o Object) []Kept {
	typed, err := Into[T](o)
	if err != nil {
		return nil
	}
	return any(typed).(idle).Idle()
}

// misnaming is a struct with texts that name other objects, which must be among those that it refers to.
type misnaming interface {
	Misnamed(nameOf func(reference string) string) []Kept
}

func misnamedAs[T any](o Object, nameOf func(reference string) string) []Kept {
	typed, err := Into[T](o)
	if err != nil {
		return nil
	}
	return any(typed).(misnaming).Misnamed(nameOf)
}

// Misnamed finds the texts of an object that name none of the objects that it refers to.
func (k *Kind) Misnamed(o Object, nameOf func(reference string) string) []Kept {
	if k.misnamed == nil {
		return nil
	}
	return k.misnamed(o, nameOf)
}

// Reveals lists the resources of roles of what an object has the controller tell others. Who writes the object must be
// allowed to read them.
func (k *Kind) Reveals(object Object) []string {
	if k.tells == nil {
		return nil
	}
	return k.tells(object)
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

// Creatable tells whether clients can create objects of this kind.
func (k *Kind) Creatable() bool { return k.Only == "" && !k.SelfMade }
