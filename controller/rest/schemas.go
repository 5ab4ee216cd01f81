package rest

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
)

// listSchemas answers "GET /api/weir/schema": all kinds of object, and what the user may do with them.
func listSchemas(c *call) error {
	results := []schema.Object{}
	for _, kind := range schema.Kinds() {
		results = append(results, c.schemaOf(kind))
	}
	return c.reply(http.StatusOK, schema.Object{"count": len(results), "results": results})
}

// showSchema answers "GET /api/weir/schema/<kind>": the same about one kind, with its fields (schema.Kind.Outline).
func showSchema(c *call) error {
	kind, known := schema.Lookup(c.path[3])
	if !known {
		return &noSuchPath{c.r.URL.Path}
	}
	shown := c.schemaOf(kind)
	shown["fields"] = kind.Outline()
	return c.reply(http.StatusOK, shown)
}

func (c *call) schemaOf(kind *schema.Kind) schema.Object {
	shown := schema.Object{"name": kind.Name, "title": kind.Title, "only": kind.Only, "per_tenant": kind.PerTenant(),
		"serving": kind.Serving != schema.Apart, "own": kind.Own}
	shown["permission"] = kind.Permission
	tenant, err := c.tenantOfRequest()
	may := func(access admit.Access) error {
		if err != nil {
			return err
		}
		return c.who.May(access, kind.Permission, tenant)
	}
	reads, writes := may(admit.ReadAccess), may(admit.WriteAccess)
	shown["may_read"], shown["may_change"] = reads == nil, writes == nil
	shown["may_create"] = writes == nil && kind.Creatable()
	shown["may_delete"] = writes == nil && kind.Only == ""
	if why := cmp.Or(reads, writes); why != nil {
		shown["why_not"] = why.Error()
	}
	shown["creatable"] = kind.Creatable()
	return shown
}

// showApplied answers "GET /api/weir/applied?revision=R": how far a write has come, whose answer had the revision R in
// X-Weir-Revision. With kind and uuid, it counts the engines that serve what consists of that object.
func showApplied(c *call) error {
	revision, err := strconv.ParseInt(c.query.Get("revision"), 10, 64)
	if err != nil {
		return &badQuery{"revision", "give the number in X-Weir-Revision of the answer to a write"}
	}
	uuid := c.query.Get("uuid")
	if uuid != "" {
		kind, known := schema.Lookup(c.query.Get("kind"))
		if !known {
			return &badQuery{"kind", "give the kind of the object with this uuid"}
		}
		record, err := admit.Find(c.view, c.tenant, kind, uuid)
		if err != nil {
			return err
		}
		if !c.who.Knows(record) {
			return &admit.NotFound{Title: kind.Title}
		}
	}
	progress := c.api.progress(revision, uuid)
	engines, _ := schema.Lookup("serviceengine")
	if c.who.Access(engines.Permission, c.tenant) < admit.ReadAccess {
		progress["refusals"] = []any{} // they name engines
	}
	return c.reply(http.StatusOK, progress)
}
