package demo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestClearsThePlacesOfDeadDemosAndNoOthers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	open := func() *place {
		t.Helper()
		place, err := newPlace()
		if err != nil {
			t.Fatal(err)
		}
		return place
	}
	alive, dead, failed := open(), open(), open()
	// the kernel closes what a killed process had open
	if err := errors.Join(dead.lock.Close(), failed.keep()); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(os.TempDir(), placePrefix+"foreign")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	next := open()
	if _, err := os.Stat(dead.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what the dead demo left is still there: %v", err)
	}
	for _, dir := range []string{alive.dir, failed.dir, foreign, next.dir} {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(alive.remove(), next.remove()); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "*")); err != nil || len(left) != 2 {
		t.Errorf("left are %q, %v", left, err)
	}
}
