// Package golden compares the output of a bench with the files in testdata.
package golden

import (
	"os"
	"path/filepath"
	"testing"
)

// Check compares a file with the one of its name in testdata; WEIR_GEN=write writes that.
func Check(t *testing.T, file string) {
	t.Helper()
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	expected := filepath.Join("testdata", filepath.Base(file))
	if os.Getenv("WEIR_GEN") == "write" {
		if err := os.WriteFile(expected, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(expected)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not as in testdata (WEIR_GEN=write go test writes it):\n%s", filepath.Base(file), got)
	}
}
