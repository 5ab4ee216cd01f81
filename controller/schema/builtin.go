package schema

import (
	"crypto/sha1"
	"fmt"
)

// Builtin is an object that exists from the first start on. Certificates among them are orders (see Ordered).
type Builtin struct {
	Kind   *Kind
	UUID   string
	Tenant string // its uuid; empty where the kind has none
	Object Object // decoded and filled, references resolved
}

// Builtins lists the built-in objects; each refers only to those before it, the systemconfiguration excepted.
func Builtins() []Builtin {
	var built []Builtin
	for _, k := range kinds {
		for _, source := range builtinSources[k.Name] {
			built = append(built, build(k, source))
		}
	}
	return built
}

// BuiltinUUID is the uuid of a built-in object; it is the same on every controller.
func BuiltinUUID(kind, name string) string {
	k := kindByName[kind]
	switch {
	case k.Only != "":
		return k.Only
	case kind == "tenant" && name == "admin":
		return "admin"
	case kind == "user" && name == "admin":
		return "user-1"
	}
	return k.Prefix + "-" + nameUUID("weir/"+kind+"/"+name)
}

// nameUUID is a version 5 uuid, RFC 9562 §5.5, in a namespace of our own.
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

// BuiltinName is the name that a built-in object was made with, and tells whether a uuid is that of one.
func BuiltinName(kind, uuid string) (name string, builtIn bool) {
	for _, source := range builtinSources[kind] {
		name, _ := source["name"].(string)
		if BuiltinUUID(kind, name) == uuid {
			return name, true
		}
	}
	return "", false
}
