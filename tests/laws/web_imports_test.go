package laws

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// webMayImport says which rooms of web/src each room may import. A room with the name of a noun, such as service, knows
// the shared rooms only, and no other noun.
var webMayImport = map[string][]string{
	"api":      {"time", "url"},
	"url":      {"time"},
	"time":     {},
	"part":     {"api", "time", "url"},
	"chart":    {"api", "part", "time", "url"},
	"table":    {"part", "url"},
	"form":     {"api", "part", "time", "url"},
	"account":  shared,
	"alert":    shared,
	"change":   shared,
	"create":   shared,
	"engine":   shared,
	"overview": shared,
	"object":   shared,
	"pool":     shared,
	"record":   shared,
	"security": shared,
	"service":  shared,
	"app": append([]string{"account", "alert", "change", "create", "engine", "record", "object", "overview", "pool",
		"security", "service"}, shared...),
}

var shared = []string{"api", "chart", "form", "part", "table", "time", "url"}

var webImport = regexp.MustCompile(`(?:from|import)\s*\(?\s*'(\.[^']*)'`)

func TestRoomsOfThePagesKnowOnlyWhatTheyMay(t *testing.T) {
	for _, file := range sources(t, ".ts", ".tsx") {
		inside, is := strings.CutPrefix(file, "web/src/")
		room, _, inRoom := strings.Cut(inside, "/")
		if !is || !inRoom {
			continue // main.tsx composes
		}
		allowed, known := webMayImport[room]
		if !known {
			t.Errorf("%s is in the room %s, which webMayImport does not have", file, room)
		}
		for _, found := range webImport.FindAllStringSubmatch(string(read(t, file)), -1) {
			target := path.Join(path.Dir(inside), found[1])
			other, _, _ := strings.Cut(target, "/")
			if other != room && !slices.Contains(allowed, other) {
				t.Errorf("%s imports %s: the room %s may import %v", file, found[1], room, allowed)
			}
		}
	}
}

// dangerous are the ways by which a text becomes HTML or script.
var dangerous = []string{"dangerouslySetInnerHTML", ".innerHTML", ".outerHTML", "insertAdjacentHTML", "document.write",
	"eval(", "new Function(", "srcDoc", "javascript:"}

func TestPagesTurnNoTextIntoHTML(t *testing.T) {
	for _, file := range sources(t, ".ts", ".tsx") {
		for _, way := range dangerous {
			if strings.Contains(string(read(t, file)), way) {
				t.Errorf("%s has %s: texts of strangers stay text", file, way)
			}
		}
	}
}
