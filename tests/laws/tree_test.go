package laws

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// sources lists the hand-written files of the tree with one of the endings, as paths from the root.
func sources(t *testing.T, endings ...string) []string {
	t.Helper()
	list := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	var files []string
	for file := range strings.Lines(string(out)) {
		file = strings.TrimSpace(file)
		generated := strings.HasPrefix(file, "api/gen/")
		_, err := os.Stat(filepath.Join(root, file))
		if generated || err != nil {
			continue
		}
		for _, ending := range endings {
			if strings.HasSuffix(file, ending) {
				files = append(files, file)
			}
		}
	}
	if len(files) == 0 {
		t.Fatalf("no %v files found", endings)
	}
	return files
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestNoFileIsLongerThanItsReaderRemembers(t *testing.T) {
	const linesMax = 800
	for _, file := range sources(t, ".go", ".rs", ".c", ".h", ".ts", ".tsx", ".proto") {
		if lines := bytes.Count(read(t, file), []byte("\n")); lines > linesMax {
			t.Errorf("%s has %d lines, more than %d: is it still one noun?", file, lines, linesMax)
		}
	}
}

func TestNoRoomIsNamedForNothing(t *testing.T) {
	for _, file := range sources(t, ".go", ".rs", ".ts", ".tsx") {
		for _, part := range strings.Split(strings.TrimSuffix(file, filepath.Ext(file)), "/") {
			switch part {
			case "util", "utils", "common", "helper", "helpers", "manager", "misc":
				t.Errorf("%s: %q says nothing of what is inside", file, part)
			}
		}
	}
}
