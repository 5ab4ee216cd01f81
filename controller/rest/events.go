package rest

import (
	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/logs/query"
)

// maxLogPageSize is that of Avi: its clients read logs in pages of 10,000.
const maxLogPageSize = query.MaxRows

// Types of logs, as Avi numbers them.
const (
	connectionLogs = "0"
	requestLogs    = "1"
	eventLogs      = "2"
)

// showLogs lists records, newest first: "GET /api/analytics/logs?type=1" those of requests, type=0 those of
// connections, and type=2 events.
func showLogs(c *call) error {
	switch c.query.Get("type") {
	case requestLogs:
		return c.showRequests(query.Requests)
	case connectionLogs:
		return c.showRequests(query.Connections)
	case eventLogs:
		return c.showEvents()
	}
	return &badQuery{"type", "give 1 for requests, 0 for connections, or 2 for events"}
}

// showEvents lists events. With virtualservice or obj_uuid, it lists those of one object; with event_id, those of one
// kind.
func (c *call) showEvents() error {
	object, err := c.loggedObject()
	if err != nil {
		return err
	}
	var where []query.Expr
	if object != "" {
		where = append(where, query.Compare("obj_uuid", query.Eq, object))
	}
	if id := c.query.Get("event_id"); id != "" {
		where = append(where, query.Compare("event_id", query.Eq, id))
	}
	return c.showRecords(records{
		kind: query.Events, time: "report_timestamp", pageSize: defaultPageSize,
		also:   []string{"type", "virtualservice", "obj_uuid", "event_id"},
		scope:  query.Scope{All: c.tenant.All, Tenant: c.tenant.UUID},
		where:  where,
		recent: c.recentEvents,
	})
}

func (c *call) recentEvents() []query.Row {
	var rows []query.Row
	for _, entry := range c.api.events.Entries() {
		if c.maySee(entry) {
			rows = append(rows, rowOf(entry.Time, entry.Fields()))
		}
	}
	return rows
}

// loggedObject returns the uuid of the object that the query asks about; empty: all.
func (c *call) loggedObject() (string, error) {
	named := c.query.Get("virtualservice")
	if named == "" {
		return c.query.Get("obj_uuid"), nil
	}
	if _, known := c.view.Get("virtualservice", named); known {
		return named, nil
	}
	found, err := admit.Lookup(c.view, c.tenant, "virtualservice", "/api/virtualservice?name="+named)
	if err != nil {
		return "", &badQuery{"virtualservice", err.Error()}
	}
	return found.UUID, nil
}

// maySee tells whether a tenant may see an event. It may see the events of its own objects, and of engines.
func (c *call) maySee(entry events.Entry) bool {
	return c.tenant.All || c.tenant.UUID == entry.Tenant || entry.ForAll()
}

// showAudit lists who did what, newest first: "GET /api/audit".
func showAudit(c *call) error {
	return c.showRecords(records{
		kind: query.Audit, time: "time", pageSize: auditPageSize, optional: []string{"refused", "name", "old", "new"},
		scope: query.Scope{All: true}, recent: c.recentAudit, where: c.hiddenKinds(),
	})
}

// hiddenKinds leave out of the audit trail what is about objects that the user may not read.
func (c *call) hiddenKinds() (where []query.Expr) {
	hide := func(resource string, names ...string) {
		if c.who.Access(resource, admit.Everywhere) < admit.ReadAccess {
			for _, name := range names {
				where = append(where, query.Compare("kind", query.Ne, name))
			}
		}
	}
	for _, kind := range schema.Kinds() {
		hide(kind.Permission, kind.Name)
	}
	users, _ := schema.Lookup("user")
	hide(users.Permission, "useraccount")
	hide(schema.JoinResource, "securetoken")
	return where
}

// auditPageSize is larger than that of other lists: clients of the audit trail read it whole.
const auditPageSize = 1000

func (c *call) recentAudit() []query.Row {
	var rows []query.Row
	for _, entry := range c.api.gate.Audit.Entries() {
		rows = append(rows, rowOf(entry.Time, entry.Fields()))
	}
	return rows
}
