package router

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/lab/topology"
)

// text is all of a router that a reader needs: its files and how its daemons are called.
func (s Spec) text() string {
	var out strings.Builder
	for _, file := range slices.Sorted(maps.Keys(s.Files)) {
		fmt.Fprintf(&out, "--- %s\n%s", file, s.Files[file])
	}
	for _, daemon := range s.Daemons {
		fmt.Fprintf(&out, "--- %s\n%s\n", daemon.Program, strings.Join(daemon.Args, " "))
	}
	return out.String()
}

// TestRunsTheSeedAsItsReaderExpects compares with testdata; WEIR_GOLDEN=write writes it.
func TestRunsTheSeedAsItsReaderExpects(t *testing.T) {
	for _, kind := range []string{topology.FRR, topology.BIRD} {
		top, err := topology.Load("../seed.toml")
		if err != nil {
			t.Fatal(err)
		}
		top.Router.Kind = kind
		spec, err := For(top, "/run/weirlab/seed/router")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", kind+".txt")
		if os.Getenv("WEIR_GOLDEN") == "write" {
			if err := os.WriteFile(file, []byte(spec.text()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := spec.text(); got != string(want) {
			t.Errorf("%s:\n%s", file, got)
		}
	}
}

func TestARouterWithoutBFDRunsNoneAndOneWithAPasswordAsksForIt(t *testing.T) {
	for kind, lines := range map[string][2]string{
		topology.FRR:  {"neighbor engines0 bfd", "neighbor engines0 password secret"},
		topology.BIRD: {"bfd on;", `password "secret";`},
	} {
		top, err := topology.Load("../seed.toml")
		if err != nil {
			t.Fatal(err)
		}
		top.Router.Kind, top.Router.BFDms, top.Router.Password = kind, 0, "secret"
		spec, err := For(top, "/run/weirlab/seed/router")
		if err != nil {
			t.Fatal(err)
		}
		text := spec.text()
		if strings.Contains(text, lines[0]) || strings.Contains(text, "bfdd") || !strings.Contains(text, lines[1]) {
			t.Errorf("%s:\n%s", kind, text)
		}
	}
}
