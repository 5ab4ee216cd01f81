package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

const tableOfRules = "rules.txt"

// ruleTable is what it has.
type ruleTable struct {
	objects []ruleLine
	cases   []ruleCase
}

// ruleCase is rules, and what becomes of requests.
type ruleCase struct {
	title    string
	at       int
	number   int // from 0
	lines    []ruleLine
	warnings string // when the policy was made
}

// port is where the virtual service of a case listens, with TLS or without.
func (c *ruleCase) port(secure bool) int {
	const first = 10_000
	if secure {
		return first + 2*c.number + 1
	}
	return first + 2*c.number
}

// ruleLine is a line of a case, or an object beside the cases.
type ruleLine struct {
	at   int // in the file, from 1
	word string
	text string // what follows the word; of a request, all of the line
}

// policyOf says which policy rules are of, by the first word of their lines.
var policyOf = map[string]string{"match": "http_request_policy", "security": "http_security_policy",
	"request": "http_request_policy", "response": "http_response_policy"}

func (l *ruleLine) isRule() bool {
	return policyOf[l.word] != "" || slices.Contains(besideHTTP, l.word)
}

// decode reads the JSON of a line, with names replaced. Fields that are in to already stay.
func (l *ruleLine) decode(fill *strings.Replacer, to any) error {
	decoder := json.NewDecoder(bytes.NewBufferString(fill.Replace(l.text)))
	if err := decoder.Decode(to); err != nil {
		return fmt.Errorf("line %d: %w", l.at, err)
	}
	if decoder.More() {
		return fmt.Errorf("line %d: there is more behind the JSON", l.at)
	}
	return nil
}

func readTable(t *testing.T, file string) *ruleTable {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	table, at, titles := &ruleTable{}, 0, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		at++
		indented := strings.HasPrefix(line, "  ")
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case word == "case" && !indented:
			if titles[rest] {
				t.Fatalf("%s:%d: there are two cases %q", file, at, rest)
			}
			titles[rest] = true
			table.cases = append(table.cases, ruleCase{title: rest, at: at, number: len(table.cases)})
		case word == "object" && !indented:
			kind, body, _ := strings.Cut(rest, " ")
			table.objects = append(table.objects, ruleLine{at, kind, body})
		case indented && len(table.cases) > 0:
			c := &table.cases[len(table.cases)-1]
			read := ruleLine{at, word, rest}
			if strings.Contains(line, "=>") && !read.isRule() {
				read.text = line
			}
			c.lines = append(c.lines, read)
		default:
			t.Fatalf("%s:%d: %q is no line of a table of rules", file, at, line)
		}
	}
	for _, c := range table.cases {
		if !slices.ContainsFunc(c.lines, func(line ruleLine) bool { return !line.isRule() && line.word != "service" }) {
			t.Fatalf("%s:%d: the case %q says no outcome", file, c.at, c.title)
		}
	}
	return table
}

// policy is the set of policies with the rules of a case.
func (c *ruleCase) policy(fill *strings.Replacer) (client.Object, error) {
	rules := map[string]list{}
	for _, line := range c.lines {
		policy := policyOf[line.word]
		if policy == "" {
			continue
		}
		at := len(rules[policy]) + 1
		rule := object{"name": fmt.Sprint("rule ", at), "index": at}
		var to any = &rule
		if line.word == "match" {
			match := object{}
			rule["match"], rule["switching_action"] = match, toPool("api")
			to = &match
		}
		if err := line.decode(fill, to); err != nil {
			return nil, err
		}
		rules[policy] = append(rules[policy], rule)
	}
	set := client.Object{}
	for policy, all := range rules {
		set[policy] = object{"rules": all}
	}
	return set, nil
}
