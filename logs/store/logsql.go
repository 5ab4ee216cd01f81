package store

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

// This file writes queries in LogsQL, the language of the storage. A value of a user only ever comes into the text
// through quote.

// quote writes a text as a string of LogsQL. The string consists of ASCII letters, digits, and \x with two hexadecimal
// digits for every other byte, between two quotes, so that no text can end it.
func quote(text string) string {
	const digits = "0123456789abcdef"
	quoted := make([]byte, 0, len(text)+2)
	quoted = append(quoted, '"')
	for i := range len(text) {
		switch b := text[i]; {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9':
			quoted = append(quoted, b)
		default:
			quoted = append(quoted, '\\', 'x', digits[b>>4], digits[b&15])
		}
	}
	return string(append(quoted, '"'))
}

// compileFilter writes the condition of a checked query, within its scope.
func compileFilter(q query.Query) string {
	// All rows have a scope. What a deletion leaves of a block in the storage is a row without any field.
	filter := quote(query.ScopeColumn) + ":*"
	if !q.Scope.All {
		filter = "(" + compare(query.ScopeColumn, query.Eq, q.Scope.Tenant) + " or " +
			compare(query.ScopeColumn, query.Eq, wire.Everyone) + ")"
	}
	if q.Where != nil {
		filter += streamFilter(q) + " and " + compileExpr(*q.Where)
	}
	return filter
}

// streamFilter names the streams that can have rows, so that the storage reads no others. The condition itself stays.
func streamFilter(q query.Query) string {
	must := q.Where.And
	if must == nil {
		must = []query.Expr{*q.Where}
	}
	var tags []string
	for _, e := range must {
		if slices.Contains(query.Streams[q.Type], e.Field) && e.Op == query.Eq && e.Value != "" {
			tags = append(tags, e.Field+"="+quote(e.Value))
		}
	}
	if tags == nil {
		return ""
	}
	return " and _stream:{" + strings.Join(tags, ", ") + "}"
}

func compileExpr(e query.Expr) string {
	switch {
	case e.Not != nil:
		return "(!" + compileExpr(*e.Not) + ")"
	case len(e.And) > 0:
		return join(e.And, " and ")
	case len(e.Or) > 0:
		return join(e.Or, " or ")
	}
	return "(" + compare(e.Field, e.Op, e.Value) + ")"
}

func join(of []query.Expr, word string) string {
	var parts []string
	for _, e := range of {
		parts = append(parts, compileExpr(e))
	}
	return "(" + strings.Join(parts, word) + ")"
}

// compare writes one comparison. An empty value is the value of a field that a row does not have.
func compare(field string, op query.Op, value string) string {
	column := quote(field) + ":"
	switch op {
	case query.StartsWith, query.Contains:
		if value == "" {
			return "*"
		}
		return column + partOf(op, value)
	case query.Has:
		return hasWord(column, value, " ")
	case query.Among:
		return hasWord(column, value, query.NameSeparator)
	case query.Lt:
		return column + "<" + quote(value)
	case query.Le:
		return column + "<=" + quote(value)
	case query.Gt:
		return column + ">" + quote(value)
	case query.Ge:
		return column + ">=" + quote(value)
	}
	return equals(column, value)
}

// equals finds a whole value. Where the storage keeps a column as numbers, it takes -0 for 0, and 7.0 for 7.
func equals(column, value string) string {
	filter := column + "=" + quote(value)
	number, err := strconv.ParseFloat(value, 64)
	if err == nil && isOfNumber(value) && query.FormatNumber(number) != value {
		filter += " and " + column + "~" + quote("^"+regexp.QuoteMeta(value)+"$")
	}
	return filter
}

// partOf finds a beginning, or a part. The storage keeps a column of numbers or addresses as such, and its filters for
// parts then take short ways that miss rows: 01 is no number, so it would not be a part of 101; 9. is greater than 9,
// so no address would begin with it. Its filter for expressions reads the values as they were, and finds a plain text
// as fast.
func partOf(op query.Op, value string) string {
	switch {
	case op == query.StartsWith && (value[0] == '9' || value[0] == '-'):
		return "~" + quote("^"+regexp.QuoteMeta(value))
	case op == query.StartsWith:
		return "=" + quote(value) + "*"
	case isOfNumber(value):
		return "~" + quote(regexp.QuoteMeta(value))
	}
	return "*" + quote(value) + "*"
}

// isOfNumber tells whether a text may be a number, or a part of one.
func isOfNumber(text string) bool { return strings.Trim(text, "-.0123456789") == "" }

// hasWord finds a word among others, with something between them. The storage finds the text faster than the
// expression, so that comes first.
func hasWord(column, value, between string) string {
	return column + "*" + quote(value) + "* and " + column + "~" +
		quote("(^|"+between+")"+regexp.QuoteMeta(value)+"("+between+"|$)")
}

// Names of columns in the results of pipes. No record has a field with such a name.
const (
	countColumn  = "n"
	bucketColumn = "_time"
)

func aggregateColumn(n int) string { return "a" + strconv.Itoa(n) }

// countPipe counts rows, and adds up their weights. A row of which the weight is less than one, or not there, weighs
// one, as in query.WeightOf.
func countPipe(weighted bool) string {
	pipe := " | stats count() as " + quote(countColumn)
	if weighted {
		heavy := compare(query.WeightField, query.Ge, "1")
		pipe += ", sum(" + quote(query.WeightField) + ") if (" + heavy + ") as " + quote(aggregateColumn(1)) +
			", count() if (!" + heavy + ") as " + quote(aggregateColumn(2))
	}
	return pipe
}

// rowsPipes orders rows, takes a part of them, and names these. Rows of the same time keep the order in which they
// came.
func rowsPipes(r query.Rows, offset, limit int) string {
	direction := " desc"
	if r.Oldest {
		direction = ""
	}
	columns := []string{bucketColumn, query.BatchColumn, query.RowColumn}
	var by []string
	if r.OrderBy != "" {
		columns = append(columns, r.OrderBy)
		by = append(by, quote(r.OrderBy)+direction)
		direction = " desc" // of equal ones, the newest first
	}
	for _, column := range columns[:3] {
		by = append(by, quote(column)+direction)
	}
	return fmt.Sprintf(" | fields %s | sort by (%s) offset %d limit %d", quoteAll(columns), strings.Join(by, ", "),
		offset, limit)
}

func groupsPipes(g query.Groups) string {
	var by []string
	for _, field := range g.By {
		by = append(by, quote(field))
	}
	order := countColumn
	if g.OrderBy > 0 {
		order = aggregateColumn(g.OrderBy)
	}
	direction := " desc"
	if g.Ascending {
		direction = ""
	}
	if len(by) == 0 {
		return " | stats " + functionsOf(g.Aggregates)
	}
	return fmt.Sprintf(" | stats by (%s) %s | sort by (%s%s, %s) offset %d limit %d",
		strings.Join(by, ", "), functionsOf(g.Aggregates), quote(order), direction, strings.Join(by, ", "),
		g.Offset, g.Limit)
}

// groupsOf asks for the values of a field as groups.
func groupsOf(v query.Values) query.Groups {
	return query.Groups{By: []string{v.Field}, Limit: v.Limit}
}

// functionsOf counts rows, and computes aggregates.
func functionsOf(aggregates []query.Aggregate) string {
	functions := []string{"count() as " + quote(countColumn)}
	for n, a := range aggregates {
		argument := quote(a.Field)
		if a.Function == "quantile" {
			argument = strconv.FormatFloat(a.Phi, 'f', -1, 64) + ", " + argument
		}
		functions = append(functions, a.Function+"("+argument+") as "+quote(aggregateColumn(n+1)))
	}
	return strings.Join(functions, ", ")
}

func histogramPipe(h query.Histogram) string {
	by := []string{fmt.Sprintf("_time:%dns", h.Step.Nanoseconds())}
	for _, field := range h.By {
		by = append(by, quote(field))
	}
	return fmt.Sprintf(" | stats by (%s) %s", strings.Join(by, ", "), functionsOf(h.Aggregates))
}

func quoteAll(names []string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, quote(name))
	}
	return strings.Join(quoted, ", ")
}
