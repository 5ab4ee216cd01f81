// Package mixed has tests that end in every way, for the tests of abreast.
package mixed

import (
	"os"
	"testing"
)

func TestPasses(t *testing.T) {
	if _, err := os.Stat("mixed_test.go"); err != nil {
		t.Fatal("it does not run in the directory of its package")
	}
}

func TestPassesToo(*testing.T) {}

func TestFails(t *testing.T) { t.Fatal("it is broken on purpose") }

func TestSkips(t *testing.T) { t.Skip("there is no moon") }

func TestPanics(*testing.T) { panic("on purpose") }
