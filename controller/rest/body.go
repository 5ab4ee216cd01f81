package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/weir-lb/weir/controller/schema"
)

// maxDepth bounds the nesting of a body; no kind comes near it.
const maxDepth = 32

// parseObject reads one JSON object; numbers stay digits until the kind says what they are.
func parseObject(kind string, body []byte) (schema.Object, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, badBody(kind, "is not JSON: %v", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, badBody(kind, "goes on after its JSON object")
	}
	object, ok := value.(schema.Object)
	if !ok {
		return nil, badBody(kind, "is not a JSON object")
	}
	if deeper(object, maxDepth) {
		return nil, badBody(kind, "is nested deeper than %d levels", maxDepth)
	}
	return object, nil
}

func badBody(kind, problem string, args ...any) error {
	return &schema.FieldError{Kind: kind, Problem: "the body " + fmt.Sprintf(problem, args...)}
}

func deeper(value any, depth int) bool {
	if depth == 0 {
		return true
	}
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			if deeper(inner, depth-1) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if deeper(inner, depth-1) {
				return true
			}
		}
	}
	return false
}
