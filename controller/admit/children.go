package admit

import (
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
)

// childOf returns a virtual service if it is a child that can be read.
func childOf(record *store.Record) (child *kinds.VirtualService, parentUUID string) {
	if record.Kind != serviceKind || record.Object["type"] != "VS_TYPE_VH_CHILD" {
		return nil, ""
	}
	child, err := schema.Into[kinds.VirtualService](record.Object)
	if err != nil {
		return nil, ""
	}
	return child, strings.TrimPrefix(child.VHParentRef, schema.RefPath(serviceKind, ""))
}

// wishKey is the key under which the store finds the children of a parent that want the same.
func wishKey(parentUUID string, wish kinds.Wish) string { return "wish " + parentUUID + " " + wish.Key }

// hostsAreFree refuses a write after which two children of a parent would want the same host, or the same path of it,
// and one that leaves a child with a parent of another kind. view has the written object already.
func hostsAreFree(view *store.View, stored, written *store.Record) error {
	if written.Kind == textsKind {
		return textsOfGroupAreFree(view, stored, written)
	}
	if written.Kind != serviceKind {
		return nil
	}
	if stored != nil && !hostsAlike(stored, written) {
		if err := keepsChildren(view, written); err != nil {
			return err
		}
	}
	child, parentUUID := childOf(written)
	if child == nil {
		return nil
	}
	refuse := func(field, problem string, args ...any) error {
		return &schema.FieldError{Kind: serviceKind, Field: field, Problem: fmt.Sprintf(problem, args...)}
	}
	parent, ok := view.Get(serviceKind, parentUUID)
	switch {
	case !ok: // references has refused it
		return nil
	case parent.Object["type"] != "VS_TYPE_VH_PARENT":
		return refuse("vh_parent_vs_ref", "%s has type %s: only a VS_TYPE_VH_PARENT has children", parent.Name,
			parent.Object["type"])
	case givesRequests(parent) != givesRequests(written):
		return refuse("vh_type", "differs from that of its parent %s: set the same", parent.Name)
	}
	for _, wish := range child.Wishes(nil) {
		for other := range view.Indexed(wishKey(parentUUID, wish)) {
			if other.UUID != written.UUID {
				return refuse(wish.Field, "is wanted by child %s of the same parent already", other.Name)
			}
		}
	}
	return textsOfChildAreFree(view, stored, child, written.UUID, parentUUID)
}

func givesRequests(record *store.Record) bool {
	return record.Object["vh_type"] == "VS_TYPE_VH_ENHANCED"
}

// hostsAlike tells whether the children of the one could be children of the other.
func hostsAlike(stored, written *store.Record) bool {
	return stored.Object["type"] == written.Object["type"] && givesRequests(stored) == givesRequests(written)
}

// keepsChildren refuses to turn a parent into something else while it has children.
func keepsChildren(view *store.View, written *store.Record) error {
	for referrer := range view.Referrers(serviceKind, written.UUID) {
		if child, parentUUID := childOf(referrer); child != nil && parentUUID == written.UUID {
			field := "type"
			if written.Object["type"] == "VS_TYPE_VH_PARENT" {
				field = "vh_type"
			}
			return &schema.FieldError{Kind: serviceKind, Field: field,
				Problem: fmt.Sprintf("cannot change while it has children: %s is one", referrer.Name)}
		}
	}
	return nil
}
