package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema/column"
)

// notListed are fields that Avi's clients look for and that tell a reader nothing new, and engines, which have a table
// of their own. JSON output has them.
var notListed = []string{"service_engine", "url", "vip_runtime", "vip_summary", "virtualservice_ref", "se_ref",
	"sec_idx", "primary", "standby",
	"is_primary", "is_standby", "scalein_in_progress", "scaleout_in_progress", "migrate_in_progress"}

// fieldsOf lists every field of an object that has a value, nested ones indented under their parent.
func fieldsOf(object client.Object) table {
	var t table
	t.addFields("", map[string]any(object))
	return t
}

func (t *table) addFields(indent string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range fieldOrder(v) {
			t.addField(indent, name, v[name])
		}
	case []any:
		for i, item := range v {
			t.addField(indent, fmt.Sprintf("[%d]", i), item)
		}
	}
}

func (t *table) addField(indent, name string, value any) {
	switch v := value.(type) {
	case map[string]any, []any:
		start := len(*t)
		*t = append(*t, []string{indent + name})
		t.addFields(indent+"  ", v)
		if len(*t) == start+1 { // nothing in it
			*t = (*t)[:start]
		}
	default:
		if shown := column.Text(v); shown != "" {
			*t = append(*t, []string{indent + name, shownAs(name, shown)})
		}
	}
}

func shownAs(name, value string) string {
	if name != "_last_modified" {
		return value
	}
	micros, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return value
	}
	return time.UnixMicro(micros).UTC().Format(time.RFC3339)
}

// fieldOrder puts what names an object first, and its runtime last.
func fieldOrder(object map[string]any) []string {
	var names []string
	for name := range object {
		if !slices.Contains(notListed, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if order := fieldRank(a) - fieldRank(b); order != 0 {
			return order
		}
		return strings.Compare(a, b)
	})
	return names
}

func fieldRank(name string) int {
	switch name {
	case "name":
		return 0
	case "uuid":
		return 1
	case "runtime":
		return 3
	}
	return 2
}
