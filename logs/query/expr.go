package query

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/logs/text"
)

// Op compares a field with a value.
type Op string

// Operators. A field that a row does not have is empty.
const (
	Eq          Op = "eq"
	Ne          Op = "ne" // not Eq
	Contains    Op = "co"
	NotContains Op = "nc" // not Contains
	StartsWith  Op = "sw"
	Lt          Op = "lt" // Lt to Ge: of numbers. A row without the field does not match
	Le          Op = "le"
	Gt          Op = "gt"
	Ge          Op = "ge"
	// Has: one of the words is it. Eq of a field of kind Words becomes it when it is checked; Parse refuses it.
	Has Op = "has"
	// Among: one of the names is it. Eq of a field of kind Names becomes it, as with Has.
	Among Op = "among"
)

// AnyField stands for all text fields of a type, with Contains, NotContains and Eq, Ne, StartsWith.
const AnyField = "all"

// Limits of an expression.
const (
	maxDepth      = 16
	maxNodes      = 1024
	maxValueBytes = 4 << 10
)

// Expr is a condition. Exactly one of its four forms is set: And, Or, Not, or Field with Op and Value.
type Expr struct {
	And []Expr `json:"and,omitempty"`
	Or  []Expr `json:"or,omitempty"`
	Not *Expr  `json:"not,omitempty"`

	Field string `json:"field,omitempty"`
	Op    Op     `json:"op,omitempty"`
	Value string `json:"value,omitempty"` // as text.Encode writes it
}

// Compare is the condition that a field compares with a value, which may be any bytes.
func Compare(field string, op Op, value string) Expr {
	return Expr{Field: field, Op: op, Value: text.Encode(value)}
}

// All is the condition that each of some conditions holds. None: it always holds.
func All(of ...Expr) *Expr {
	switch len(of) {
	case 0:
		return nil
	case 1:
		return &of[0]
	}
	return &Expr{And: of}
}

// Checked returns the condition on records of a type in the form that Compile and Match take, or what is wrong with it.
func (e Expr) Checked(kind string) (Expr, error) { return (&checker{fields: Types[kind]}).check(e, 0) }

// checker counts what it has seen of an expression.
type checker struct {
	fields Fields
	nodes  int
}

// check returns the expression with AnyField spelt out and numbers in one form, or what is wrong with it.
func (c *checker) check(e Expr, depth int) (Expr, error) {
	if c.nodes++; c.nodes > maxNodes || depth > maxDepth {
		return e, &Error{"filter", fmt.Sprintf("it has more than %d conditions, or %d levels", maxNodes, maxDepth)}
	}
	forms := 0
	for _, is := range []bool{len(e.And) > 0, len(e.Or) > 0, e.Not != nil, e.Field != ""} {
		if is {
			forms++
		}
	}
	if forms != 1 {
		return e, &Error{"filter", "a condition is one of and, or, not, or a field with an operator"}
	}
	if e.Field != "" {
		return c.comparison(e, depth)
	}
	var err error
	if e.And, err = c.each(e.And, depth); err != nil {
		return e, err
	}
	if e.Or, err = c.each(e.Or, depth); err != nil || e.Not == nil {
		return e, err
	}
	inner, err := c.check(*e.Not, depth+1)
	return Expr{Not: &inner}, err
}

func (c *checker) each(of []Expr, depth int) ([]Expr, error) {
	var checked []Expr
	for _, e := range of {
		one, err := c.check(e, depth+1)
		if err != nil {
			return nil, err
		}
		checked = append(checked, one)
	}
	return checked, nil
}

func (c *checker) comparison(e Expr, depth int) (Expr, error) {
	if len(e.Value) > maxValueBytes {
		return e, &Error{"filter", fmt.Sprintf("the value has %d bytes, more than %d", len(e.Value), maxValueBytes)}
	}
	e.Value = text.Encode(text.Decode(e.Value)) // the one way to write these bytes
	switch e.Op {
	case Ne, NotContains:
		positive := map[Op]Op{Ne: Eq, NotContains: Contains}[e.Op]
		inner, err := c.check(Expr{Field: e.Field, Op: positive, Value: e.Value}, depth+1)
		return Expr{Not: &inner}, err
	case Eq, Contains, StartsWith, Lt, Le, Gt, Ge, Has, Among:
	default:
		return e, noOperator(e.Op)
	}
	if e.Field == AnyField {
		return c.anyField(e, depth)
	}
	kind, known := c.fields[e.Field]
	switch {
	case !known:
		return e, &Error{"filter", fmt.Sprintf("there is no field %q: there are %s", e.Field, c.fields.names())}
	case kind == Number && (e.Op == Contains || e.Op == StartsWith):
		return e, &Error{"filter", fmt.Sprintf("field %s is a number: use eq, ne, lt, le, gt or ge", e.Field)}
	case kind == Number:
		number, err := strconv.ParseFloat(e.Value, 64)
		if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
			return e, &Error{"filter", fmt.Sprintf("field %s is a number, and %q is none", e.Field, e.Value)}
		}
		e.Value = FormatNumber(number)
	case kind == Boolean && e.Op != Eq || kind == Boolean && e.Value != True && e.Value != "false" && e.Value != "":
		return e, &Error{"filter", fmt.Sprintf("field %s is true or false: use eq or ne", e.Field)}
	case kind == Boolean && e.Value == "false":
		e.Value = ""
	case e.Op == Has && kind != Words:
		return e, &Error{"filter", fmt.Sprintf("field %s has no words: use eq", e.Field)}
	case e.Op == Has && (e.Value == "" || strings.ContainsAny(e.Value, " \t")):
		return e, &Error{"filter", fmt.Sprintf("%q is not one word of field %s", e.Value, e.Field)}
	case kind == Words && e.Op == Eq && e.Value != "" && !strings.ContainsAny(e.Value, " \t"):
		e.Op = Has
	case e.Op == Among && (kind != Names || e.Value == "" || strings.Contains(e.Value, NameSeparator)):
		return e, &Error{"filter", fmt.Sprintf("field %s has no name %q: use eq", e.Field, e.Value)}
	case kind == Names && e.Op == Eq && e.Value != "" && !strings.Contains(e.Value, NameSeparator):
		e.Op = Among
	case e.Op == Lt || e.Op == Le || e.Op == Gt || e.Op == Ge:
		return e, &Error{"filter", fmt.Sprintf("field %s is text: use eq, ne, co, nc or sw", e.Field)}
	}
	return e, nil
}

func noOperator(op Op) error {
	return &Error{"filter", fmt.Sprintf("there is no operator %q: use eq, ne, co, nc, sw, lt, le, gt or ge", op)}
}

func (c *checker) anyField(e Expr, depth int) (Expr, error) {
	var fields []Expr
	for _, name := range c.fields.sorted() {
		if kind := c.fields[name]; kind == Text || kind == Words || kind == Names {
			fields = append(fields, Expr{Field: name, Op: e.Op, Value: e.Value})
		}
	}
	return c.check(Expr{Or: fields}, depth+1)
}

// FormatNumber writes a number in the one form that rows hold: decimal, without an exponent.
func FormatNumber(number float64) string {
	if number == 0 {
		return "0" // not "-0"
	}
	return strconv.FormatFloat(number, 'f', -1, 64)
}

// Match evaluates a checked expression over one row. value returns a field of the row as text.Encode writes it.
func (e *Expr) Match(value func(field string) string) bool {
	switch {
	case e == nil:
		return true
	case e.Not != nil:
		return !e.Not.Match(value)
	case len(e.And) > 0:
		for i := range e.And {
			if !e.And[i].Match(value) {
				return false
			}
		}
		return true
	case len(e.Or) > 0:
		for i := range e.Or {
			if e.Or[i].Match(value) {
				return true
			}
		}
		return false
	}
	return e.Op.holds(value(e.Field), e.Value)
}

// EachField names the fields that a checked expression compares.
func (e *Expr) EachField(name func(string)) {
	switch {
	case e == nil:
	case e.Not != nil:
		e.Not.EachField(name)
	case e.Field != "":
		name(e.Field)
	default:
		for i := range e.And {
			e.And[i].EachField(name)
		}
		for i := range e.Or {
			e.Or[i].EachField(name)
		}
	}
}

func (o Op) holds(found, wanted string) bool {
	switch o {
	case Eq:
		return found == wanted
	case Contains:
		return strings.Contains(found, wanted)
	case StartsWith:
		return strings.HasPrefix(found, wanted)
	case Has:
		return slices.Contains(strings.Split(found, " "), wanted)
	case Among:
		return slices.Contains(strings.Split(found, NameSeparator), wanted)
	}
	x, err := strconv.ParseFloat(found, 64)
	y, wrong := strconv.ParseFloat(wanted, 64)
	if err != nil || wrong != nil {
		return false
	}
	switch o {
	case Lt:
		return x < y
	case Le:
		return x <= y
	case Gt:
		return x > y
	}
	return x >= y
}
