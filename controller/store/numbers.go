package store

import (
	"encoding/json"
	"strconv"
)

// markReals copies a value so that its JSON distinguishes the two types of number: a float64 is written with an
// exponent, an int64 without.
func markReals(value any) any {
	switch v := value.(type) {
	case float64:
		return json.Number(strconv.FormatFloat(v, 'e', -1, 64))
	case map[string]any:
		marked := make(map[string]any, len(v))
		for name := range v {
			marked[name] = markReals(v[name])
		}
		return marked
	case []any:
		marked := make([]any, len(v))
		for i := range v {
			marked[i] = markReals(v[i])
		}
		return marked
	}
	return value
}
