package rest

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/controller/store"
)

// This file has the inventories of Avi, of every kind: lists of objects, each with what engines report, its health
// score and numbers. "GET /api/<kind>-inventory[/<uuid>]".

const inventorySuffix = "-inventory"

// emptyInventories are those of kinds that Weir does not have. Exporters ask for them in any case.
var emptyInventories = []string{"gslbservice", "network"}

// aboutMetrics are the parameters of an inventory that concern numbers; all others are filters.
var aboutMetrics = []string{"metric_id", "step", "limit", "start", "stop", "pad_missing_data"}

// inventory returns the endpoint of an inventory.
func (c *call) inventory() (endpoint, bool) {
	if len(c.path) < 2 || len(c.path) > 3 || c.path[0] != "api" {
		return endpoint{}, false
	}
	name, is := strings.CutSuffix(c.path[1], inventorySuffix)
	switch {
	case !is:
		return endpoint{}, false
	case len(c.path) == 2 && slices.Contains(emptyInventories, name):
		return endpoint{tenants, nothing, methods{"GET": listNothing}}, true
	}
	kind, known := schema.Lookup(name)
	if !known {
		return endpoint{}, false
	}
	if len(c.path) == 3 {
		return endpoint{tenants, usesOf(kind), methods{"GET": func(c *call) error {
			return showInventory(c, kind)
		}}}, true
	}
	return endpoint{tenants, usesOf(kind), methods{"GET": func(c *call) error { return listInventory(c, kind) }}}, true
}

func listNothing(c *call) error {
	return c.reply(http.StatusOK, schema.Object{"count": 0, "results": []any{}})
}

func listInventory(c *call, kind *schema.Kind) error {
	filters := url.Values(maps.Clone(c.query))
	for _, name := range aboutMetrics {
		delete(filters, name)
	}
	return c.listWith(kind, filters, func(records []*store.Record) ([]schema.Object, error) {
		return c.inventoryItems(kind, records)
	})
}

func showInventory(c *call, kind *schema.Kind) error {
	record, err := admit.Find(c.view, c.tenant, kind, c.path[2])
	if err != nil {
		return err
	}
	if !c.who.Knows(record) {
		return &admit.NotFound{Title: kind.Title}
	}
	items, err := c.inventoryItems(kind, []*store.Record{record})
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, items[0])
}

// inventoryItems are the items of an inventory about these objects.
func (c *call) inventoryItems(kind *schema.Kind, records []*store.Record) ([]schema.Object, error) {
	included := func(part string) bool {
		wanted := c.query.Get("include")
		return wanted == "" || slices.Contains(itemsOf(wanted), part)
	}
	items := []schema.Object{}
	style := c.rendering()
	style.runtime = false
	for _, record := range records {
		item := schema.Object{"uuid": record.UUID, "config": c.render(kind, record, style)}
		c.relate(item, record, style)
		runtime := c.runtimeOf(record)
		if score, graded := runtime["health_score"]; graded && included("health_score") {
			item["health_score"] = score
		}
		if runtime != nil && included("runtime") {
			delete(runtime, "health_score")
			item["runtime"] = c.withURLs(runtime)
		}
		items = append(items, item)
	}
	if c.query.Get("metric_id") == "" || !included("metrics") {
		return items, nil
	}
	return items, c.addMetrics(kind, items, records)
}

// relate adds the objects that an object belongs together with.
func (c *call) relate(item schema.Object, record *store.Record, style rendering) {
	config := item["config"].(schema.Object)
	if record.Kind == "virtualservice" {
		item["app_profile_type"] = c.applicationType(record)
		item["pools"] = c.poolsOf(record, style)
		if vip, known := c.referred(record, "vsvip_ref"); known && config["vip"] == nil {
			config["vip"] = vip.Object["vip"]
		}
		return
	}
	services := []any{}
	for _, user := range c.servicesWith(record) {
		services = append(services, schema.Object{"uuid": user.UUID, "name": user.Name,
			"ref": c.url(user.Kind, user.UUID, style.names)})
		if record.Kind == "pool" {
			item["app_profile_type"] = c.applicationType(user)
		}
	}
	item["virtualservices"] = services
}

// servicesWith are the virtual services that use an object: by a reference of their own, or by a rule.
func (c *call) servicesWith(record *store.Record) (services []*store.Record) {
	add := func(referrer *store.Record) {
		is := func(known *store.Record) bool { return known.UUID == referrer.UUID }
		if referrer.Kind == "virtualservice" && c.tenant.Sees(referrer) && !slices.ContainsFunc(services, is) {
			services = append(services, referrer)
		}
	}
	seen := map[string]bool{}
	var follow func(of *store.Record)
	follow = func(of *store.Record) {
		for referrer := range c.view.Referrers(of.Kind, of.UUID) {
			if add(referrer); slices.Contains(leadToPools, referrer.Kind) && !seen[referrer.UUID] {
				seen[referrer.UUID] = true
				follow(referrer)
			}
		}
	}
	follow(record)
	return services
}

// leadToPools are the kinds through which virtual services have pools: a pool may have a backup.
var leadToPools = []string{"httppolicyset", "vsdatascriptset", "l4policyset", "poolgroup", "pool"}

// poolsOf are the pools of a virtual service: its own, those of groups, those that rules choose, and those that take
// over.
func (c *call) poolsOf(service *store.Record, style rendering) []any {
	pools, seen := []any{}, map[string]bool{}
	var follow func(of *store.Record)
	follow = func(of *store.Record) {
		kind, _ := schema.Lookup(of.Kind)
		for _, reference := range kind.References(of.Object) {
			uuid := reference.Value[strings.LastIndexByte(reference.Value, '/')+1:]
			record, known := c.view.Get(reference.Kind, uuid)
			if !slices.Contains(leadToPools, reference.Kind) || seen[uuid] || !known {
				continue
			}
			if seen[uuid] = true; reference.Kind == "pool" {
				pools = append(pools, c.url("pool", uuid, style.names))
			}
			follow(record)
		}
	}
	follow(service)
	return pools
}

// applicationType is the type of the application profile of a virtual service; empty: it has none.
func (c *call) applicationType(service *store.Record) string {
	profile, known := c.referred(service, "application_profile_ref")
	if !known {
		return ""
	}
	return text(profile.Object["type"])
}

// referred is the object that a field refers to.
func (c *call) referred(record *store.Record, field string) (*store.Record, bool) {
	kind, uuid, _ := strings.Cut(strings.TrimPrefix(text(record.Object[field]), "/api/"), "/")
	return c.view.Get(kind, uuid)
}

// addMetrics adds the newest values of metrics. Objects whose numbers the tenant does not see have none.
func (c *call) addMetrics(kind *schema.Kind, items []schema.Object, records []*store.Record) error {
	of, err := metricKind(kind.Name)
	if err != nil {
		return &badQuery{"metric_id", err.Error()}
	}
	fields := schema.Object{}
	for _, name := range aboutMetrics {
		if c.query.Has(name) {
			fields[name] = c.query.Get(name)
		}
	}
	asked, err := c.metricRequest(of, fields)
	if err != nil {
		return err
	}
	asked.records = slices.DeleteFunc(slices.Clone(records), func(r *store.Record) bool { return !c.owns(r) })
	answers := []series.Answer{}
	if len(asked.records) > 0 {
		if err := boundValues(asked); err != nil {
			return err
		}
		if answers, err = c.api.metrics.Ask(c.r.Context(), asked.questions(c.tenant)); err != nil {
			return err
		}
	}
	found := byObject(answers)
	for i, record := range records {
		shown := schema.Object{}
		if c.owns(record) {
			for _, one := range asked.seriesOf(c, record, found) {
				one := one.(schema.Object)
				header, data := one["header"].(schema.Object), one["data"].([]any)
				metric := schema.Object{"value": nil, "data": schema.Object{"value": nil}, "headers": header}
				if len(data) > 0 {
					metric["data"] = data[len(data)-1]
					metric["value"] = data[len(data)-1].(schema.Object)["value"]
				}
				shown[header["name"].(string)] = metric
			}
		}
		items[i]["metrics"] = shown
	}
	return nil
}
