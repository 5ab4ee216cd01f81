package rest

import (
	"errors"
	"net/http"
	"strings"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/series"
)

// This file has what paths ask of the roles of a user. Each path of tenants has needs in the tables of route.go and
// area.go, and serve checks them before the handler runs (permit). Where the body of a request says what it is about,
// the handler calls need, and its path has saidInside.

// need is access to a resource of roles.
type need struct {
	access   admit.Access
	resource string
	tenant   *admit.Tenant // nil: that of the request
}

// needs tells what a request asks for.
type needs func(*call) ([]need, error)

func reads(resource string) needs {
	return func(*call) ([]need, error) { return []need{{access: admit.ReadAccess, resource: resource}}, nil }
}

// readsOf is for a path about objects of a kind.
func readsOf(kind string) needs { return ofKind(admit.ReadAccess, kind) }

// actsOn is for an action on an object of a kind. The gate checks it again in the tenant that owns the object.
func actsOn(kind string) needs { return ofKind(admit.WriteAccess, kind) }

func ofKind(access admit.Access, name string) needs {
	return func(*call) ([]need, error) {
		kind, known := schema.Lookup(name)
		if !known {
			return nil, errors.New("defect: a path needs access to the kind " + name)
		}
		return []need{{access: access, resource: kind.Permission}}, nil
	}
}

// usesOf is for all that can be done with objects of a kind. The gate checks who writes, in the tenant that owns the
// object, and notes what it refuses in the audit trail.
func usesOf(kind *schema.Kind) needs {
	return func(c *call) ([]need, error) {
		if c.changes() {
			return nil, nil
		}
		return []need{{access: admit.ReadAccess, resource: kind.Permission}}, nil
	}
}

// nothing is for paths that tell nothing about objects.
func nothing(*call) ([]need, error) { return nil, nil }

// saidInside is for paths whose handlers call need, because the body says what the request is about.
func saidInside(*call) ([]need, error) { return nil, nil }

// readsAudit is for the audit trail, which is about all tenants together.
func readsAudit(*call) ([]need, error) {
	return []need{{admit.ReadAccess, schema.AuditResource, &admit.Everywhere}}, nil
}

// makesJoinTokens is for tokens with which engines join, which belong to the tenant admin.
func makesJoinTokens(*call) ([]need, error) {
	admin := admit.Tenant{UUID: admit.AdminTenant, Name: admit.AdminTenant}
	return []need{{admit.WriteAccess, schema.JoinResource, &admin}}, nil
}

// readsLogs is for events, and for records of requests and connections, which say what clients sent.
func readsLogs(c *call) ([]need, error) {
	if c.query.Get("type") == eventLogs {
		return []need{{access: admit.ReadAccess, resource: schema.EventResource}}, nil
	}
	return []need{{access: admit.ReadAccess, resource: schema.TrafficResource}}, nil
}

// measures is for the metrics of a kind that the path names.
func measures(c *call) ([]need, error) {
	kind, err := metricKind(c.path[3])
	if err != nil {
		return nil, err
	}
	return []need{{access: admit.ReadAccess, resource: measuredBy(kind)}}, nil
}

// measuredBy is the resource that opens the metrics of a kind.
func measuredBy(kind series.Kind) string {
	if of, isKind := schema.Lookup(string(kind)); isKind {
		return of.Permission
	}
	return schema.ControllerResource
}

// measuresSome is for series of all kinds: the user sees those of the kinds that a role opens.
func measuresSome(c *call) ([]need, error) {
	if len(c.measuredKinds()) > 0 {
		return nil, nil
	}
	return []need{{access: admit.ReadAccess, resource: measuredBy(series.VirtualService)}}, nil
}

// measuredKinds are the kinds whose series the user may see.
func (c *call) measuredKinds() []series.Kind {
	open := []series.Kind{}
	for _, kind := range series.Kinds {
		if c.who.Access(measuredBy(kind), c.tenant) >= admit.ReadAccess {
			open = append(open, kind)
		}
	}
	return open
}

// watches is for the topics of a stream.
func watches(c *call) (asked []need, err error) {
	for topic := range strings.SplitSeq(c.query.Get("topics"), ",") {
		name, _, _ := strings.Cut(topic, ":")
		kind, known := schema.Lookup(topicKinds[name])
		if known {
			asked = append(asked, need{access: admit.ReadAccess, resource: kind.Permission})
		}
	}
	return asked, nil
}

// topicKinds are the kinds of object that the topics of a stream are about.
var topicKinds = map[string]string{"overview": "virtualservice", "vs": "virtualservice", "pool": "pool",
	"engines": "serviceengine"}

// follows is for how far a write has come: with a kind, it is about an object of that kind.
func follows(c *call) ([]need, error) {
	kind, known := schema.Lookup(c.query.Get("kind"))
	if !known {
		return nil, nil
	}
	return []need{{access: admit.ReadAccess, resource: kind.Permission}}, nil
}

// permit checks what a path needs. It is the only check of roles for most requests.
func (c *call) permit(of endpoint) error {
	if of.audience != tenants && of.audience != watchers {
		return nil
	}
	if of.needs == nil {
		return errors.New("defect: it is not said which access this path needs")
	}
	asked, err := of.needs(c)
	if err != nil {
		return err
	}
	for _, one := range asked {
		if err := c.need(one); err != nil {
			c.noteRefusal(err)
			return err
		}
	}
	return nil
}

// noteRefusal tells the audit trail of a change that was refused before it came to the gate.
func (c *call) noteRefusal(why error) {
	if !c.changes() || len(c.path) < 2 {
		return
	}
	kind, known := schema.Lookup(c.path[1])
	switch {
	case c.path[1] == "securetoken-generate":
		c.api.gate.Audit.Note(c.who, "create", "securetoken", "", why)
	case known && len(c.path) == 4: // an action on an object
		c.api.gate.NoteRefusal(c.write(kind), c.path[3], c.path[2], why)
	case known && len(c.path) == 3:
		action := "change"
		if c.r.Method == http.MethodDelete {
			action = "delete"
		}
		c.api.gate.NoteRefusal(c.write(kind), action, c.path[2], why)
	case known:
		c.api.gate.NoteRefusal(c.write(kind), "create", "", why)
	}
}

// need refuses what the roles of the user do not allow, and notes it for streams, which ask again. Error:
// *admit.Lacking.
func (c *call) need(asked need) error {
	c.needed = append(c.needed, asked)
	return asked.of(c.who, c.tenant)
}

func (n need) of(who admit.Principal, tenant admit.Tenant) error {
	if n.tenant != nil {
		tenant = *n.tenant
	}
	return who.May(n.access, n.resource, tenant)
}

// needIn checks all that the request needs in another tenant than its own.
func (c *call) needIn(tenant admit.Tenant) error {
	for _, one := range c.needed {
		if err := one.of(c.who, tenant); err != nil {
			return err
		}
	}
	return nil
}

// listPermissions answers "GET /api/weir/permission": the resources of roles that open something in Weir, and what.
func listPermissions(c *call) error {
	results := []schema.Object{}
	for _, resource := range schema.Resources {
		kinds, beside := schema.Opens(resource)
		if len(kinds) > 0 || beside != "" {
			results = append(results, schema.Object{"resource": resource, "kinds": append([]string{}, kinds...),
				"opens": beside})
		}
	}
	return c.reply(http.StatusOK, schema.Object{"count": len(results), "results": results})
}

// privileges are what the user may do in the tenant of the request, or else in the user's own: what no role opens is
// left out.
func (c *call) privileges() []any {
	tenant, err := c.tenantOfRequest()
	open := []any{}
	if err != nil {
		return open
	}
	for _, resource := range schema.Resources {
		if access := c.who.Access(resource, tenant); access > admit.NoAccess {
			open = append(open, schema.Object{"resource": resource, "type": access.String()})
		}
	}
	return open
}

// tenantOfRequest is the tenant that the headers of a request name.
func (c *call) tenantOfRequest() (admit.Tenant, error) {
	return admit.TenantOf(c.view, c.who, c.r.Header.Get("X-Avi-Tenant"), c.r.Header.Get("X-Avi-Tenant-UUID"))
}
