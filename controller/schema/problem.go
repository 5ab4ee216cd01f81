package schema

import "fmt"

// FieldError says what is wrong with one field of an object. The client that sent the object caused the error.
type FieldError struct {
	Kind    string // "pool"
	Field   string // "servers[0].port"; empty: the object as a whole
	Problem string // "70000 is out of range; give 1 to 65535"
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%s: %s", e.Kind, e.Problem)
	}
	return fmt.Sprintf("%s: %s: %s", e.Kind, e.Field, e.Problem)
}

// Warning says what has no effect in a write that was accepted.
type Warning struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}
