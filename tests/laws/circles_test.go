package laws

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// filesInCircles says how many files of a crate may import themselves by way of other files; 0 for crates that are not
// listed. A number here may only fall. Go has no imports between the files of a package, and its compiler refuses
// circles of packages.
var filesInCircles = map[string]int{
	"dataplane/reactor": 2,
	"dataplane/sim":     2,
	"dataplane/tls":     3,
}

func TestFilesImportEachOtherInNoCircle(t *testing.T) {
	for crate := range crateMayKnow {
		texts := map[string]string{}
		for _, file := range rustCode(t, crate) {
			texts[strings.TrimPrefix(file, crate+"/src/")] = string(read(t, file))
		}
		if circling := circlingFiles(texts); len(circling) > filesInCircles[crate] {
			t.Errorf("%s: %d files import each other in circles, at most %d may: %v",
				crate, len(circling), filesInCircles[crate], circling)
		}
	}
}

func TestCirclesAreFoundThroughReexportsGroupsAndSuper(t *testing.T) {
	got := circlingFiles(map[string]string{
		"lib.rs":        "mod a;\nmod b;\nmod c;\nmod d;\npub use b::{Bee, Hive as Home};\npub use d::*;\n",
		"a.rs":          "use std::fmt;\nuse crate::{\n    Home,\n    c,\n};\n// use crate::d;\n",
		"b.rs":          "fn f() -> crate::a::Error { crate::a::error() }\n",
		"c.rs":          "use crate::d::Dee;\n",
		"d.rs":          "pub struct Dee;\n#[cfg(test)]\nmod tests {\n    use crate::c;\n}\n",
		"e/mod.rs":      "mod leaf;\nuse self::leaf::Leaf;\n",
		"e/leaf.rs":     "use super::Tree;\n",
		"e/unneeded.rs": "use super::super::c::See;\n",
	})
	if want := []string{"a.rs", "b.rs", "e/leaf.rs", "e/mod.rs"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// circlingFiles are the files of a crate that reach themselves by their imports, tests aside. Files are by their paths
// below src/.
func circlingFiles(texts map[string]string) []string {
	crate := crateOf(texts)
	imports := map[string]map[string]bool{}
	for file := range texts {
		imports[file] = crate.imports(file)
	}
	var circling []string
	for file := range texts {
		if reaches(imports, file) {
			circling = append(circling, file)
		}
	}
	slices.Sort(circling)
	return circling
}

func reaches(imports map[string]map[string]bool, from string) bool {
	seen, ahead := map[string]bool{}, slices.Collect(maps.Keys(imports[from]))
	for len(ahead) > 0 {
		file := ahead[len(ahead)-1]
		ahead = ahead[:len(ahead)-1]
		if file == from {
			return true
		}
		if !seen[file] {
			seen[file] = true
			ahead = slices.AppendSeq(ahead, maps.Keys(imports[file]))
		}
	}
	return false
}

// crateFiles are the files of a crate as its paths name them.
type crateFiles struct {
	texts     map[string]string // code alone, by file
	modules   map[string]string // file of a module, by its path: "", "a", "a::b"
	reexports map[string]string // path of a name that the root passes on
}

var (
	useStatement = regexp.MustCompile(`(?s)\b(pub\s+)?use\s+([^;]+);`)
	pathInCode   = regexp.MustCompile(`\b(crate|super|self)(::\w+)+`)
	renaming     = regexp.MustCompile(`\s+as\s+(\w+)$`)
)

func crateOf(texts map[string]string) crateFiles {
	c := crateFiles{texts: map[string]string{}, modules: map[string]string{}, reexports: map[string]string{}}
	for file, text := range texts {
		c.texts[file] = code(text)
		c.modules[moduleOf(file)] = file
	}
	for _, statement := range useStatement.FindAllStringSubmatch(c.texts[c.modules[""]], -1) {
		for _, used := range expand(statement[2]) {
			name := path.Base(strings.ReplaceAll(used, "::", "/"))
			if renamed := renaming.FindStringSubmatch(used); renamed != nil {
				name, used = renamed[1], strings.TrimSuffix(used, renamed[0])
			}
			c.reexports[name] = strings.TrimPrefix(used, "crate::")
		}
	}
	return c
}

// moduleOf is the path of the module in a file; empty: the root.
func moduleOf(file string) string {
	module := strings.TrimSuffix(strings.TrimSuffix(file, ".rs"), "/mod")
	if module == "lib" || module == "main" {
		return ""
	}
	return strings.ReplaceAll(module, "/", "::")
}

// imports are the files that one names. What the root passes on is where it comes from, and not the root's.
func (c crateFiles) imports(file string) map[string]bool {
	found := map[string]bool{}
	if module := moduleOf(file); module != "" {
		for _, used := range usedIn(c.texts[file]) {
			if other := c.fileOf(module, used); other != "" && other != file {
				found[other] = true
			}
		}
	}
	return found
}

// usedIn are the paths that code names, groups taken apart.
func usedIn(text string) []string {
	var used []string
	rest := useStatement.ReplaceAllStringFunc(text, func(statement string) string {
		used = append(used, expand(useStatement.FindStringSubmatch(statement)[2])...)
		return ""
	})
	return append(used, pathInCode.FindAllString(rest, -1)...)
}

// fileOf is where what a path names in a module stands; empty: it is another crate's.
func (c crateFiles) fileOf(module, used string) string {
	parts := strings.Split(used, "::")
	var at []string
	switch parts[0] {
	case "crate":
	case "self":
		at = strings.Split(module, "::")
	case "super":
		at = strings.Split(module, "::")
		for len(parts) > 0 && parts[0] == "super" {
			at, parts = at[:max(0, len(at)-1)], parts[1:]
		}
		parts = append([]string{"super"}, parts...)
	default:
		return ""
	}
	at = append(at, parts[1:]...)
	if origin, passedOn := c.reexports[strings.Join(at[:min(1, len(at))], "")]; passedOn && c.modules[at[0]] == "" {
		at = append(strings.Split(origin, "::"), at[1:]...)
	}
	for len(at) > 0 {
		if file, known := c.modules[strings.Join(at, "::")]; known {
			return file
		}
		at = at[:len(at)-1]
	}
	return c.modules[""]
}

// expand takes the groups of a use apart: "a::{b, c::{d, self}}" names "a::b", "a::c::d" and "a::c".
func expand(tree string) []string {
	tree = strings.TrimSpace(tree)
	prefix, group, grouped := strings.Cut(tree, "{")
	if !grouped {
		return []string{strings.TrimSuffix(tree, "::self")}
	}
	var all []string
	for _, part := range parts(strings.TrimSuffix(group, "}")) {
		for _, used := range expand(part) {
			all = append(all, strings.TrimSuffix(strings.TrimSpace(prefix)+used, "::self"))
		}
	}
	return all
}

// parts are what stands between the commas of a group, those of its own groups aside.
func parts(group string) []string {
	var all []string
	depth, from := 0, 0
	for at, char := range group + "," {
		switch {
		case char == '{':
			depth++
		case char == '}':
			depth--
		case char == ',' && depth == 0:
			if part := strings.TrimSpace(group[from:at]); part != "" {
				all = append(all, part)
			}
			from = at + 1
		}
	}
	return all
}
