// Package column says how objects of a kind show in a table: a heading and how to read a cell. A kind's file lists its
// columns, and the command-line interface prints them. What is read is an object as the API answers it; nothing here
// knows of kinds.
package column

import (
	"fmt"
	"strings"
	"time"
)

// Column is a heading and how to read its cell.
type Column struct {
	Heading string
	Cell    func(Row) string // empty: there is no value
}

// Row is an object with its runtime as "runtime", and what a table shows beside it.
type Row struct {
	Object map[string]any
	Others Others
	Now    time.Time
}

// Others are objects that those of the table may refer to, by uuid.
type Others map[string]map[string]any

// Add lets references to objects be followed.
func (o Others) Add(objects []map[string]any) {
	for _, object := range objects {
		o[Text(object["uuid"])] = object
	}
}

// Of is a column that a function reads.
func Of(heading string, cell func(Row) string) Column { return Column{heading, cell} }

// Field is a column that shows the value at a path of names.
func Field(heading string, names ...string) Column {
	return Column{heading, func(row Row) string { return row.Text(names...) }}
}

// Enum is a column that shows an enumeration's value without the prefix that all its values share.
func Enum(heading, prefix string, names ...string) Column {
	return Column{heading, func(row Row) string { return strings.TrimPrefix(row.Text(names...), prefix) }}
}

// Between is a column that shows a range of numbers by its ends: "1 to 10".
func Between(heading, from, to string) Column {
	return Column{heading, func(row Row) string { return row.Text(from) + " to " + row.Text(to) }}
}

// PartOf is a column that shows how many of how many, each a "-" where it is not known: "2 of 3".
func PartOf(heading string, part, whole []string) Column {
	return Column{heading, func(row Row) string {
		return fmt.Sprintf("%s of %s", Dash(row.Text(part...)), Dash(row.Text(whole...)))
	}}
}

// Since is a column that shows how long ago the time at a path of names was.
func Since(heading string, names ...string) Column {
	return Column{heading, func(row Row) string { return Age(row.Text(names...), row.Now) }}
}

// OperState is whether an object works, as its runtime says.
var OperState = Enum("STATE", "OPER_", "runtime", "oper_status", "state")

// Text reads the value at a path of names.
func (r Row) Text(names ...string) string { return Text(At(r.Object, names...)) }

// Referred is the row of the object that a field refers to, as https://host/api/pool/pool-1#web; false: it is not
// known.
func (r Row) Referred(field string) (Row, bool) {
	path, _ := r.Object[field].(string)
	path, _, _ = strings.Cut(path, "#")
	object, known := r.Others[path[strings.LastIndexByte(path, '/')+1:]]
	return Row{object, r.Others, r.Now}, known
}
