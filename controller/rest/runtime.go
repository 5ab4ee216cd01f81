package rest

import (
	"net/http"
	"strings"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

func virtualServiceRuntime(c *call) error {
	return c.showRuntime(c.api.runtime.VirtualService)
}

func poolRuntime(c *call) error { return c.showRuntime(c.api.runtime.Pool) }

func engineRuntime(c *call) error { return c.showRuntime(c.api.runtime.Engine) }

// showRuntime answers "/api/<kind>/<uuid>/runtime".
func (c *call) showRuntime(report func(uuid string) schema.Object) error {
	record, err := c.reported()
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, c.withURLs(report(record.UUID)))
}

// poolServers answers the list of a pool's servers.
func poolServers(c *call) error { return c.listRuntime(c.api.runtime.PoolServers) }

// engineBGP answers all that an engine says of its routes.
func engineBGP(c *call) error {
	return c.showRuntime(func(uuid string) schema.Object {
		return schema.Object{"peers": c.api.runtime.EnginePeers(uuid), "advertised_routes": c.api.runtime.EngineRoutes(uuid)}
	})
}

func enginePeers(c *call) error { return c.listRuntime(c.api.runtime.EnginePeers) }

func engineRoutes(c *call) error { return c.listRuntime(c.api.runtime.EngineRoutes) }

func engineBFD(c *call) error { return c.listRuntime(c.api.runtime.EngineBFD) }

// listRuntime answers a list of what is reported of an object.
func (c *call) listRuntime(report func(uuid string) []schema.Object) error {
	record, err := c.reported()
	if err != nil {
		return err
	}
	results := []schema.Object{}
	for _, item := range report(record.UUID) {
		results = append(results, c.withURLs(item))
	}
	return c.reply(http.StatusOK, schema.Object{"count": len(results), "results": results})
}

// reported finds the object that the path names, as the tenant sees it.
func (c *call) reported() (*store.Record, error) {
	kind, ok := schema.Lookup(c.path[1])
	if !ok {
		return nil, &noSuchPath{c.r.URL.Path}
	}
	return admit.Find(c.view, c.tenant, kind, c.path[2])
}

// joinRuntime puts the runtime into an object, where its kind has one.
func (c *call) joinRuntime(shown schema.Object, record *store.Record) {
	reports := map[string]func(string) schema.Object{"virtualservice": c.api.runtime.VirtualService,
		"pool": c.api.runtime.Pool, "serviceengine": c.api.runtime.Engine}
	if report, ok := reports[record.Kind]; ok {
		shown["runtime"] = c.withURLs(report(record.UUID))
	}
}

// withURLs copies a report and makes its references absolute.
func (c *call) withURLs(report schema.Object) schema.Object {
	return c.absoluteIn("", report).(schema.Object)
}

func (c *call) absoluteIn(field string, value any) any {
	switch v := value.(type) {
	case schema.Object:
		copied := make(schema.Object, len(v))
		for name, inner := range v {
			copied[name] = c.absoluteIn(name, inner)
		}
		return copied
	case []schema.Object:
		copied := make([]any, len(v))
		for i, inner := range v {
			copied[i] = c.absoluteIn("", inner)
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i, inner := range v {
			copied[i] = c.absoluteIn(field, inner)
		}
		return copied
	case string:
		return c.absoluteRef(field, v)
	}
	return value
}

func (c *call) absoluteRef(field, value string) string {
	named := strings.HasSuffix(field, "_ref") || strings.HasSuffix(field, "_refs") || field == "url"
	if named && strings.HasPrefix(value, "/api/") {
		return c.origin() + value
	}
	return value
}
