// Package kinds is every kind of object that an operator can write, a file each. A file has the struct that is the
// kind's fields, the kind's definition (what it is called, its table, its built-in objects, what becomes of fields that
// Weir does not act on), the enums of its fields, and what no tag can say. A new kind is a new file: nothing else lists
// the kinds there are. Only what is made of its objects, if anything is, stands elsewhere: in model and plan.
package kinds
