package admit

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// This file keeps users from getting more than they have: by a user or a role that they write, by the password of
// somebody who may do more, or by an object that has the controller tell others. And it keeps them from losing what
// they have themselves.

// mayGrant checks a write that could give somebody more than the writer has. stored is the object before (nil: it is
// new), and next the object after (nil: it is deleted). Errors: *Forbidden, *Lacking, *schema.FieldError.
func (w Write) mayGrant(view *store.View, stored, next *store.Record) error {
	if w.system {
		return nil
	}
	switch w.Kind.Name {
	case userKind:
		return w.mayGrantUser(view, stored, next)
	case roleKind:
		return w.mayGrantRole(view, stored, next)
	}
	return w.mayReveal(view, next)
}

// mayReveal refuses an object that has the controller tell others what the writer may not read. An object of admin
// tells of all tenants.
func (w Write) mayReveal(view *store.View, next *store.Record) error {
	if next == nil {
		return nil
	}
	of := Everywhere
	if next.Tenant != AdminTenant {
		of = grant{tenant: next.Tenant}.where(view)
	}
	for _, resource := range w.Kind.Reveals(next.Object) {
		if err := w.Who.May(ReadAccess, resource, of); err != nil {
			return err
		}
	}
	return nil
}

func (w Write) mayGrantUser(view *store.View, stored, next *store.Record) error {
	if next != nil {
		if err := w.rolesFit(view, stored, next); err != nil {
			return err
		}
	}
	if stored != nil && stored.UUID == w.Who.UUID {
		if err := w.keepsOwn(stored, next); err != nil {
			return err
		}
	}
	if w.Who.Superuser {
		return nil
	}
	for _, user := range []*store.Record{stored, next} {
		if user == nil {
			continue
		}
		if err := w.outranks(view, user); err != nil {
			return err
		}
	}
	return nil
}

// rolesFit refuses roles of one tenant in another: its users may not even read them. An entry that is there already may
// stay.
func (w Write) rolesFit(view *store.View, stored, next *store.Record) error {
	for i, entry := range accessOf(next.Object) {
		of := grantOf(entry)
		of.role = roleNamed(view, textOf(entry, "role_ref"))
		if of.role == nil || of.roleFits() || stored != nil && stored.RefersTo(roleKind, of.role.UUID) {
			continue
		}
		owner, _ := tenantWith(view, of.role.Tenant)
		return &schema.FieldError{Kind: userKind, Field: fmt.Sprintf("access[%d].role_ref", i),
			Problem: fmt.Sprintf("%s is a role of tenant %s: it gives nothing anywhere else", of.role.Name, owner.Name)}
	}
	return nil
}

// keepsOwn keeps users from shutting themselves out, and from giving themselves anything.
func (w Write) keepsOwn(stored, next *store.Record) error {
	if next == nil {
		return &Forbidden{"You cannot delete your own account: another administrator can"}
	}
	for _, field := range []string{"is_superuser", "is_active"} {
		if stored.Object[field] == true && next.Object[field] != true {
			return &schema.FieldError{Kind: userKind, Field: field,
				Problem: "cannot become false for your own account: you would lock yourself out. Another administrator can"}
		}
	}
	if !w.Who.Superuser && !reflect.DeepEqual(accessOf(stored.Object), accessOf(next.Object)) {
		return &schema.FieldError{Kind: userKind, Field: "access",
			Problem: "cannot change for your own account: somebody else has to change it"}
	}
	return nil
}

// outranks refuses to write a user who may do anything, in any tenant, that the writer may not: whoever writes a user
// can log in with a new password.
func (w Write) outranks(view *store.View, user *store.Record) error {
	if user.Object["is_superuser"] == true {
		return &Forbidden{fmt.Sprintf(
			"User %s is an administrator (superuser), or would become one: only administrators "+
				"may write the account, and %s is none", user.Name, w.Who.Name)}
	}
	for _, tenant := range belongings(user.Object) {
		if named, known := tenantWith(view, tenant.UUID); known && !tenant.All {
			tenant = named
		}
		if err := w.Who.May(WriteAccess, userResource, tenant); err != nil {
			return err
		}
	}
	granted, _ := rightsOf(view, user.Object)
	for _, g := range granted {
		where := g.where(view)
		for _, resource := range schema.Resources {
			if theirs := g.allows(resource); theirs > w.Who.Access(resource, where) {
				return &Forbidden{fmt.Sprintf(
					"User %s has, or would get, %s to %s in tenant %s, which %s has not: nobody "+
						"writes an account that may do more than the own one", user.Name, theirs, resource, where.Name,
					w.Who.Name)}
			}
		}
	}
	return nil
}

// mayGrantRole refuses to write a role that allows, before or after, what the writer may not do where it counts: in its
// own tenant, and wherever a user has it.
func (w Write) mayGrantRole(view *store.View, stored, next *store.Record) error {
	if w.Who.Superuser {
		return nil
	}
	role := cmp.Or(next, stored)
	where := []Tenant{grant{tenant: role.Tenant}.where(view)}
	for _, user := range view.List(userKind) {
		for _, entry := range accessOf(user.Object) {
			if !names(view, textOf(entry, "role_ref"), role.UUID) {
				continue
			}
			g := grantOf(entry)
			if user.UUID == w.Who.UUID {
				return &Forbidden{fmt.Sprintf("%s is a role of yours: somebody else has to change it", role.Name)}
			}
			if at := g.where(view); !slices.Contains(where, at) {
				where = append(where, at)
			}
		}
	}
	for _, role := range []*store.Record{stored, next} {
		if role == nil {
			continue
		}
		for _, tenant := range where {
			if err := w.holds(role, tenant); err != nil {
				return err
			}
		}
	}
	return nil
}

// names tells whether a reference is to the role with a uuid, which may not be there yet: a client can choose the uuid
// of a new role, and earlier versions stored references to roles of other controllers.
func names(view *store.View, ref, uuid string) bool {
	if found := roleNamed(view, ref); found != nil {
		return found.UUID == uuid
	}
	target, err := schema.ParseRef(roleKind, ref)
	return err == nil && target.UUID == uuid
}

// holds refuses a role that allows more than the writer may do in a tenant.
func (w Write) holds(role *store.Record, tenant Tenant) error {
	for _, resource := range schema.Resources {
		if allowed := allowedBy(role.Object, resource); allowed > w.Who.Access(resource, tenant) {
			return &Forbidden{fmt.Sprintf(
				"Role %s allows, or would allow, %s to %s in tenant %s, which %s has not: nobody "+
					"writes a role that may do more than the own ones", role.Name, allowed, resource,
				tenant.Name, w.Who.Name)}
		}
	}
	return nil
}
