package kinds

import (
	"fmt"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// StringGroup has texts that rules compare with. A group of pairs has a value for each of them.
type StringGroup struct {
	Identity
	Named
	Owned
	Description  string     `json:"description"`
	Markers      []Marker   `json:"markers"`
	Type         string     `json:"type" enum:"StringGroupType" default:"SG_TYPE_STRING"`
	Pairs        []KeyValue `json:"kv" items:"10000"`
	LongestMatch bool       `json:"longest_match" default:"false"` // of several keys that match; false: the shortest
}

const pairsGroup = "SG_TYPE_KEYVAL"

var _ = schema.Enum("StringGroupType", "SG_TYPE_STRING", pairsGroup)

func init() {
	schema.Register[StringGroup](schema.Definition{
		Serving: schema.PartOfService,
		Builtins: []schema.Object{
			keysOf("System-Compressible-Content-Types", "text/html", "text/xml", "text/plain", "text/css",
				"text/javascript", "application/javascript", "application/x-javascript", "application/json",
				"application/xml", "image/svg+xml"),
			keysOf("System-Cacheable-Resource-Types", "text/css", "text/javascript", "application/javascript",
				"application/x-javascript", "image/gif", "image/jpeg", "image/png", "image/svg+xml", "image/webp"),
			keysOf("System-Devices-Mobile", "Android", "iPhone", "iPad", "iPod", "Mobile"),
			keysOf("System-Rewritable-Content-Types", "text/html", "text/xml", "text/plain", "text/css",
				"text/javascript"),
		},
		Columns: []column.Column{
			column.Enum("TYPE", "SG_TYPE_", "type"),
			column.Of("KEYS", func(row column.Row) string { return fmt.Sprint(len(column.List(row.Object, "kv"))) }),
		},
		Example: `  weir stringgroup create tenants type=SG_TYPE_KEYVAL kv[0].key=/blue kv[0].value=/tenants/blue`,
	})
}

// keysOf is a built-in group of texts.
func keysOf(name string, keys ...string) schema.Object {
	pairs := make([]any, len(keys))
	for i, key := range keys {
		pairs[i] = schema.Object{"key": key}
	}
	return schema.Object{"name": name, "kv": pairs}
}

// HasValues tells whether each key of the group has a value.
func (g *StringGroup) HasValues() bool { return g.Type == pairsGroup }

// FaultOfExpressions says why the texts are no expressions for engines; empty: they are. It may take milliseconds.
func (g *StringGroup) FaultOfExpressions() string {
	keys := make([]string, len(g.Pairs))
	for at, pair := range g.Pairs {
		keys[at] = pair.Key
	}
	if at, err := CheckExpressions(keys); err != nil {
		return fmt.Sprintf("kv[%d].key: %v", at, err)
	}
	return ""
}

func (g *StringGroup) Validate() *schema.FieldError {
	first := map[string]int{}
	for i, pair := range g.Pairs {
		at := fmt.Sprintf("kv[%d]", i)
		earlier, taken := first[pair.Key]
		switch {
		case taken:
			return refuse(at+".key", "%s is kv[%d] already", schema.Show(pair.Key), earlier)
		case len(pair.Key) > textMost:
			return refuse(at+".key", "has %d bytes: give at most %d", len(pair.Key), textMost)
		case len(pair.Value) > textMost:
			return refuse(at+".value", "has %d bytes: give at most %d", len(pair.Value), textMost)
		case g.HasValues() && pair.Value == "":
			return refuse(at+".value", "is required by type %s", pairsGroup)
		case !g.HasValues() && pair.Value != "":
			return refuse(at+".value", "is for type %s", pairsGroup)
		}
		first[pair.Key] = i
	}
	return nil
}
