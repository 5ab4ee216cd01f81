package rest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/controller/revocation"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// rendering is the form in which a client wants objects.
type rendering struct {
	names        bool     // "#name" after the url and every reference
	skipDefaults bool     // without fields that have their default
	secrets      bool     // with private keys
	runtime      bool     // with what the engines report
	fields       []string // only these; empty: all
}

// wants tells whether a field is asked for.
func (r rendering) wants(field string) bool {
	return len(r.fields) == 0 || slices.Contains(r.fields, field)
}

func (c *call) rendering() rendering {
	style := rendering{
		names:        flag(c.query, "include_name"),
		skipDefaults: flag(c.query, "skip_default"),
		secrets:      flag(c.query, "export_key") && c.who.Superuser,
		runtime:      strings.Contains(c.query.Get("join_subresources"), "runtime"),
	}
	if wanted := c.query.Get("fields"); wanted != "" {
		style.fields = strings.Split(wanted, ",")
	}
	return style
}

// render turns a record into what a client reads.
func (c *call) render(kind *schema.Kind, record *store.Record, style rendering) schema.Object {
	object := revocation.Into(c.view, record.Kind, record.UUID, record.Object)
	if kind.DerivedBy == nil { // derived fields may depend on fields that the client does not want
		object = only(object, style.fields)
	}
	shown := shownSecrets(kind, object, style.secrets)
	if err := kind.Derive(shown, c.api.now()); err != nil { // this succeeded when the object was written
		c.api.log.Error("computed fields are stale", "kind", record.Kind, "uuid", record.UUID, "err", err)
	}
	if style.skipDefaults {
		shown = kind.SkipDefaults(shown)
	}
	c.absolute(kind.References(shown), style.names)
	shown["url"] = c.url(record.Kind, record.UUID, style.names)
	shown["uuid"] = record.UUID
	shown["_last_modified"] = strconv.FormatInt(record.Modified, 10)
	if style.runtime && style.wants("runtime") {
		c.joinRuntime(shown, record)
	}
	return only(shown, style.fields)
}

// shownSecrets copies an object, with its secrets hidden unless they are wanted.
func shownSecrets(kind *schema.Kind, object schema.Object, wanted bool) schema.Object {
	if wanted {
		return kind.Export(object)
	}
	return kind.Redact(object)
}

// absolute turns stored references into URLs of this host.
func (c *call) absolute(references []schema.Reference, names bool) {
	for _, reference := range references {
		uuid := reference.Value[strings.LastIndexByte(reference.Value, '/')+1:]
		reference.Set(c.url(reference.Kind, uuid, names))
	}
}

func (c *call) url(kind, uuid string, named bool) string {
	url := c.origin() + schema.RefPath(kind, uuid)
	if !named {
		return url
	}
	if record, ok := c.view.Get(kind, uuid); ok && record.Name != "" {
		url += "#" + record.Name
	}
	return url
}

func only(object schema.Object, fields []string) schema.Object {
	if len(fields) == 0 {
		return object
	}
	kept := schema.Object{}
	for _, field := range append(fields, "url", "uuid", "name") {
		if value, ok := object[field]; ok {
			kept[field] = value
		}
	}
	return kept
}
