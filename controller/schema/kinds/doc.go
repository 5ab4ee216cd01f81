// Package kinds holds every kind of object that an operator can write, one file each. A file has the struct with the
// fields, the definition (names, table, built-in objects, rules for fields without function), the enums of the fields,
// and the checks that tags cannot express. A new kind is a new file: no other list of kinds exists. Only code that uses
// the objects for more than storing them stands elsewhere, in model and plan.
package kinds
