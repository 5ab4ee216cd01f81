package rest

import (
	"net/http"
	"strings"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const runtimePage = "runtime"

// showReport answers "/api/<kind>/<uuid>/<page>".
func showReport(report Report) handler {
	return func(c *call) error {
		record, err := c.reported()
		if err != nil {
			return err
		}
		told := report(record.UUID)
		items, isList := told.([]schema.Object)
		if !isList {
			return c.reply(http.StatusOK, c.withURLs(told))
		}
		results := []any{}
		for _, item := range items {
			results = append(results, c.withURLs(item))
		}
		return c.reply(http.StatusOK, schema.Object{"count": len(results), "results": results})
	}
}

// runtimeOf returns what engines report about an object; nil: its kind has no runtime.
func (c *call) runtimeOf(kind, uuid string) schema.Object {
	report := c.api.reports[kind][runtimePage]
	if report == nil {
		return nil
	}
	runtime, _ := report(uuid).(schema.Object)
	return runtime
}

// reported returns the object that the path names, as the tenant sees it.
func (c *call) reported() (*store.Record, error) {
	kind, ok := schema.Lookup(c.path[1])
	if !ok {
		return nil, &noSuchPath{c.r.URL.Path}
	}
	return admit.Find(c.view, c.tenant, kind, c.path[2])
}

// joinRuntime adds the runtime to an object, if its kind has one.
func (c *call) joinRuntime(shown schema.Object, record *store.Record) {
	if runtime := c.runtimeOf(record.Kind, record.UUID); runtime != nil {
		shown["runtime"] = c.withURLs(runtime)
	}
}

// withURLs copies a report and makes its references absolute.
func (c *call) withURLs(report any) any { return c.absoluteIn("", report) }

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
