package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// maxNesting bounds how deep objects and lists in a body are nested. No kind needs as much.
const maxNesting = 32

// Parse reads the JSON object in the body of a write, without its kind. An edit of a stored object uses the result.
// Numbers stay text. The error is a *FieldError.
func Parse(kind string, body []byte) (Object, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, badBody(kind, "is not JSON: %v", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, badBody(kind, "goes on after its JSON object")
	}
	o, ok := value.(Object)
	if !ok {
		return nil, badBody(kind, "is not a JSON object")
	}
	if deeper(o, maxNesting) {
		return nil, badBody(kind, "is nested deeper than %d levels", maxNesting)
	}
	return o, nil
}

func badBody(kind, problem string, args ...any) error {
	return &FieldError{Kind: kind, Problem: "the body " + fmt.Sprintf(problem, args...)}
}

func deeper(value any, levels int) bool {
	if levels == 0 {
		return true
	}
	switch v := value.(type) {
	case Object:
		for _, inner := range v {
			if deeper(inner, levels-1) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if deeper(inner, levels-1) {
				return true
			}
		}
	}
	return false
}
