package rest

import (
	"net/http"
	"strings"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/schema"
)

// eventLogs is the type of the logs that Weir keeps. It does not keep logs of connections and requests yet.
const eventLogs = "2"

// showLogs lists events, newest first: "GET /api/analytics/logs?type=2". With virtualservice or obj_uuid, it lists the
// events of one object; with event_id, those of one kind.
func showLogs(c *call) error {
	if kind := c.query.Get("type"); kind != eventLogs {
		return &badQuery{"type", "give 2, for events: no other logs are kept yet"}
	}
	page, err := parsePage(c.query)
	if err != nil {
		return err
	}
	object, err := c.loggedObject()
	if err != nil {
		return err
	}
	found := []events.Entry{}
	for _, entry := range c.api.events.Entries() {
		if c.maySee(entry) && (object == "" || entry.UUID == object) && c.asksFor(entry.ID) {
			found = append(found, entry)
		}
	}
	from, to := page.bounds(len(found))
	answer := schema.Object{"count": len(found), "results": found[from:to], "percent_remaining": 0}
	if page.hasNext(len(found)) {
		answer["next"] = c.origin() + "/api/analytics/logs?" + page.next(c.query).Encode()
	}
	return c.reply(http.StatusOK, answer)
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

func (c *call) asksFor(id string) bool {
	asked := c.query.Get("event_id")
	return asked == "" || strings.EqualFold(asked, id)
}

// maySee tells whether a tenant may see an event. It may see the events of its own objects, and of engines.
func (c *call) maySee(entry events.Entry) bool {
	return c.tenant.All || c.tenant.UUID == entry.Tenant || entry.Kind == "SERVICEENGINE"
}
