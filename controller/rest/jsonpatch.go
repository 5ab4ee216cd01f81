package rest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

const maxCopies = 100_000

// apply does one operation of RFC 6902 on a document, and returns the new document.
func (s step) apply(root any, copies *int) (any, error) {
	path, err := pointer(s.path)
	if err != nil {
		return nil, err
	}
	value := schema.Clone(schema.Object{"": s.value})[""]
	switch s.op {
	case "add":
		return put(root, path, value, true)
	case "replace":
		return put(root, path, value, false)
	case "remove":
		return take(root, path)
	case "move", "copy":
		return s.transfer(root, path, copies)
	case "test":
		found, err := at(root, path)
		if err == nil && !reflect.DeepEqual(found, value) && text(found) != text(value) {
			err = fmt.Errorf("%s is not what the test expects", s.path)
		}
		return root, err
	}
	return nil, fmt.Errorf("unknown op %q: give add, remove, replace, move, copy or test", s.op)
}

// transfer moves or copies a value. copies is how many more values may be copied: a few copies of copies would fill the
// memory.
func (s step) transfer(root any, path []string, copies *int) (any, error) {
	from, err := pointer(s.from)
	if err != nil {
		return nil, err
	}
	value, err := at(root, from)
	if err != nil {
		return nil, err
	}
	if s.op == "move" {
		if root, err = take(root, from); err != nil {
			return nil, err
		}
		return put(root, path, value, true)
	}
	if *copies -= size(value); *copies < 0 {
		return nil, fmt.Errorf("the patch copies more than %d values", maxCopies)
	}
	value = schema.Clone(schema.Object{"": value})[""]
	return put(root, path, value, true)
}

// size counts the values in a value.
func size(value any) int {
	count := 1
	switch v := value.(type) {
	case schema.Object:
		for _, inner := range v {
			count += size(inner)
		}
	case []any:
		for _, inner := range v {
			count += size(inner)
		}
	}
	return count
}

// pointer splits "/servers/0/ip" (RFC 6901).
func pointer(path string) ([]string, error) {
	if path == "" {
		return nil, errors.New("the path is empty; it must name a field")
	}
	if path[0] != '/' {
		return nil, fmt.Errorf("path %q does not begin with /", path)
	}
	tokens := strings.Split(path[1:], "/")
	for i := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(tokens[i], "~1", "/"), "~0", "~")
	}
	return tokens, nil
}

// at returns the value at a path.
func at(value any, path []string) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	inner, err := child(value, path[0])
	if err != nil {
		return nil, err
	}
	return at(inner, path[1:])
}

func child(value any, token string) (any, error) {
	switch v := value.(type) {
	case schema.Object:
		if inner, ok := v[token]; ok {
			return inner, nil
		}
		return nil, fmt.Errorf("there is no field %q", token)
	case []any:
		i, err := index(token, len(v))
		if err != nil {
			return nil, err
		}
		return v[i], nil
	}
	return nil, fmt.Errorf("there is nothing below which %q could be", token)
}

// put sets the value at a path. With insert, it inserts into a list or creates a field; otherwise the value must exist.
func put(value any, path []string, leaf any, insert bool) (any, error) {
	if len(path) > 1 {
		return within(value, path, func(inner any) (any, error) { return put(inner, path[1:], leaf, insert) })
	}
	if list, ok := value.([]any); ok && insert {
		return inserted(list, path[0], leaf)
	}
	if object, ok := value.(schema.Object); ok && insert {
		object[path[0]] = leaf
		return object, nil
	}
	return within(value, path, func(any) (any, error) { return leaf, nil })
}

func inserted(list []any, token string, leaf any) (any, error) {
	if token == "-" {
		return append(slices.Clone(list), leaf), nil
	}
	i, err := index(token, len(list)+1)
	if err != nil {
		return nil, err
	}
	return slices.Insert(slices.Clone(list), i, leaf), nil
}

// take removes the value at a path.
func take(value any, path []string) (any, error) {
	if len(path) > 1 {
		return within(value, path, func(inner any) (any, error) { return take(inner, path[1:]) })
	}
	if _, err := child(value, path[0]); err != nil {
		return nil, err
	}
	if list, ok := value.([]any); ok {
		i, err := index(path[0], len(list))
		if err != nil {
			return nil, err
		}
		return slices.Delete(slices.Clone(list), i, i+1), nil
	}
	delete(value.(schema.Object), path[0])
	return value, nil
}

// within replaces the child that the path begins with by what change returns for it.
func within(value any, path []string, change func(any) (any, error)) (any, error) {
	inner, err := child(value, path[0])
	if err != nil {
		return nil, err
	}
	changed, err := change(inner)
	if err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case schema.Object:
		v[path[0]] = changed
	case []any:
		i, err := index(path[0], len(v))
		if err != nil {
			return nil, err
		}
		v[i] = changed
	}
	return value, nil
}
