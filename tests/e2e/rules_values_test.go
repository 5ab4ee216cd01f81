package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	_ "github.com/weir-lb/weir/controller/schema/kinds"
)

// values has each value that a field can have, by the field, and whether a case has it. A field that all three policies
// have in their matches is one; so are all tokens of a policy, and all addresses.
type values map[string]map[string]bool

// outlineOf is the outline of a kind.
func outlineOf(t *testing.T, kind string) []any {
	t.Helper()
	k, known := schema.Lookup(kind)
	if !known {
		t.Fatalf("there is no kind %s", kind)
	}
	return k.Outline()
}

// possible notes the values of enums and of booleans that have a function.
func (v values) possible(outline []any, within string) {
	for _, each := range outline {
		field := each.(schema.Object)
		if field["kept"] != nil || field["effect"] == "none" {
			continue
		}
		at := within + "." + field["name"].(string)
		if element, isList := field["element"].(schema.Object); isList {
			field = element
		}
		if inner, isObject := field["fields"].([]any); isObject {
			v.possible(inner, at)
			continue
		}
		key := fieldKey(at)
		if v[key] == nil {
			v[key] = map[string]bool{}
		}
		enum, _ := field["enum"].([]any)
		if field["type"] == "boolean" {
			enum = []any{false, true}
		}
		for _, value := range enum {
			v[key][fmt.Sprint(value)] = false
		}
	}
}

// use notes the values of an object, and the defaults of what it does not say.
func (v values) use(outline []any, within string, o object) {
	for _, each := range outline {
		field := each.(schema.Object)
		name := field["name"].(string)
		at := within + "." + name
		value, said := o[name]
		switch fallback, has := field["default"]; {
		case !said && has:
			value = fallback
		case !said && field["type"] == "boolean":
			value = false
		}
		all, isList := value.(list)
		if element, is := field["element"].(schema.Object); is && isList {
			field = element
		} else {
			all = list{value}
		}
		inner, _ := field["fields"].([]any)
		for _, one := range all {
			if within, isObject := one.(object); isObject {
				v.use(inner, at, within)
			} else if _, possible := v[fieldKey(at)][fmt.Sprint(one)]; possible {
				v[fieldKey(at)][fmt.Sprint(one)] = true
			}
		}
	}
}

var ofAddress = regexp.MustCompile(`\.(addrs|ip_addrs|ip_addr|begin|end|ip)\.type$`)

// fieldKey names a field by its path.
func fieldKey(path string) string {
	path = strings.TrimPrefix(path, ".")
	if ofAddress.MatchString(path) {
		return "addresses.type"
	}
	if _, match, inMatch := strings.Cut(path, ".rules.match."); inMatch && strings.HasPrefix(path, "http_") {
		return "match." + match
	}
	if policy, _, inTokens := strings.Cut(path, "."); inTokens && strings.HasSuffix(path, ".tokens.type") {
		return policy + ".tokens.type"
	}
	return path
}

func TestTableHasEachValueOfRules(t *testing.T) {
	table, of := readTable(t, tableOfRules), values{}
	policies, groups := outlineOf(t, "httppolicyset"), outlineOf(t, "stringgroup")
	of.possible(policies, "")
	of.possible(groups, "")
	names := (&caller{names: []string{"$right_port", "1"}}).fill(&ruleCase{})
	for _, each := range table.cases {
		policy, err := each.policy(names)
		if err != nil {
			t.Fatal(err)
		}
		of.use(policies, "", asRead(t, policy))
	}
	for _, made := range table.objects {
		if made.word == "stringgroup" {
			var group object
			if err := made.decode(names, &group); err != nil {
				t.Fatal(err)
			}
			of.use(groups, "", group)
		}
	}
	count := 0
	for _, field := range slices.Sorted(maps.Keys(of)) {
		for _, value := range slices.Sorted(maps.Keys(of[field])) {
			count++
			if !of[field][value] && field != "is_internal_policy" {
				t.Errorf("no case of %s has %s %s", tableOfRules, field, value)
			}
		}
	}
	t.Logf("%d values", count)
	const least = 200
	if count < least {
		t.Errorf("%d values are looked for: at least %d are known", count, least)
	}
}

// asRead is an object as it is read from JSON.
func asRead(t *testing.T, o any) (read object) {
	t.Helper()
	text, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read
}
