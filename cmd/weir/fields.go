package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/weir-lb/weir/client"
)

// fieldStep is one step of a path such as servers[0].ip.addr: a name or an index.
var fieldStep = regexp.MustCompile(`^(?:\.?([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]+)\])`)

const indexMax = 4096

// setField puts value at a path of the object, making what is missing on the way.
func setField(object client.Object, path, value string) error {
	steps, err := splitPath(path)
	if err != nil {
		return err
	}
	_, err = put(map[string]any(object), steps, parseValue(value))
	return err
}

func splitPath(path string) ([]any, error) {
	var steps []any
	for rest := path; rest != ""; {
		match := fieldStep.FindStringSubmatch(rest)
		if match == nil {
			return nil, fmt.Errorf("field %q is not a path like servers[0].port", path)
		}
		if match[1] != "" {
			steps = append(steps, match[1])
		} else {
			index, err := strconv.Atoi(match[2])
			if err != nil || index > indexMax {
				return nil, fmt.Errorf("index %s in %q is more than %d", match[2], path, indexMax)
			}
			steps = append(steps, index)
		}
		rest = rest[len(match[0]):]
	}
	if len(steps) == 0 {
		return nil, errors.New("the field before = has no name")
	}
	if _, startsWithName := steps[0].(string); !startsWithName {
		return nil, fmt.Errorf("field %q begins with an index", path)
	}
	return steps, nil
}

// put returns node with value at the end of steps.
func put(node any, steps []any, value any) (any, error) {
	if len(steps) == 0 {
		return value, nil
	}
	switch step := steps[0].(type) {
	case string:
		object, isObject := node.(map[string]any)
		if node == nil {
			object, isObject = map[string]any{}, true
		}
		if !isObject {
			return nil, fmt.Errorf("%s: not inside an object", step)
		}
		child, err := put(object[step], steps[1:], value)
		object[step] = child
		return object, err
	case int:
		list, isList := node.([]any)
		if node != nil && !isList {
			return nil, fmt.Errorf("[%d]: not a list", step)
		}
		for len(list) <= step {
			list = append(list, nil)
		}
		child, err := put(list[step], steps[1:], value)
		list[step] = child
		return list, err
	}
	return nil, fmt.Errorf("unknown step %v", steps[0])
}

// parseValue takes JSON as JSON and anything else as text.
func parseValue(text string) any {
	var value any
	if json.Unmarshal([]byte(text), &value) == nil {
		return value
	}
	return text
}
