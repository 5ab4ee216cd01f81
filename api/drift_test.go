// Package api holds the contract between Weir's processes; everything under gen/ is generated from it.
package api

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestGeneratedCodeIsWhatTheContractSays(t *testing.T) {
	fresh := t.TempDir()
	if out, err := exec.Command("./gen.sh", fresh).CombinedOutput(); err != nil {
		t.Fatalf("gen.sh: %v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(fresh, "*", "*", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing generated in %s (%v)", fresh, err)
	}
	for _, file := range files {
		name, err := filepath.Rel(fresh, file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("gen", "go", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("gen/go/%s is not what the contract says; run `make gen` (%v)", name, err)
		}
	}
}
