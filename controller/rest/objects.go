package rest

import (
	"math"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// list answers with one page of the objects of a kind that match the query.
func list(c *call, kind *schema.Kind) error {
	style := c.rendering()
	return c.listWith(kind, c.query, func(records []*store.Record) ([]schema.Object, error) {
		results := []schema.Object{}
		for _, record := range records {
			results = append(results, c.render(kind, record, style))
		}
		return results, nil
	})
}

// listWith answers with one page of the objects of a kind that match filters, as show shows them.
func (c *call) listWith(kind *schema.Kind, filters url.Values,
	show func([]*store.Record) ([]schema.Object, error)) error {
	tenant, err := c.listedTenant()
	if err != nil {
		return err
	}
	page, err := parsePage(c.query)
	if err != nil {
		return err
	}
	limit, err := positive(c.query, "limit_by", math.MaxInt32, math.MaxInt32)
	if err != nil {
		return err
	}
	found, err := c.matching(kind, tenant, filters)
	if err != nil {
		return err
	}
	sortRecords(kind, found, c.query.Get("sort"))
	found = found[:min(len(found), limit)]
	results, err := show(page.of(found))
	if err != nil {
		return err
	}
	answer := schema.Object{"count": len(found), "results": results}
	if page.hasNext(len(found)) {
		answer["next"] = c.origin() + "/" + strings.Join(c.path, "/") + "?" + page.next(c.query).Encode()
	}
	return c.reply(http.StatusOK, answer)
}

// matching returns the objects of a tenant that match filters. All cores filter if there are many objects.
func (c *call) matching(kind *schema.Kind, tenant admit.Tenant, filters url.Values) ([]*store.Record, error) {
	all := c.candidates(kind)
	cores := runtime.GOMAXPROCS(0)
	share := max(filteredAtOnce, (len(all)+cores-1)/cores)
	found, panics := make([][]*store.Record, len(all)/share+1), make([]any, len(all)/share+1)
	var filtering sync.WaitGroup
	defer filtering.Wait()
	for i := range found {
		match, err := parseFilters(c.view, kind, filters, c.mayRead) // a filter is for one goroutine
		if err != nil {
			return nil, err
		}
		filtering.Go(func() {
			defer func() { panics[i] = recover() }() // the caller's goroutine survives a panic
			for _, record := range all[i*share : min((i+1)*share, len(all))] {
				if tenant.Sees(record) && c.who.Knows(record) && match(record) {
					found[i] = append(found[i], record)
				}
			}
		})
	}
	filtering.Wait()
	if i := slices.IndexFunc(panics, func(cause any) bool { return cause != nil }); i >= 0 {
		panic(panics[i])
	}
	return slices.Concat(found...), nil
}

// mayRead tells whether the user may read an object, of any kind.
func (c *call) mayRead(record *store.Record) bool {
	kind, known := schema.Lookup(record.Kind)
	return known && c.tenant.Sees(record) && c.who.Knows(record) &&
		c.who.Access(kind.Permission, c.tenant) >= admit.ReadAccess
}

// filteredAtOnce is the number of objects for which a second goroutine is worth its start.
const filteredAtOnce = 512

// candidates returns the objects to filter. With a name in the query, it uses the index by name: the list of the whole
// kind is built again after each change.
func (c *call) candidates(kind *schema.Kind) []*store.Record {
	if name := c.query.Get("name"); name != "" {
		return slices.Collect(c.view.Named(kind.Name, name))
	}
	return c.view.List(kind.Name)
}

// listedTenant returns the tenant that the query names, or else that of the request.
func (c *call) listedTenant() (admit.Tenant, error) {
	for _, name := range []string{"tenant", "tenant_ref.name"} {
		if named := c.query.Get(name); named != "" {
			tenant, err := admit.TenantOf(c.view, c.who, named, "")
			if err == nil {
				err = c.needIn(tenant)
			}
			return tenant, err
		}
	}
	return c.tenant, nil
}

func show(c *call, kind *schema.Kind) error {
	record, err := admit.Find(c.view, c.tenant, kind, c.id(kind))
	if err != nil {
		return err
	}
	if !c.who.Knows(record) {
		return &admit.NotFound{Title: kind.Title}
	}
	return c.reply(http.StatusOK, c.render(kind, record, c.rendering()))
}

func create(c *call, kind *schema.Kind) error {
	sent, err := c.object(kind.Name)
	if err != nil {
		return err
	}
	record, err := c.api.gate.Create(c.r.Context(), c.write(kind), sent, c.r.Header.Get("Slug"))
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", c.origin()+schema.RefPath(kind.Name, record.UUID))
	return c.written(http.StatusCreated, kind, record, sent)
}

// replace puts a new state in place of the stored one. An empty body changes nothing, as in Avi's controller.
func replace(c *call, kind *schema.Kind) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	return c.change(kind, func(stored schema.Object) (schema.Object, error) {
		if len(body) == 0 {
			return stored, nil
		}
		return schema.Parse(kind.Name, body)
	})
}

func patch(c *call, kind *schema.Kind) error {
	sent, err := c.object(kind.Name)
	if err != nil {
		return err
	}
	edits, err := parsePatch(kind.Name, sent)
	if err != nil {
		return err
	}
	for _, name := range edits.unknown {
		c.warnings = append(c.warnings, schema.Warning{Field: name,
			Message: "is no part of a patch, which has add, replace, delete and json_patch: dropped"})
	}
	return c.change(kind, func(stored schema.Object) (schema.Object, error) {
		kind.Hide(stored) // a patch can copy a field: it must not copy a secret to where the client can read it
		return edits.apply(stored)
	})
}

func (c *call) change(kind *schema.Kind, edit admit.Edit) error {
	var sent schema.Object
	record, err := c.api.gate.Change(c.r.Context(), c.write(kind), c.id(kind),
		func(stored schema.Object) (schema.Object, error) {
			next, err := edit(stored)
			sent = next
			return next, err
		})
	if err != nil {
		return err
	}
	return c.written(http.StatusOK, kind, record, sent)
}

func remove(c *call, kind *schema.Kind) error {
	if err := c.api.gate.Delete(c.r.Context(), c.write(kind), c.id(kind)); err != nil {
		return err
	}
	c.tellRevision()
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// id returns the uuid in the path. For a kind with only one object, the path needs none.
func (c *call) id(kind *schema.Kind) string {
	if len(c.path) < 3 {
		return kind.Only
	}
	return c.path[2]
}

// written answers a write: with the whole object, the names of the objects that it refers to, and warnings.
func (c *call) written(status int, kind *schema.Kind, record *store.Record, sent schema.Object) error {
	c.view = c.api.store.View()
	c.tellRevision()
	style := c.rendering()
	style.names = true
	shown := c.render(kind, record, style)
	if warnings := append(c.warnings, c.warningsOf(kind, sent, record.Object)...); len(warnings) > 0 {
		shown["weir_warnings"] = warnings
	}
	return c.reply(status, shown)
}

// RuleFaults finds rules of a policy that never have an effect, and says why.
type RuleFaults func(kind string, policy schema.Object, objects *store.View) []schema.Warning

// warningsOf lists the fields that were dropped, and the fields and rules of the stored object that have no effect.
func (c *call) warningsOf(kind *schema.Kind, sent, stored schema.Object) []schema.Warning {
	var warnings []schema.Warning
	for _, unknown := range kind.AllUnknown(sent) {
		warnings = append(warnings, schema.Warning{Field: unknown.Field, Message: unknown.Problem + ": dropped"})
	}
	for _, kept := range append(kind.KeptFields(stored), kind.Misnamed(stored, c.nameOf)...) {
		warnings = append(warnings, schema.Warning{Field: kept.Field, Message: kept.Why})
	}
	return append(warnings, c.api.faults(kind.Name, stored, c.view)...)
}

// nameOf returns the name of the object that a stored reference leads to; empty: there is none.
func (c *call) nameOf(reference string) string {
	kind, uuid, _ := strings.Cut(strings.TrimPrefix(reference, "/api/"), "/")
	record, known := c.view.Get(kind, uuid)
	if !known {
		return ""
	}
	name, _ := record.Object["name"].(string)
	return name
}
