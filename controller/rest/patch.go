package rest

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// edits is a PATCH: any of add, replace, delete and json_patch, done in this order.
type edits struct {
	kind    string
	add     schema.Object
	replace schema.Object
	remove  schema.Object
	steps   []step
	unknown []string // parts that do not exist
}

// step is one operation of RFC 6902.
type step struct {
	op, path, from string
	value          any
}

const maxSteps = 1000

func parsePatch(kind string, sent schema.Object) (*edits, error) {
	e := &edits{kind: kind}
	parts := map[string]*schema.Object{"add": &e.add, "replace": &e.replace, "delete": &e.remove}
	for name, value := range sent {
		if name == "json_patch" {
			if err := e.parseSteps(value); err != nil {
				return nil, err
			}
			continue
		}
		part, known := parts[name]
		if !known {
			e.unknown = append(e.unknown, name) // dropped with a warning, like any unknown field
			continue
		}
		object, ok := value.(schema.Object)
		if !ok {
			return nil, e.refuse(name, "must be an object")
		}
		*part = object
	}
	slices.Sort(e.unknown)
	if e.add == nil && e.replace == nil && e.remove == nil && e.steps == nil {
		return nil, e.refuse("", "a patch needs add, replace, delete or json_patch")
	}
	return e, nil
}

func (e *edits) parseSteps(value any) error {
	items, ok := value.([]any)
	if !ok || len(items) > maxSteps {
		return e.refuse("json_patch", "must be a list of at most %d operations", maxSteps)
	}
	e.steps = []step{}
	for i, item := range items {
		object, ok := item.(schema.Object)
		if !ok {
			return e.refuse(fmt.Sprintf("json_patch[%d]", i), "must be an object with op and path")
		}
		op, _ := object["op"].(string)
		path, _ := object["path"].(string)
		from, _ := object["from"].(string)
		e.steps = append(e.steps, step{op, path, from, object["value"]})
	}
	return nil
}

// apply changes an object in place and returns it. The object shares nothing with the patch, so the patch can be
// applied again.
func (e *edits) apply(object schema.Object) (schema.Object, error) {
	for name, value := range schema.Clone(e.add) {
		object[name] = added(object[name], value)
	}
	for name, value := range schema.Clone(e.replace) {
		object[name] = value
	}
	for name, value := range e.remove {
		if left, keep := without(object[name], value); keep {
			object[name] = left
		} else {
			delete(object, name)
		}
	}
	var root any = object
	copies := maxCopies
	for i, s := range e.steps {
		var err error
		if root, err = s.apply(root, &copies); err != nil {
			return nil, e.refuse(fmt.Sprintf("json_patch[%d]", i), "%v", err)
		}
	}
	object, ok := root.(schema.Object)
	if !ok {
		return nil, e.refuse("json_patch", "leaves no object")
	}
	return object, nil
}

func (e *edits) refuse(field, problem string, args ...any) error {
	return &schema.FieldError{Kind: e.kind, Field: field, Problem: fmt.Sprintf(problem, args...)}
}

// added appends to a list, merges into an object, and replaces anything else.
func added(was, value any) any {
	switch more := value.(type) {
	case []any:
		if list, ok := was.([]any); ok {
			return append(slices.Clone(list), more...)
		}
	case schema.Object:
		if object, ok := was.(schema.Object); ok {
			for name, inner := range more {
				object[name] = inner
			}
			return object
		}
	}
	return value
}

// without removes matching items from a list. It removes any other value as a whole.
func without(was, value any) (left any, keep bool) {
	list, ok := was.([]any)
	unwanted, listed := value.([]any)
	if !ok || !listed {
		return nil, false
	}
	return slices.DeleteFunc(slices.Clone(list), func(item any) bool {
		return slices.ContainsFunc(unwanted, func(pattern any) bool { return matches(item, pattern) })
	}), true
}

// matches tells whether an item has everything that the pattern has: {"ip": {"addr": "10.0.0.1"}} matches that server.
// References match in any form that ends in the same uuid.
func matches(item, pattern any) bool {
	switch p := pattern.(type) {
	case schema.Object:
		object, ok := item.(schema.Object)
		if !ok {
			return false
		}
		for name, value := range p {
			if !matches(object[name], value) {
				return false
			}
		}
		return true
	case []any:
		return reflect.DeepEqual(item, pattern)
	}
	return text(item) == text(pattern) || sameReference(text(item), text(pattern))
}

func sameReference(stored, sent string) bool {
	sent, _, _ = strings.Cut(sent, "#")
	return strings.HasPrefix(stored, "/api/") && strings.HasSuffix(sent, stored)
}

// index reads a position in a list as RFC 6901 writes it: digits without a leading zero.
func index(token string, length int) (int, error) {
	i, err := strconv.Atoi(token)
	if err != nil || strconv.Itoa(i) != token || i < 0 || i >= length {
		return 0, fmt.Errorf("there is no item %q in a list of %d", token, length)
	}
	return i, nil
}
