package laws

import (
	"regexp"
	"strings"
	"testing"
)

var (
	causeInGo  = regexp.MustCompile(`"([a-z_0-9]+)":\s+"((?:[^"\\]|\\.)*)"`)
	causeInWeb = regexp.MustCompile(`(?m)^  ([a-z_0-9]+): '((?:[^'\\]|\\.)*)',$`)
)

// The pages and the command line say the same about each cause of failures.
func TestPagesAndCommandLineSayTheSameAboutCauses(t *testing.T) {
	const pages = "web/src/api/causes.ts"
	compareCauses(t, causesIn(t, causeInGo, "api/record/meaning.go", "var meanings"),
		causesIn(t, causeInWeb, pages, "export const causes"))
	compareCauses(t, causesIn(t, causeInGo, "cmd/weir/handshakes.go", "var handshakeFailures"),
		causesIn(t, causeInWeb, pages, "export const handshakeFailures"))
}

// causesIn are the entries of a map in a file, by name.
func causesIn(t *testing.T, pattern *regexp.Regexp, file, head string) map[string]string {
	_, from, found := strings.Cut(string(read(t, file)), head)
	if !found {
		t.Fatalf("%s has no %q", file, head)
	}
	inside, _, _ := strings.Cut(from, "\n}")
	texts := map[string]string{}
	for _, entry := range pattern.FindAllStringSubmatch(inside, -1) {
		texts[entry[1]] = strings.NewReplacer(`\'`, `'`, `\"`, `"`).Replace(entry[2])
	}
	return texts
}

func compareCauses(t *testing.T, cli, pages map[string]string) {
	const fewest = 10
	if len(cli) < fewest {
		t.Fatalf("only %d causes were found", len(cli))
	}
	for name, text := range cli {
		if pages[name] != text {
			t.Errorf("%s: the command line says %q, the pages %q", name, text, pages[name])
		}
	}
	for name := range pages {
		if cli[name] == "" {
			t.Errorf("%s: only the pages know it", name)
		}
	}
}
