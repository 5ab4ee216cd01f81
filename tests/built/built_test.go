package built

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAProgramThatIsOlderThanASourceIsNamedWithIt(t *testing.T) {
	dir := t.TempDir()
	write := func(path string, ago time.Duration) {
		t.Helper()
		path = filepath.Join(dir, path)
		at := time.Now().Add(-ago)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	from := origin{[]string{"agent", "lab"}, []string{".go", ".tmpl"}}
	write("agent/agent.go", 2*time.Hour)
	write("lab/router.tmpl", 2*time.Hour)
	if err := from.check(dir, "weir"); err == nil || !strings.Contains(err.Error(), "run `make build`") {
		t.Errorf("it is not there: %v", err)
	}
	write("bin/weir", time.Hour)
	for _, other := range []string{"agent/agent_test.go", "agent/notes.md", "agent/testdata/a.go"} { // not in it
		write(other, 0)
	}
	if err := from.check(dir, "weir"); err != nil {
		t.Error(err)
	}
	write("lab/router.tmpl", 0)
	const older = "bin/weir is older than lab/router.tmpl: run `make build`"
	if err := from.check(dir, "weir"); err == nil || err.Error() != older {
		t.Errorf("got %v", err)
	}
}

func TestEveryRoomIsThere(t *testing.T) {
	for name, from := range origins {
		for _, room := range from.rooms {
			if _, err := os.Stat(filepath.Join(root, room)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
