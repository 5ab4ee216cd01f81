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
		of, ref := grantOf(view, entry), textOf(entry, "role_ref")
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

// grantOf reads an entry of a user's access. A role that is not there any more is nil, as no role is.
func grantOf(view *store.View, entry schema.Object) grant {
	of := grant{tenant: tenantIn(entry, "tenant_ref"), all: entry["all_tenants"] == true}
	if id := uuidOf(textOf(entry, "role_ref")); id != "" {
		of.role, _ = view.Get(roleKind, id)
	}
	return of
}

// uuidOf is the uuid in a reference to a role, or that of the built-in role that the reference names. It is empty for
// other names: earlier versions stored such references as they came, and nobody shall get a role because another role
// has taken the name since.
func uuidOf(ref string) string {
	target, err := schema.ParseRef(roleKind, ref)
	if err != nil || target.UUID != "" || target.Tenant != "" {
		return target.UUID
	}
	id := schema.BuiltinUUID(roleKind, target.Name)
	if name, builtIn := schema.BuiltinName(roleKind, id); !builtIn || name != target.Name {
		return ""
	}
	return id
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
