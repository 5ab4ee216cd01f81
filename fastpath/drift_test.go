package fastpath

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestCompiledProgramsAreWhatTheSourceSays(t *testing.T) {
	if _, err := exec.LookPath("clang-14"); err != nil {
		t.Skip(err)
	}
	fresh := t.TempDir()
	if out, err := exec.Command("./gen.sh", fresh).CombinedOutput(); err != nil {
		t.Fatalf("gen.sh: %v\n%s", err, out)
	}
	for _, pattern := range []string{"*/*_bpfel.go", "*/*_bpfel.o"} {
		made, err := filepath.Glob(filepath.Join(fresh, pattern))
		if err != nil || len(made) == 0 {
			t.Fatalf("nothing was compiled: %v", err)
		}
		checkedIn, err := filepath.Glob(pattern)
		if err != nil || len(checkedIn) != len(made) {
			t.Errorf("%v are checked in, %v were compiled", checkedIn, made)
		}
		for _, path := range made {
			name, err := filepath.Rel(fresh, path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s is not what the source says; run `make gen` (%v)", name, err)
			}
		}
	}
}
