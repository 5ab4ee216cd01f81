package query

import (
	"fmt"
	"slices"
)

// MaxFacets is how many fields one question can have facets of.
const MaxFacets = 16

// Facets asks for the most frequent values of several fields, with one reading of the rows. Rows count by their weight,
// if they have one. Those that do not have the field count as the empty value.
type Facets struct {
	Fields []string `json:"fields"`
	Limit  int      `json:"limit"` // of each field
}

// Facet is what was found of one field.
type Facet struct {
	Field  string  `json:"field"`
	Values []Value `json:"values,omitempty"` // the most frequent first
	// TooMany says that the field has more values than can be counted at once: none of them are here.
	TooMany bool `json:"too_many,omitempty"`
}

// Value is one value of a field, and the rows that have it.
type Value struct {
	Value  string `json:"value"`
	Rows   uint64 `json:"rows"`
	Weight uint64 `json:"weight"` // the same as Rows, if rows have no weights
}

func (f Facets) check(fields Fields) error {
	if len(f.Fields) == 0 || len(f.Fields) > MaxFacets {
		return &Error{"facets", fmt.Sprintf("give 1 to %d fields", MaxFacets)}
	}
	for n, name := range f.Fields {
		if err := fields.has("facets", name); err != nil {
			return err
		}
		if slices.Contains(f.Fields[:n], name) {
			return &Error{"facets", fmt.Sprintf("field %s is there twice", name)}
		}
	}
	return within("facets", 0, f.Limit, maxGroups)
}
