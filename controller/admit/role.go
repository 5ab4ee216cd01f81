package admit

import (
	"fmt"
	"slices"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const userKind = "user"

// Principal is the user that a request comes from.
type Principal struct {
	UUID, Name string
	Superuser  bool
	Address    string // where the request came from
	SessionID  string // empty: basic authentication, or a bearer token

	bearer   string // the user token that came with the request itself
	byToken  bool   // the request, or the login of its session, had a user token
	mark     string // mark of the user's password; sessions with another mark are over
	rights   rights
	barredBy string // the first role of the user that gives no access; empty: none
	home     string // uuid of the tenant for requests that name none
}

// MayEnter refuses a tenant that the user has no access to.
func (p Principal) MayEnter(tenant Tenant) error {
	if p.Superuser || p.rights.enter(tenant) {
		return nil
	}
	name := tenant.Name
	if tenant.All {
		name = "*"
	}
	why := ""
	if p.barredBy != "" {
		why = fmt.Sprintf(": there is no role %s", p.barredBy)
	}
	return &Forbidden{fmt.Sprintf("User %s has no access to tenant %s%s", p.Name, name, why)}
}

// Access tells how far the user may go with a resource of roles in a tenant.
func (p Principal) Access(resource string, tenant Tenant) Access {
	if p.Superuser {
		return WriteAccess
	}
	return p.rights.in(tenant, resource)
}

// May refuses what needs more access to a resource than the user has in a tenant. Error: *Lacking. This is the one
// place where a role decides.
func (p Principal) May(access Access, resource string, tenant Tenant) error {
	if p.Access(resource, tenant) >= access {
		return nil
	}
	return &Lacking{User: p.Name, Access: access, Resource: resource, Tenant: tenant.Name}
}

// Knows tells whether the user may see an object that the tenant sees. Users do not see the names of tenants that they
// have no access to, nor users who have access to tenants whose users they may not read.
func (p Principal) Knows(record *store.Record) bool {
	switch record.Kind {
	case tenantKind:
		return p.MayEnter(Tenant{UUID: record.UUID}) == nil
	case userKind:
		return p.UUID == record.UUID || !slices.ContainsFunc(belongings(record.Object), func(tenant Tenant) bool {
			return p.Access(userResource, tenant) < ReadAccess
		})
	}
	return true
}

// nameRoles turns references to roles by name into those by uuid, for roles of the tenant in which they are granted:
// the user does not belong to that tenant, so that nothing else would find them there.
func (w Write) nameRoles(view *store.View, user schema.Object) {
	for _, entry := range accessOf(user) {
		role, err := schema.ParseRef(roleKind, textOf(entry, "role_ref"))
		if err != nil || role.UUID != "" || role.Tenant != "" || entry["all_tenants"] == true {
			continue
		}
		in, err := schema.ParseRef(tenantKind, textOf(entry, "tenant_ref"))
		if err != nil {
			continue
		}
		tenant, err := lookUp(view, in, Tenant{UUID: AdminTenant}, w.knows)
		if err != nil {
			continue // resolve says so
		}
		if found, ok := view.ByName(roleKind, tenant.UUID, role.Name); ok {
			entry["role_ref"] = schema.RefPath(roleKind, found.UUID)
		}
	}
}

const userResource = "PERMISSION_USER"

// belongings are the tenants that a user belongs to. Who may write users in all of them may write the user.
func belongings(user schema.Object) (tenants []Tenant) {
	if user["is_superuser"] == true {
		return []Tenant{Everywhere}
	}
	for _, entry := range accessOf(user) {
		if entry["all_tenants"] == true {
			return []Tenant{Everywhere}
		}
		if uuid := tenantIn(entry, "tenant_ref"); uuid != "" {
			tenants = append(tenants, Tenant{UUID: uuid, Name: uuid})
		}
	}
	if tenants == nil {
		return []Tenant{{UUID: AdminTenant, Name: AdminTenant}}
	}
	return tenants
}

func (w Write) mayCreate() error {
	if !w.Kind.Creatable() {
		return &NotAllowed{"Method 'POST' not allowed"}
	}
	return w.mayWrite()
}

func (w Write) mayDelete() error {
	if w.Kind.Only != "" {
		return &NotAllowed{"Method 'DELETE' not allowed"}
	}
	return w.mayWrite()
}

// mayWrite refuses users that may not write objects of the kind in the tenant of the request.
func (w Write) mayWrite() error { return w.Who.May(WriteAccess, w.Kind.Permission, w.Tenant) }

// MayWriteIn refuses users that may not write objects of the kind in the tenant that owns the object: a tenant sees
// objects of admin, too, and an object can name a tenant. Of the owner of a user, mayGrant decides.
func (w Write) MayWriteIn(view *store.View, owner string) error {
	if w.Kind.Name == userKind {
		return nil
	}
	return w.Who.May(WriteAccess, w.Kind.Permission, grant{tenant: owner}.where(view))
}

// known returns the object that a write is about, if its author may write it. Error: *NotFound, *Lacking.
func (w Write) known(view *store.View, id string) (*store.Record, error) {
	record, err := Find(view, w.Tenant, w.Kind, id)
	if err != nil {
		return nil, err
	}
	if !w.Who.Knows(record) {
		return nil, &NotFound{w.Kind.Title}
	}
	return record, w.MayWriteIn(view, record.Tenant)
}

// now is the write with the rights that its author has now: since the request began, they may have become fewer.
func (w Write) now(view *store.View) (Write, error) {
	if w.system || w.Who.UUID == "" {
		return w, nil
	}
	who, active := principalOf(view, w.Who.UUID, w.Who.Address)
	if !active {
		return w, ErrNotLoggedIn
	}
	w.Who.Superuser, w.Who.rights, w.Who.barredBy = who.Superuser, who.rights, who.barredBy
	return w, nil
}

// keepsAdministrator refuses a change after which nobody could administer the controller.
func keepsAdministrator(kind *schema.Kind, user schema.Object) error {
	if kind.Name != userKind || user["uuid"] != schema.BuiltinUUID(userKind, "admin") {
		return nil
	}
	for _, field := range []string{"is_superuser", "is_active"} {
		if user[field] != true {
			return &schema.FieldError{Kind: kind.Name, Field: field,
				Problem: "stays true for the built-in administrator"}
		}
	}
	return nil
}

func principalOf(view *store.View, userUUID, address string) (Principal, bool) {
	record, ok := view.Get(userKind, userUUID)
	if !ok || record.Object["is_active"] == false {
		return Principal{}, false
	}
	superuser, _ := record.Object["is_superuser"].(bool)
	p := Principal{UUID: record.UUID, Name: textOf(record.Object, "username"), Superuser: superuser, Address: address,
		mark: hashOf(textOf(record.Object, "password"))}
	p.rights, p.barredBy = rightsOf(view, record.Object)
	p.home = tenantIn(record.Object, "default_tenant_ref")
	if p.MayEnter(Tenant{UUID: p.home}) != nil {
		for _, g := range p.rights {
			if !g.all {
				p.home = g.tenant
				break
			}
		}
	}
	return p, true
}
