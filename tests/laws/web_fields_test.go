package laws

import (
	"regexp"
	"testing"
)

var fieldInWeb = regexp.MustCompile(`(?m)^  \{ name: '([a-z_0-9]+)', field: '([a-z_0-9]+)'`)

// `weir logs --filter` takes the names by which one searches in the pages.
func TestPagesAndCommandLineHaveTheSameNamesOfFields(t *testing.T) {
	const pages, commandLine = "web/src/api/fields.ts", "cmd/weir/fieldnames.go"
	cli := causesIn(t, causeInGo, commandLine, "var fieldNames")
	ofConnections := causesIn(t, causeInGo, commandLine, "var bytesOfConnections")
	known := map[string]bool{}
	for _, found := range fieldInWeb.FindAllStringSubmatch(string(read(t, pages)), -1) {
		name, field := found[1], found[2]
		known[name] = true
		if name != field && cli[name] != field && ofConnections[name] != field {
			t.Errorf("%s: the pages mean %s, the command line %q", name, field, cli[name])
		}
	}
	const fewest = 40
	if len(known) < fewest {
		t.Fatalf("only %d fields were found in %s", len(known), pages)
	}
	for name := range cli {
		if !known[name] {
			t.Errorf("%s: only the command line knows it", name)
		}
	}
}
