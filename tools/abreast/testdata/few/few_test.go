// Package few has one test, for the tests of abreast.
package few

import "testing"

func TestOfAPackageWithFew(*testing.T) {}
