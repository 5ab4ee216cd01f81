package admit

import (
	"cmp"
	"fmt"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// AdminTenant owns the built-in objects, and objects that belong to no tenant.
const AdminTenant = "admin"

const tenantKind = "tenant"

// Tenant is the tenant that a request works in.
type Tenant struct {
	UUID, Name string
	All        bool // "*": reads see all tenants, writes go to admin
}

// TenantOf returns the tenant that a request names, by name or uuid, if the user has access to it. If the request names
// none, it is the user's own tenant. Who has no access to a tenant does not learn whether there is one. Errors:
// *Forbidden.
func TenantOf(view *store.View, who Principal, name, uuid string) (Tenant, error) {
	tenant, known := Tenant{UUID: AdminTenant, Name: AdminTenant, All: true}, name == "*"
	switch {
	case known:
	case name != "":
		tenant, known = tenantNamed(view, name)
	case uuid != "":
		tenant, known = tenantWith(view, uuid)
	default:
		tenant, known = tenantWith(view, who.home)
	}
	said := cmp.Or(name, uuid, tenant.Name)
	if !known && who.MayEnter(Everywhere) == nil {
		return Tenant{}, &Forbidden{fmt.Sprintf("Tenant '%s' does not exist!", said)}
	}
	return tenant, who.MayEnter(Tenant{UUID: tenant.UUID, Name: said, All: tenant.All})
}

func tenantWith(view *store.View, uuid string) (Tenant, bool) {
	record, ok := view.Get(tenantKind, uuid)
	if !ok {
		return Tenant{}, false
	}
	return Tenant{UUID: record.UUID, Name: record.Name}, true
}

func tenantNamed(view *store.View, name string) (Tenant, bool) {
	record, ok := view.ByName(tenantKind, AdminTenant, name)
	if !ok {
		record, ok = builtInNamed(view, tenantKind, name)
	}
	if !ok {
		return Tenant{}, false
	}
	return Tenant{UUID: record.UUID, Name: record.Name}, true
}

// Sees tells whether a tenant sees an object. A tenant sees its own objects, and those of admin that are not private.
func (t Tenant) Sees(record *store.Record) bool {
	return t.All || record.Tenant == t.UUID || record.Tenant == AdminTenant && !isPrivate(record)
}

func isPrivate(record *store.Record) bool {
	kind, known := schema.Lookup(record.Kind)
	return known && kind.Private
}

// Find returns one object as a tenant sees it; error: NotFound.
func Find(view *store.View, tenant Tenant, kind *schema.Kind, uuid string) (*store.Record, error) {
	record, ok := view.Get(kind.Name, uuid)
	if !ok || !tenant.Sees(record) {
		return nil, &NotFound{kind.Title}
	}
	return record, nil
}

// ownerOf returns the tenant of a new object: the one that its tenant_ref names, or that of the request.
func ownerOf(view *store.View, w Write, sent schema.Object) (string, error) {
	if !w.Kind.PerTenant() {
		return AdminTenant, nil
	}
	named := textOf(sent, "tenant_ref")
	if named == "" {
		return w.Tenant.UUID, nil
	}
	target, err := schema.ParseRef(tenantKind, named)
	if err == nil {
		var found *store.Record
		if found, err = lookUp(view, target, Tenant{UUID: AdminTenant}, w.knows); err == nil {
			return found.UUID, nil
		}
	}
	return "", &schema.FieldError{Kind: w.Kind.Name, Field: "tenant_ref", Problem: err.Error()}
}
