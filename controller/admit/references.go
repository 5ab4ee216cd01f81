package admit

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// resolve turns every reference of an object into "/api/<kind>/<uuid>" of an existing object. An object keeps the
// references that it has in stored: an earlier version, or the controller, may refer to an object of another tenant. To
// the writer, what is in a tenant without access does not exist.
func (w Write) resolve(view *store.View, object schema.Object, tenant Tenant, stored *store.Record) error {
	kind := w.Kind
	for _, reference := range kind.References(object) {
		target, err := schema.ParseRef(reference.Kind, reference.Value)
		if err != nil {
			return &schema.FieldError{Kind: kind.Name, Field: reference.Field, Problem: err.Error()}
		}
		from, knows := tenant, w.knows
		if stored != nil && target.UUID != "" && stored.RefersTo(target.Kind, target.UUID) {
			from.All, knows = true, everything
		}
		found, err := lookUp(view, target, from, knows)
		if err != nil && stored != nil && holds(kind, stored.Object, reference) {
			continue // it was stored before Weir looked at such references, and leads nowhere
		}
		if err != nil {
			return &schema.FieldError{Kind: kind.Name, Field: reference.Field, Problem: err.Error()}
		}
		reference.Set(schema.RefPath(found.Kind, found.UUID))
	}
	return nil
}

// knows tells whether the writer may hear of an object: one of a tenant that the user has access to, or one that admin
// shares with all.
func (w Write) knows(record *store.Record) bool {
	if w.system || record.UUID == AdminTenant {
		return true
	}
	if record.Kind == tenantKind {
		return w.Who.Knows(record)
	}
	return record.Tenant == AdminTenant || w.Who.MayEnter(Tenant{UUID: record.Tenant}) == nil
}

func everything(*store.Record) bool { return true }

// holds tells whether an object has this very reference.
func holds(kind *schema.Kind, object schema.Object, reference schema.Reference) bool {
	return slices.ContainsFunc(kind.References(object), func(held schema.Reference) bool {
		return held.Field == reference.Field && held.Value == reference.Value
	})
}

// lookUp returns the object that a reference names: by uuid, or by name. It looks for the name in the tenant that the
// reference names, or else in the tenant of the referring object and in admin. What the writer does not know is not
// found.
func lookUp(view *store.View, target schema.RefTarget, tenant Tenant, knows func(*store.Record) bool) (
	*store.Record, error) {
	usable := func(record *store.Record) bool { return usableFrom(record, tenant) && knows(record) }
	if target.UUID != "" {
		found, ok := view.Get(target.Kind, target.UUID)
		if ok && usable(found) {
			return found, nil
		}
		return nil, fmt.Errorf("%s not found: there is none with uuid %s", titleOf(target.Kind), target.UUID)
	}
	owners, where := []string{tenant.UUID, AdminTenant}, ""
	if target.Tenant != "" {
		named, _ := tenantNamed(view, target.Tenant)
		owners, where = []string{named.UUID}, fmt.Sprintf(" in tenant %q", target.Tenant)
	}
	for _, owner := range owners {
		found, ok := view.ByName(target.Kind, owner, target.Name)
		if ok && inCloud(view, found, target.Cloud) && usable(found) {
			return found, nil
		}
	}
	if found, ok := builtInNamed(view, target.Kind, target.Name); ok && target.Tenant == "" &&
		inCloud(view, found, target.Cloud) {
		return found, nil
	}
	return nil, fmt.Errorf("%s not found: there is none named %q%s", titleOf(target.Kind), target.Name, where)
}

// usableFrom tells whether an object of a tenant may refer to this object. It may if the object belongs to the same
// tenant or to admin, or if tenant stands for all of them.
func usableFrom(record *store.Record, tenant Tenant) bool {
	return tenant.All || record.Tenant == tenant.UUID || record.Tenant == AdminTenant
}

func inCloud(view *store.View, record *store.Record, cloud string) bool {
	if cloud == "" {
		return true
	}
	target, err := schema.ParseRef("cloud", textOf(record.Object, "cloud_ref"))
	if err != nil {
		return false
	}
	found, ok := view.Get("cloud", target.UUID)
	return ok && found.Name == cloud
}

// notReferred refuses to delete an object that others refer to.
func notReferred(view *store.View, record *store.Record) error {
	var referrers []string
	for other := range view.Referrers(record.Kind, record.UUID) {
		if other != record {
			referrers = append(referrers, titleOf(other.Kind)+" "+other.Name)
		}
	}
	if len(referrers) > 0 {
		return &InUse{referrers}
	}
	return nil
}

// nameIsPrintable refuses control characters in names, as Avi does. An object that already has such a name may keep it.
func nameIsPrintable(stored, next *store.Record) error {
	if stored != nil && stored.Name == next.Name || !strings.ContainsFunc(next.Name, unicode.IsControl) {
		return nil
	}
	return &schema.FieldError{Kind: next.Kind, Field: "name",
		Problem: fmt.Sprintf("%q contains a control character", next.Name)}
}

// nameIsFree keeps names unique within tenant and kind.
func nameIsFree(view *store.View, kind *schema.Kind, record *store.Record) error {
	other, taken := view.ByName(record.Kind, record.Tenant, record.Name)
	if taken && other.UUID != record.UUID {
		return &Duplicate{kind.Title, "name", record.Name}
	}
	return nil
}

// usernameIsFree keeps names for logins unique. A user has a name, and may have another name for logins.
func usernameIsFree(view *store.View, kind *schema.Kind, record *store.Record) error {
	if kind.Name != userKind {
		return nil
	}
	username := textOf(record.Object, "username")
	if other, taken := userNamed(view, username); taken && other.UUID != record.UUID {
		return &Duplicate{kind.Title, "username", username}
	}
	return nil
}

func titleOf(kind string) string {
	if k, ok := schema.Lookup(kind); ok {
		return k.Title
	}
	return kind
}
