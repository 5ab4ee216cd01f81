package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
)

// The tags of a field:
//
//	json:"port"        its name
//	default:"80"       its value when absent; lists and objects are written as JSON; a reference by name
//	min:"1" max:"64"   its range, beside the one of its Go type;  also:"0" one value outside of it
//	items:"50"         the longest list
//	enum:"PoolType"    its values, as Enum has them
//	ref:"pool"         it is a reference to that kind, or a list of them
//	required:"true"    it must be sent
//	secret:"true"      it is written and never read back, unless a superuser exports it
//	computed:"true"    it is read and never written: dropped from what is sent
const (
	maxItems = 5000 // of a list without the tag items
	maxDepth = 12   // of structs in structs; a deeper one is a loop
)

// record is what the tags of a struct say: of a kind, or of an object within one.
type record struct {
	fields []*field
	byName map[string]*field
	goType reflect.Type // nil: there is no struct, only Avi's message
	// message is Avi's name of the record; empty: no kind uses the record.
	message string
	// complete derives absent fields from others; nil for most records.
	complete func(Object)
	// switchedOff tells whether an object does nothing, and with it the fields that it has; nil: it always does.
	switchedOff func(Object) bool
	// identity returns the key of an element of a list; nil: the position identifies the element.
	identity func(Object) string
	// marks are the fields to visit for each mark; nil: not computed yet.
	marks [marks]atomic.Pointer[[]*field]
}

// completed is a struct that derives fields from others, wherever it stands.
type completed interface{ Complete(Object) }

// switched is a struct of which an object may be switched off, such as a rule.
type switched interface{ SwitchedOff(Object) bool }

// identified is a struct whose position in a list does not identify it. ListKey does, so that its secrets stay with it
// when the list is rearranged.
type identified interface{ ListKey(Object) string }

// field is one field of a record, or the type of the elements of a list.
type field struct {
	name     string
	shape    shape
	index    []int   // in the Go struct; empty if the field is only kept
	element  *field  // of a list
	record   *record // of an object
	fallback any     // the default; nil: there is none
	low      int64
	high     int64
	also     *int64
	items    int
	enum     []string
	ref      string
	required bool
	secret   bool
	computed bool
	kept     bool // no struct has it: see avi.go
	usual    any  // Avi's default, if the field is kept
	unread   bool // a struct has it, but it has no function in some kind: see Unread
}

type shape int

const (
	boolean shape = iota
	whole
	real
	text
	list
	object
)

// records has each struct that was described. It is written while the program starts, and only read afterwards.
var records = map[reflect.Type]*record{}

func describe(t reflect.Type, depth int) *record {
	if known, ok := records[t]; ok {
		return known
	}
	if depth > maxDepth {
		panic(fmt.Sprintf("schema: %s contains itself", t))
	}
	r := &record{byName: map[string]*field{}, goType: t}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		described := describeField(f, depth)
		r.fields = append(r.fields, described)
		r.byName[described.name] = described
	}
	if c, ok := reflect.New(t).Interface().(completed); ok {
		r.complete = c.Complete
	}
	if s, ok := reflect.New(t).Interface().(switched); ok {
		r.switchedOff = s.SwitchedOff
	}
	if i, ok := reflect.New(t).Interface().(identified); ok {
		r.identity = i.ListKey
	}
	records[t] = r
	return r
}

func describeField(f reflect.StructField, depth int) *field {
	d := typed(f.Type, depth)
	d.name = f.Tag.Get("json")
	d.index = f.Index
	d.required = f.Tag.Get("required") == "true"
	d.secret = f.Tag.Get("secret") == "true"
	d.computed = f.Tag.Get("computed") == "true"
	leaf := d
	if d.shape == list {
		leaf = d.element
		d.items = number(f.Tag, "items", maxItems)
	}
	leaf.ref = f.Tag.Get("ref")
	leaf.low = int64(number(f.Tag, "min", int(leaf.low)))
	leaf.high = int64(number(f.Tag, "max", int(leaf.high)))
	if also, ok := f.Tag.Lookup("also"); ok {
		value, err := strconv.ParseInt(also, 10, 64)
		must(f.Name, err)
		leaf.also = &value
	}
	if name := f.Tag.Get("enum"); name != "" {
		if leaf.enum = enums[name]; leaf.enum == nil {
			panic(fmt.Sprintf("schema: %s is a %s, which is no Enum", f.Name, name))
		}
	}
	if tag, ok := f.Tag.Lookup("default"); ok {
		d.fallback = parseDefault(d, tag)
	}
	return d
}

// typed returns what the Go type alone says about a field.
func typed(t reflect.Type, depth int) *field {
	switch t.Kind() {
	case reflect.Bool:
		return &field{shape: boolean}
	case reflect.Int32:
		return &field{shape: whole, low: math.MinInt32, high: math.MaxInt32}
	case reflect.Uint32:
		return &field{shape: whole, low: 0, high: math.MaxUint32}
	case reflect.Uint64:
		return &field{shape: whole, low: 0, high: math.MaxInt64}
	case reflect.Int64:
		return &field{shape: whole, low: math.MinInt64, high: math.MaxInt64}
	case reflect.Float64:
		return &field{shape: real}
	case reflect.String:
		return &field{shape: text}
	case reflect.Slice:
		return &field{shape: list, element: typed(t.Elem(), depth)}
	case reflect.Pointer:
		return typed(t.Elem(), depth)
	case reflect.Struct:
		return &field{shape: object, record: describe(t, depth+1)}
	}
	panic(fmt.Sprintf("schema: no field can be a %s", t))
}

func number(tag reflect.StructTag, name string, otherwise int) int {
	value, ok := tag.Lookup(name)
	if !ok {
		return otherwise
	}
	parsed, err := strconv.Atoi(value)
	must(name, err)
	return parsed
}

// parseDefault reads a default as if a client had sent it, so that the rules of the field apply to it.
func parseDefault(f *field, tag string) any {
	var raw any = tag
	if f.shape == list || f.shape == object {
		decoder := json.NewDecoder(strings.NewReader(tag))
		decoder.UseNumber()
		must(f.name, decoder.Decode(&raw))
	}
	if f.ref != "" {
		return "/api/" + f.ref + "?name=" + tag
	}
	value, problem := f.accept(raw, &path{name: f.name})
	if problem != nil {
		panic(fmt.Sprintf("schema: default of %s: %s", problem.Field, problem.Problem))
	}
	return value
}

func must(what string, err error) {
	if err != nil {
		panic(fmt.Sprintf("schema: %s: %v", what, err))
	}
}
