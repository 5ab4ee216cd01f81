package admit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

	bearer     string // the user token that came with the request itself
	byToken    bool   // the request, or the login of its session, had a user token
	mark       string // mark of the user's password; sessions with another mark are over
	everywhere bool
	tenants    []string // uuids
	barredBy   string   // the first role of the user that gives no access; empty: none
	home       string   // uuid of the tenant for requests that name none
}

// MayEnter refuses a tenant that the user has no access to.
func (p Principal) MayEnter(tenant Tenant) error {
	if p.Superuser || p.everywhere || !tenant.All && slices.Contains(p.tenants, tenant.UUID) {
		return nil
	}
	name := tenant.Name
	if tenant.All {
		name = "*"
	}
	why := ""
	if p.barredBy != "" {
		why = fmt.Sprintf(": Weir has no roles yet, and what %s allows is not known", p.barredBy)
	}
	return &Forbidden{fmt.Sprintf("User %s has no access to tenant %s%s", p.Name, name, why)}
}

// Knows tells whether the user may see an object. Users do not see the names of tenants that they have no access to.
func (p Principal) Knows(record *store.Record) bool {
	return record.Kind != tenantKind || p.MayEnter(Tenant{UUID: record.UUID}) == nil
}

// MayRead refuses users that are no superuser a kind whose objects describe other people.
func (p Principal) MayRead(kind *schema.Kind) error {
	if p.Superuser || kind.Name != userKind {
		return nil
	}
	return &Forbidden{fmt.Sprintf("User %s may not read %s", p.Name, kind.Name)}
}

func (w Write) mayCreate() error {
	if !w.Kind.Creatable() {
		return &NotAllowed{"Method 'POST' not allowed"}
	}
	return w.mayWrite("create")
}

func (w Write) mayDelete() error {
	if w.Kind.Only != "" {
		return &NotAllowed{"Method 'DELETE' not allowed"}
	}
	return w.mayWrite("delete")
}

// mayWrite lets only superusers write, until roles are objects.
func (w Write) mayWrite(action string) error { return w.Who.MayWrite(action, w.Kind) }

// MayWrite refuses users that may not create, change or delete objects of a kind.
func (p Principal) MayWrite(action string, kind *schema.Kind) error {
	if p.Superuser {
		return nil
	}
	return &Forbidden{fmt.Sprintf("User %s may not %s a %s: only administrators (superusers) may", p.Name, action,
		kind.Name)}
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
	access, _ := record.Object["access"].([]any)
	for _, item := range access {
		entry, _ := item.(schema.Object)
		if !letsIn(entry) {
			p.barredBy = cmp.Or(p.barredBy, textOf(entry, "role_ref"))
			continue
		}
		p.everywhere = p.everywhere || entry["all_tenants"] == true
		if uuid := tenantIn(entry, "tenant_ref"); uuid != "" {
			p.tenants = append(p.tenants, uuid)
		}
	}
	p.home = tenantIn(record.Object, "default_tenant_ref")
	if p.MayEnter(Tenant{UUID: p.home}) != nil && len(p.tenants) > 0 {
		p.home = p.tenants[0]
	}
	return p, true
}

// everythingRole is the role that allows everything. Weir gives its users a part of that.
const everythingRole = "System-Admin"

// letsIn tells whether an entry of a user's access lets the user into its tenant. Roles are not objects yet, so Weir
// does not know what they allow. An entry must never give more than its role would.
func letsIn(entry schema.Object) bool {
	ref := textOf(entry, "role_ref")
	if ref == "" {
		return true
	}
	target, err := schema.ParseRef("role", ref)
	_, label, labelled := strings.Cut(ref, "#")
	name := cmp.Or(target.Name, label, target.UUID)
	return err == nil && name == everythingRole && (!labelled || label == name)
}

// tenantIn returns the uuid that a field refers to.
func tenantIn(object schema.Object, field string) string {
	return strings.TrimPrefix(textOf(object, field), schema.RefPath(tenantKind, ""))
}
