// Package built finds the programs that `make build` puts into bin/, for the tests that run whole Weirs. A program that
// is older than its sources fails such a test at once: what it would say is about something that is not there any more.
package built

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const root = "../.." // as seen from the packages of tests

// origin is what a program is made of: files with some endings below some rooms.
type origin struct{ rooms, endings []string }

var origins = map[string]origin{
	"weir": {
		[]string{"agent", "api/gen/go", "backoff", "bench", "client", "cmd", "controller", "demo", "durable",
			"fastpath", "lab",
			"logs", "web"},
		[]string{".go", ".o", ".sh", ".tmpl", ".toml", ".ts", ".tsx", ".css", ".html"},
	},
	"weir-dataplane": {[]string{"api/gen/rust", "api/src", "dataplane"}, []string{".rs"}},
	"weir-load":      {[]string{"lab/load"}, []string{".rs", ".txt"}},
	"weir-origin":    {[]string{"lab/load"}, []string{".rs"}},
}

// apart are no part of any program.
var apart = []string{"benches", "fuzz", "dist", "icount", "node_modules", "results", "testdata", "tests"}

// Programs is the directory that holds them, as an absolute path.
func Programs(t testing.TB) string {
	t.Helper()
	dir, err := find()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var find = sync.OnceValues(func() (string, error) {
	for name, from := range origins {
		if err := from.check(root, name); err != nil {
			return "", err
		}
	}
	return filepath.Abs(filepath.Join(root, "bin"))
})

// check says what is newer than a program in bin/.
func (o origin) check(root, name string) error {
	program, err := os.Stat(filepath.Join(root, "bin", name))
	if err != nil {
		return fmt.Errorf("%w: run `make build`", err)
	}
	for _, room := range o.rooms {
		newer, err := o.newer(filepath.Join(root, room), program.ModTime())
		if err != nil {
			return err
		}
		if newer != "" {
			return fmt.Errorf("bin/%s is older than %s: run `make build`", name, strings.TrimPrefix(newer, root+"/"))
		}
	}
	return nil
}

// newer is a source in a room that was changed since; empty: none was.
func (o origin) newer(room string, than time.Time) (found string, err error) {
	err = filepath.WalkDir(room, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(apart, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !slices.Contains(o.endings, filepath.Ext(path)) || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		info, err := entry.Info()
		if err == nil && info.ModTime().After(than) {
			found = path
			return fs.SkipAll
		}
		return err
	})
	return found, err
}
