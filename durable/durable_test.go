package durable

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReplacesAFileThatOnlyItsOwnerMayRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	for _, content := range []string{"old", "new"} {
		if err := WriteFile(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != content {
			t.Errorf("reads %q, %v", text, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v, %v", info, err)
	}
	unfinished(t, dir)
}

func TestLeavesTheOldContentWhenTheNewOneCannotTakeItsPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	if err := os.MkdirAll(filepath.Join(path, "inside"), 0o755); err != nil { // a file cannot replace a directory
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("new")); err == nil {
		t.Error("it replaced a directory")
	}
	if _, err := os.Stat(filepath.Join(path, "inside")); err != nil {
		t.Error(err)
	}
	unfinished(t, dir)
}

func unfinished(t *testing.T, dir string) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(dir, Unfinished)); err != nil || len(left) != 0 {
		t.Errorf("temporary files left: %v, %v", left, err)
	}
}
