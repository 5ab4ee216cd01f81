// Package kinds has every kind of object that an operator can write, in one file each. A file has the struct with the
// fields, the definition (names, table, built-in objects, rules for fields without a function), the enums, and the
// checks that tags cannot express. A new kind needs only a new file: there is no other list of kinds. Code that does
// more with the objects than store them is in model and plan.
package kinds
