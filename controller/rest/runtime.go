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
		told := c.toldOf(record, report)
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

// ofAllTenants are the parts of the page of an engine that tell what it does for all tenants together. Metrics and live
// events show them to the tenant of engines only, and so do these pages.
var ofAllTenants = []string{"counters", "workers", "host"}

// toldOf makes a page about an object.
func (c *call) toldOf(record *store.Record, report Report) any {
	told := report(record.UUID)
	page, is := told.(schema.Object)
	if record.Kind != "serviceengine" || !is || c.owns(record) {
		return told
	}
	for _, name := range ofAllTenants {
		delete(page, name)
	}
	if dataplane, is := page["dataplane"].(schema.Object); is {
		for name := range dataplane {
			if strings.HasPrefix(name, "cpu_") || name == "rss_bytes" {
				delete(dataplane, name)
			}
		}
	}
	return page
}

// runtimeOf returns what engines report about an object; nil: its kind has no runtime.
func (c *call) runtimeOf(record *store.Record) schema.Object {
	report := c.api.reports[record.Kind][runtimePage]
	if report == nil {
		return nil
	}
	runtime, _ := c.toldOf(record, report).(schema.Object)
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
	if runtime := c.runtimeOf(record); runtime != nil {
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
