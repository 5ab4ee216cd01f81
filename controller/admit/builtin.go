package admit

import (
	"fmt"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// staysBuiltIn refuses to delete a built-in object.
func staysBuiltIn(record *store.Record) error {
	if _, builtIn := schema.BuiltinName(record.Kind, record.UUID); !builtIn {
		return nil
	}
	return &schema.FieldError{Kind: record.Kind, Field: "name",
		Problem: fmt.Sprintf("%s is a system default object and cannot be deleted", record.Name)}
}

// keepsBuiltInName refuses to rename a built-in object: defaults, clients and logins find it by its name. An object
// that was renamed by an earlier version may keep its name or get the original one back.
func keepsBuiltInName(stored, next *store.Record) error {
	own, builtIn := schema.BuiltinName(next.Kind, next.UUID)
	if !builtIn || stored == nil {
		return nil
	}
	for _, field := range []string{"name", "username"} {
		was, wanted := textOf(stored.Object, field), textOf(next.Object, field)
		if wanted != was && wanted != own {
			return &schema.FieldError{Kind: next.Kind, Field: field,
				Problem: fmt.Sprintf("%s is a system default object and cannot be renamed", was)}
		}
	}
	return nil
}

// builtInNamed returns the built-in object with this original name, even if it was renamed.
func builtInNamed(view *store.View, kind, name string) (*store.Record, bool) {
	uuid := schema.BuiltinUUID(kind, name)
	if made, builtIn := schema.BuiltinName(kind, uuid); !builtIn || made != name {
		return nil, false
	}
	return view.Get(kind, uuid)
}

// nameMissing gives a new built-in object another name if its name is taken.
func nameMissing(view *store.View, b schema.Builtin) {
	name := textOf(b.Object, "name")
	_, taken := view.ByName(b.Kind.Name, AdminTenant, name)
	if b.Kind.Name == userKind && !taken {
		_, taken = userNamed(view, name)
	}
	if !taken {
		return
	}
	name = fmt.Sprintf("%s-%s", name, b.UUID)
	for _, field := range []string{"name", "username"} {
		if _, has := b.Object[field]; has {
			b.Object[field] = name
		}
	}
}
