// Package query is what can be asked of the record store: a condition on fields, a range of time, and one of five kinds
// of answer. It is a tree of values, and never text in a language of queries: what a user typed is always a value. It
// does no I/O. The record store compiles it, and Expr.Match evaluates it over rows in memory.
package query

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Limits of a query.
const (
	MaxRows        = 10_000
	maxOffset      = 100_000
	maxGroups      = 10_000
	maxBuckets     = 10_000
	maxBy          = 8
	maxAggregates  = 16
	DefaultTimeout = 5 * time.Second
	MaxTimeout     = 60 * time.Second
)

// Error says which part of a query is wrong, and why.
type Error struct{ Part, Problem string }

func (e *Error) Error() string { return e.Part + ": " + e.Problem }

// Query asks for rows of one type. Exactly one of Rows, Groups, Histogram, Values and Facets is set.
type Query struct {
	Type    string        `json:"type"`
	Scope   Scope         `json:"scope"`
	From    time.Time     `json:"from"` // inclusive
	To      time.Time     `json:"to"`   // exclusive
	Where   *Expr         `json:"where,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"` // 0: DefaultTimeout

	Rows      *Rows      `json:"rows,omitempty"`
	Groups    *Groups    `json:"groups,omitempty"`
	Histogram *Histogram `json:"histogram,omitempty"`
	Values    *Values    `json:"values,omitempty"`
	Facets    *Facets    `json:"facets,omitempty"`
}

// Scope is who asks. It is no part of the condition, so that no condition can leave it.
type Scope struct {
	All    bool   `json:"all,omitempty"`    // sees the rows of all tenants
	Tenant string `json:"tenant,omitempty"` // uuid; sees its own rows, and those for everyone
}

// Rows asks for the rows themselves.
type Rows struct {
	OrderBy string `json:"order_by,omitempty"` // a field; empty: the time
	Oldest  bool   `json:"oldest,omitempty"`   // ascending: the oldest or smallest first
	Offset  int    `json:"offset,omitempty"`
	Limit   int    `json:"limit"`
	Count   bool   `json:"count,omitempty"` // also count all rows that match, and add up their weights
}

// Groups asks for one line for each combination of values. Without fields, all rows are one group.
type Groups struct {
	By         []string    `json:"by"`
	Aggregates []Aggregate `json:"aggregates,omitempty"` // besides the number of rows
	OrderBy    int         `json:"order_by,omitempty"`   // 0: number of rows; n: the n-th aggregate
	Ascending  bool        `json:"ascending,omitempty"`
	Offset     int         `json:"offset,omitempty"`
	Limit      int         `json:"limit"`
}

// Aggregate is a number made of a field of all rows of a group.
type Aggregate struct {
	Function string  `json:"function"` // sum, avg, min, max, quantile
	Field    string  `json:"field"`
	Phi      float64 `json:"phi,omitempty"` // of a quantile: 0 to 1
}

// Histogram asks for the number of rows in each step of time, and for each combination of values. Steps begin at
// multiples of the step since 1970.
type Histogram struct {
	Step       time.Duration `json:"step"`
	By         []string      `json:"by,omitempty"`
	Aggregates []Aggregate   `json:"aggregates,omitempty"` // besides the number of rows
}

// Values asks for the values of a field that begin with a text, the most frequent first.
type Values struct {
	Field  string `json:"field"`
	Prefix string `json:"prefix,omitempty"`
	Limit  int    `json:"limit"`
}

// Check returns the query with its condition in the form that Compile and Match take, or what is wrong with it.
func (q Query) Check() (Query, error) {
	fields, known := Types[q.Type]
	if !known {
		return q, &Error{"type", fmt.Sprintf("there are no records of type %q", q.Type)}
	}
	if !q.Scope.All && q.Scope.Tenant == "" {
		return q, &Error{"scope", "it names no tenant"}
	}
	if !q.From.Before(q.To) || q.From.Before(earliest) || q.To.After(latest) {
		return q, &Error{"time", fmt.Sprintf("the range from %s to %s is empty, or beyond the years 1970 to 2200",
			q.From.Format(time.RFC3339), q.To.Format(time.RFC3339))}
	}
	if q.Timeout == 0 {
		q.Timeout = DefaultTimeout
	}
	if q.Timeout < 0 || q.Timeout > MaxTimeout {
		return q, &Error{"timeout", fmt.Sprintf("give at most %v", MaxTimeout)}
	}
	if q.Where != nil {
		checked, err := q.Where.Checked(q.Type)
		if err != nil {
			return q, err
		}
		q.Where = &checked
	}
	return q, q.checkAnswer(fields)
}

var (
	earliest = time.Unix(0, 0)
	latest   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

func (q Query) checkAnswer(fields Fields) error {
	asked := 0
	var err error
	if q.Rows != nil {
		asked, err = asked+1, q.Rows.check(fields)
	}
	if q.Groups != nil {
		asked, err = asked+1, q.Groups.check(fields)
	}
	if q.Histogram != nil {
		asked, err = asked+1, q.Histogram.check(fields, q.To.Sub(q.From))
	}
	if q.Values != nil {
		asked, err = asked+1, q.Values.check(fields)
	}
	if q.Facets != nil {
		asked, err = asked+1, q.Facets.check(fields)
	}
	if asked != 1 {
		return &Error{"query", "ask for one of rows, groups, histogram, values and facets"}
	}
	return err
}

func (r Rows) check(fields Fields) error {
	if r.OrderBy != "" {
		if err := fields.has("orderby", r.OrderBy); err != nil {
			return err
		}
	}
	return within("rows", r.Offset, r.Limit, MaxRows)
}

func (g Groups) check(fields Fields) error {
	if len(g.By) == 0 && len(g.Aggregates) == 0 {
		return &Error{"groupby", fmt.Sprintf("give 1 to %d fields", maxBy)}
	}
	if err := fields.haveGroups(g.By, g.Aggregates); err != nil {
		return err
	}
	if g.OrderBy < 0 || g.OrderBy > len(g.Aggregates) {
		return &Error{"orderby", "it names no column"}
	}
	return within("groups", g.Offset, g.Limit, maxGroups)
}

// haveGroups checks by what rows are grouped, and what is made of the groups.
func (f Fields) haveGroups(by []string, aggregates []Aggregate) error {
	if len(by) > maxBy {
		return &Error{"groupby", fmt.Sprintf("give at most %d fields", maxBy)}
	}
	for _, name := range by {
		if err := f.has("groupby", name); err != nil {
			return err
		}
	}
	if len(aggregates) > maxAggregates {
		return &Error{"cols", fmt.Sprintf("give at most %d", maxAggregates)}
	}
	for _, a := range aggregates {
		if err := a.check(f); err != nil {
			return err
		}
	}
	return nil
}

func (a Aggregate) check(fields Fields) error {
	if !slices.Contains([]string{"sum", "avg", "min", "max", "quantile"}, a.Function) {
		return &Error{"cols", fmt.Sprintf("there is no function %q: use sum, avg, min, max or quantile", a.Function)}
	}
	if err := fields.has("cols", a.Field); err != nil {
		return err
	}
	if fields[a.Field] != Number {
		return &Error{"cols", fmt.Sprintf("field %s is no number", a.Field)}
	}
	if a.Phi < 0 || a.Phi > 1 || a.Phi != a.Phi {
		return &Error{"cols", "a quantile is between 0 and 1"}
	}
	return nil
}

func (h Histogram) check(fields Fields, span time.Duration) error {
	if err := fields.haveGroups(h.By, h.Aggregates); err != nil {
		return err
	}
	if h.Step < time.Second {
		return &Error{"step", "give at least one second"}
	}
	if buckets := int64(span/h.Step) + 2; buckets > maxBuckets {
		return &Error{"step", fmt.Sprintf("the range has %d steps, more than %d: give a longer step or a shorter range",
			buckets, maxBuckets)}
	}
	return nil
}

func (v Values) check(fields Fields) error {
	if len(v.Prefix) > maxValueBytes {
		return &Error{"values", fmt.Sprintf("the text has %d bytes, more than %d", len(v.Prefix), maxValueBytes)}
	}
	if err := fields.has("values", v.Field); err != nil {
		return err
	}
	return within("values", 0, v.Limit, maxGroups)
}

func within(what string, offset, limit, most int) error {
	if limit < 1 || limit > most {
		return &Error{what, fmt.Sprintf("give a limit of 1 to %d", most)}
	}
	if offset < 0 || offset > maxOffset {
		return &Error{what, fmt.Sprintf(
			"at most the first %d can be read page by page: ask for a shorter range of time",
			maxOffset)}
	}
	return nil
}

// Kind is what the values of a field are.
type Kind int

const (
	Text    Kind = iota
	Number       // decimal, as FormatNumber writes it
	Boolean      // True, or no value
	Words        // text with blanks between its words; equal to each of them
	Names        // text with NameSeparator between its names; equal to each of them
)

// NameSeparator stands between names.
const NameSeparator = ", "

// True is the value of a field of kind Boolean. Those that are false have no value.
const True = "true"

// Fields are the fields of a type of records.
type Fields map[string]Kind

func (f Fields) has(part, name string) error {
	if _, known := f[name]; !known {
		return &Error{part, fmt.Sprintf("there is no field %q: there are %s", name, f.names())}
	}
	return nil
}

func (f Fields) sorted() []string { return slices.Sorted(maps.Keys(f)) }
func (f Fields) names() string    { return strings.Join(f.sorted(), ", ") }
