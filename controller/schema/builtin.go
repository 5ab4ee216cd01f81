package schema

import (
	"crypto/sha1"
	"fmt"
)

// Builtin is an object that exists from the first start on. Its certificate may be an order (see Ordered).
type Builtin struct {
	Kind   *Kind
	UUID   string
	Tenant string // uuid of the tenant; empty: the kind has none
	Object Object // decoded and filled, references resolved
}

// Builtins lists the built-in objects of all kinds. Each object refers only to earlier ones.
func Builtins() []Builtin {
	var sorted []Builtin
	done := map[string]bool{}
	byPath := map[string]Builtin{}
	var add func(b Builtin)
	add = func(b Builtin) {
		if done[b.path()] {
			return
		}
		done[b.path()] = true
		for _, reference := range b.Kind.References(b.Object) {
			if referred, known := byPath[reference.Value]; known {
				add(referred)
			}
		}
		sorted = append(sorted, b)
	}
	all := builtAll()
	for _, b := range all {
		byPath[b.path()] = b
	}
	for _, b := range all {
		add(b)
	}
	return sorted
}

func builtAll() []Builtin {
	var all []Builtin
	for _, k := range Kinds() {
		for _, source := range k.Builtins {
			all = append(all, build(k, source))
		}
	}
	return all
}

func (b Builtin) path() string { return RefPath(b.Kind.Name, b.UUID) }

// BuiltinUUID returns the uuid of a built-in object. It is the same on every controller.
func BuiltinUUID(kind, name string) string {
	k := kindByName[kind]
	if k.Only != "" {
		return k.Only
	}
	for _, source := range k.Builtins {
		if uuid, given := source["uuid"].(string); given && source["name"] == name {
			return uuid
		}
	}
	return k.Prefix + "-" + nameUUID("weir/"+kind+"/"+name)
}

// nameUUID returns a version 5 uuid (RFC 9562 §5.5) in Weir's own namespace.
func nameUUID(name string) string {
	id := sha1.Sum([]byte(name))
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
}

func build(k *Kind, source Object) Builtin {
	o, err := k.Normalise(source)
	must("built-in "+k.Name, err)
	name, _ := o["name"].(string)
	b := Builtin{Kind: k, UUID: BuiltinUUID(k.Name, name), Object: o}
	o["uuid"] = b.UUID
	if k.PerTenant() {
		b.Tenant = "admin"
		o["tenant_ref"] = RefPath("tenant", "admin")
	}
	k.Fill(o)
	for _, reference := range k.References(o) {
		target, err := ParseRef(reference.Kind, reference.Value)
		must("built-in "+k.Name, err)
		if target.UUID == "" {
			target.UUID = BuiltinUUID(target.Kind, target.Name)
		}
		reference.Set(target.Path())
	}
	return b
}

// BuiltinName returns the original name of a built-in object. builtIn is false for the uuid of any other object.
func BuiltinName(kind, uuid string) (name string, builtIn bool) {
	k, known := kindByName[kind]
	if !known {
		return "", false
	}
	for _, source := range k.Builtins {
		name, _ := source["name"].(string)
		if BuiltinUUID(kind, name) == uuid {
			return name, true
		}
	}
	return "", false
}
