package laws

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-lb/weir/logs/query"
)

const fieldsOfPages = "web/src/api/fields.ts"

// fieldInWeb has the name, the field of the API and the kind.
var fieldInWeb = regexp.MustCompile(`(?m)^  \{ name: '([a-z_0-9]+)', field: '([a-z_0-9]+)', kind: '([a-z]+)'`)

// webFields are the fields in some lists of the pages.
func webFields(t *testing.T, lists ...string) (fields [][]string) {
	t.Helper()
	for _, list := range lists {
		_, from, found := strings.Cut(string(read(t, fieldsOfPages)), "\nconst "+list+": Field[] = [")
		if !found {
			t.Fatalf("%s has no list %s", fieldsOfPages, list)
		}
		inside, _, _ := strings.Cut(from, "\n]")
		fields = append(fields, fieldInWeb.FindAllStringSubmatch(inside, -1)...)
	}
	return fields
}

// listsOfPages are those of each type of records in the pages.
var listsOfPages = map[string][]string{
	query.Requests:    {"ofRequests", "shared", "alsoOfRequests", "alsoShared"},
	query.Connections: {"ofConnections", "shared", "alsoOfConnections", "alsoShared"},
	query.Events:      {"ofEvents"},
}

// `weir logs --filter` takes the names by which one searches in the pages.
func TestPagesAndCommandLineHaveTheSameNamesOfFields(t *testing.T) {
	const commandLine = "cmd/weir/fieldnames.go"
	cli := causesIn(t, causeInGo, commandLine, "var fieldNames")
	ofConnections := causesIn(t, causeInGo, commandLine, "var bytesOfConnections")
	known := map[string]bool{}
	for kind, lists := range listsOfPages {
		means := maps.Clone(cli)
		if kind == query.Connections {
			maps.Copy(means, ofConnections)
		}
		for _, found := range webFields(t, lists...) {
			name, field := found[1], found[2]
			known[name] = true
			if name != field && means[name] != field {
				t.Errorf("%s: %s: the pages mean %s, the command line %q", kind, name, field, means[name])
			}
			if _, taken := query.Types[kind][name]; taken && name != field {
				t.Errorf("%s: %s means %s in the pages, and itself in the API", kind, name, field)
			}
		}
	}
	for name := range cli {
		if !known[name] {
			t.Errorf("%s: only the command line knows it", name)
		}
	}
}

// kindsOfPages are what a field of the store can be in the pages.
var kindsOfPages = map[query.Kind]string{
	query.Text: "text words", query.Words: "text words", query.Names: "text", query.Number: "number ms us bytes",
	query.Boolean: "boolean",
}

// All that the record store has can be searched in the pages, as what it is.
func TestPagesSearchAllFieldsOfTheRecordStore(t *testing.T) {
	for kind, lists := range listsOfPages {
		inPages := map[string]bool{}
		for _, found := range webFields(t, lists...) {
			field := found[2]
			if inPages[field] {
				t.Errorf("%s: %s is there twice", kind, field)
			}
			inPages[field] = true
			of, known := query.Types[kind][field]
			if !known {
				t.Errorf("%s: %s is only in the pages", kind, field)
			} else if !strings.Contains(kindsOfPages[of], found[3]) {
				t.Errorf("%s: %s is %s in the pages, and one of %s in the store", kind, field,
					found[3], kindsOfPages[of])
			}
		}
		for field := range query.Types[kind] {
			if !inPages[field] {
				t.Errorf("%s: %s is not in the pages", kind, field)
			}
		}
	}
	all := fmt.Sprintf("[...%s]", strings.Join(listsOfPages[query.Requests], ", ..."))
	if !strings.Contains(string(read(t, fieldsOfPages)), all) {
		t.Errorf("the fields of requests are not %s", all)
	}
}

// docs/ui.md names the fields of which a value means that they contain it.
func TestDocumentNamesTheFieldsThatContainAValue(t *testing.T) {
	_, from, _ := strings.Cut(string(read(t, "docs/ui.md")), "with this value; in ")
	row, _, _ := strings.Cut(from, "\n")
	named := map[string]bool{}
	for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row, -1) {
		named[name[1]] = true
	}
	for _, lists := range listsOfPages {
		for _, found := range webFields(t, lists...) {
			if found[3] == "words" && !named[found[1]] {
				t.Errorf("docs/ui.md does not name %s", found[1])
			} else if found[3] != "words" && named[found[1]] {
				t.Errorf("docs/ui.md names %s, which is of kind %s", found[1], found[3])
			}
		}
	}
}
