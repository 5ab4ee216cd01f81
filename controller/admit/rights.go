package admit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const roleKind = "role"

// Access is how far a user may go with a resource of roles. Each includes those before it.
type Access int

const (
	NoAccess Access = iota
	ReadAccess
	WriteAccess
)

var accessNames = [...]string{NoAccess: schema.NoAccess, ReadAccess: schema.ReadAccess, WriteAccess: schema.WriteAccess}

func (a Access) String() string { return accessNames[a] }

// Everywhere stands for all tenants together.
var Everywhere = Tenant{UUID: AdminTenant, Name: "*", All: true}

// grant is one entry of a user's access: a role in a tenant, or in all.
type grant struct {
	tenant string // uuid
	all    bool
	role   *store.Record // nil: the user is a reader there
}

// rights are all grants of a user.
type rights []grant

// rightsOf reads the access of a user. barredBy is the first role that gives nothing; empty: none.
func rightsOf(view *store.View, user schema.Object) (granted rights, barredBy string) {
	has := map[grant]bool{}
	for _, entry := range accessOf(user) {
		of := grantOf(entry)
		ref := textOf(entry, "role_ref")
		of.role = roleNamed(view, ref)
		switch {
		case ref != "" && (of.role == nil || !of.roleFits()):
			barredBy = cmp.Or(barredBy, ref)
		case (of.all || of.tenant != "") && !has[of]: // each is looked at for each resource: repetitions would cost
			has[of] = true
			granted = append(granted, of)
		}
	}
	return granted, barredBy
}

// grantOf reads where an entry of access counts.
func grantOf(entry schema.Object) grant {
	return grant{tenant: tenantIn(entry, "tenant_ref"), all: entry["all_tenants"] == true}
}

// accessOf are the entries of a user's access.
func accessOf(user schema.Object) (entries []schema.Object) {
	list, _ := user["access"].([]any)
	for _, item := range list {
		if entry, is := item.(schema.Object); is {
			entries = append(entries, entry)
		}
	}
	return entries
}

// roleNamed finds the role of a reference. A reference by name is one that an earlier version stored: it counts for
// built-in roles only, because others could be made, or renamed, to fit it. nil: there is none.
func roleNamed(view *store.View, ref string) *store.Record {
	if ref == "" {
		return nil
	}
	target, err := schema.ParseRef(roleKind, ref)
	if err != nil {
		return nil
	}
	found, ok := view.Get(roleKind, target.UUID)
	if target.UUID == "" {
		found, ok = builtInNamed(view, roleKind, target.Name)
	}
	if !ok {
		return nil
	}
	return found
}

// roleFits tells whether the role counts where it is granted: one of admin everywhere, one of another tenant there
// only.
func (g grant) roleFits() bool {
	return g.role.Tenant == AdminTenant || !g.all && g.role.Tenant == g.tenant
}

// where is the tenant of a grant.
func (g grant) where(view *store.View) Tenant {
	if g.all {
		return Everywhere
	}
	if tenant, known := tenantWith(view, g.tenant); known {
		return tenant
	}
	return Tenant{UUID: g.tenant, Name: g.tenant}
}

func (g grant) covers(tenant Tenant) bool { return g.all || !tenant.All && g.tenant == tenant.UUID }

// allows tells how far the user may go with a resource where the grant counts.
func (g grant) allows(resource string) Access {
	if g.role != nil {
		return allowedBy(g.role.Object, resource)
	}
	if slices.Contains(hiddenFromReaders, resource) {
		return NoAccess
	}
	return ReadAccess
}

// hiddenFromReaders are the resources that nobody opens without a role: they are about other people.
var hiddenFromReaders = []string{userResource, schema.AuditResource}

// allowedBy tells how far a role lets its users go with a resource.
func allowedBy(role schema.Object, resource string) Access {
	list, _ := role["privileges"].([]any)
	for _, item := range list {
		if one, _ := item.(schema.Object); one["resource"] == resource {
			return Access(max(0, slices.Index(accessNames[:], textOf(one, "type"))))
		}
	}
	return NoAccess
}

// enter tells whether the user has any role in a tenant.
func (r rights) enter(tenant Tenant) bool {
	return slices.ContainsFunc(r, func(g grant) bool { return g.covers(tenant) })
}

// in tells how far the user may go with a resource in a tenant.
func (r rights) in(tenant Tenant, resource string) (most Access) {
	for _, g := range r {
		if g.covers(tenant) {
			most = max(most, g.allows(resource))
		}
	}
	return most
}

// tenantIn returns the uuid that a field refers to.
func tenantIn(object schema.Object, field string) string {
	return strings.TrimPrefix(textOf(object, field), schema.RefPath(tenantKind, ""))
}
