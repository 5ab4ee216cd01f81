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
	for _, name := range []string{"detour_bpfel.go", "detour_bpfel.o"} {
		want, err := os.ReadFile(filepath.Join(fresh, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the source says; run `make gen` (%v)", name, err)
		}
	}
}
