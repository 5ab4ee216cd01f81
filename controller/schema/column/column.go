// Package column describes the tables of the command-line interface: for each column a heading, and a function that
// reads the cell from an object as the API returns it. The file of a kind lists its columns. This package knows no
// kind.
package column

import (
	"fmt"
	"strings"
	"time"
)

// Column is a heading and how to read its cell.
type Column struct {
	Heading string
	Cell    func(Row) string // empty text: there is no value
}

// Row is an object of a table, with its runtime as "runtime".
type Row struct {
	Object map[string]any
	Others Others
	Now    time.Time
}

// Others are the objects that the objects of a table refer to, by uuid.
type Others map[string]map[string]any

// Add makes objects available to Row.Referred.
func (o Others) Add(objects []map[string]any) {
	for _, object := range objects {
		o[Text(object["uuid"])] = object
	}
}

// Of is a column with a function that reads the cell.
func Of(heading string, cell func(Row) string) Column { return Column{heading, cell} }

// Field is a column for the value at a path of names.
func Field(heading string, names ...string) Column {
	return Column{heading, func(row Row) string { return row.Text(names...) }}
}

// Enum is a column for the value of an enumeration, without the prefix that all its values share.
func Enum(heading, prefix string, names ...string) Column {
	return Column{heading, func(row Row) string { return strings.TrimPrefix(row.Text(names...), prefix) }}
}

// Between is a column for a range of numbers: "1 to 10".
func Between(heading, from, to string) Column {
	return Column{heading, func(row Row) string { return row.Text(from) + " to " + row.Text(to) }}
}

// PartOf is a column with two numbers: "2 of 3". A number that is not known is "-".
func PartOf(heading string, part, whole []string) Column {
	return Column{heading, func(row Row) string {
		return fmt.Sprintf("%s of %s", Dash(row.Text(part...)), Dash(row.Text(whole...)))
	}}
}

// Since is a column for the time that has passed since the time at a path of names.
func Since(heading string, names ...string) Column {
	return Column{heading, func(row Row) string { return Age(row.Text(names...), row.Now) }}
}

// OperState is a column for the state of an object in its runtime.
var OperState = Enum("STATE", "OPER_", "runtime", "oper_status", "state")

// Health is a column for the health score of an object in its runtime: "93 good", and a dash if it is not graded.
var Health = Of("HEALTH", func(row Row) string {
	value, band := row.Text("runtime", "health_score", "health_score"), row.Text("runtime", "health_score", "weir_band")
	if value == "" {
		return ""
	}
	return value + " " + band
})

// Text reads the value at a path of names.
func (r Row) Text(names ...string) string { return Text(At(r.Object, names...)) }

// Referred returns the row of the object that a field refers to (https://host/api/pool/pool-1#web); false: it is not in
// Others.
func (r Row) Referred(field string) (Row, bool) {
	path, _ := r.Object[field].(string)
	return r.ReferredBy(path)
}

// ReferredBy returns the row of the object that a reference names; false: it is not in Others.
func (r Row) ReferredBy(path string) (Row, bool) {
	path, _, _ = strings.Cut(path, "#")
	object, known := r.Others[path[strings.LastIndexByte(path, '/')+1:]]
	return Row{object, r.Others, r.Now}, known
}
