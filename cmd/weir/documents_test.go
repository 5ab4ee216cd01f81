package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema"
)

// documented are the commands in the documents that write objects, with lines that a backslash continues joined.
func documented(t *testing.T) (lines []string) {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^(?:bin/)?weir (\S+ (?:create|set) .*)$`)
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		joined := regexp.MustCompile(`\\\n *`).ReplaceAllString(string(text), "")
		for _, found := range command.FindAllStringSubmatch(joined, -1) {
			lines = append(lines, found[1])
		}
	}
	return lines
}

func TestDocumentsShowCommandsThatTheSchemaAccepts(t *testing.T) {
	lines := documented(t)
	if len(lines) < 10 {
		t.Fatalf("only %d commands are in the documents", len(lines))
	}
	for _, line := range lines {
		if strings.ContainsAny(line, "'$") || strings.Contains(line, " --file ") || strings.Contains(line, " -f ") {
			continue // for a shell, or from a file
		}
		words := strings.Fields(line)
		kind := kindCalled(words[0])
		if kind == nil {
			t.Errorf("%s: there is no kind %s", line, words[0])
			continue
		}
		object, pairs := client.Object{}, words[2:]
		if kind.Only == "" {
			object["name"], pairs = words[2], words[3:]
		}
		for _, pair := range pairs {
			field, value, isPair := strings.Cut(pair, "=")
			if !isPair {
				break // an explanation beside the command
			}
			if err := setField(object, field, value); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		if err := kind.Unknown(object); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if _, err := kind.Normalise(object); err != nil && words[1] == "create" {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func kindCalled(name string) *schema.Kind {
	for _, kind := range schema.Kinds() {
		if kind.Name == name || slices.Contains(kind.Short, name) {
			return kind
		}
	}
	return nil
}
