package schema

import (
	"fmt"
	"net/url"
	"strings"
)

// Reference is one field, or list element, that names another object.
type Reference struct {
	Field string // "health_monitor_refs[0]"
	Kind  string // of the object it names: "healthmonitor"
	Value string // as sent, or "/api/healthmonitor/<uuid>" when stored
	Set   func(value string)
}

// References lists the references in an object, in the order of its fields, without empty ones. Set writes into the
// object itself.
func (k *Kind) References(o Object) []Reference {
	var found []Reference
	k.record.eachSlot(isReference, o, nil, func(s slot) {
		value, _ := s.value.(string)
		if value == "" {
			return
		}
		found = append(found, Reference{
			Field: s.path.String(), Kind: s.field.ref, Value: value, Set: func(value string) { s.set(value) },
		})
	})
	return found
}

// refers tells whether a field refers to objects of a registered kind. Avi also has references to kinds that Weir
// lacks: they stay as they were sent.
func (f *field) refers() bool { return f.ref != "" && kindByName[f.ref] != nil }

// RefersBy returns the kind that a field of an object refers to, and whether the field is a list. False: it is no
// reference to a kind that Weir has.
func (k *Kind) RefersBy(field string) (target *Kind, listed, ok bool) {
	f := k.record.byName[field]
	if f == nil {
		return nil, false, false
	}
	leaf := f
	if f.shape == list {
		leaf = f.element
	}
	target, ok = kindByName[leaf.ref]
	return target, f.shape == list, ok
}

// RefTarget is the object that a reference names: by its uuid, or by its name, and perhaps its cloud or tenant.
type RefTarget struct {
	Kind   string
	UUID   string // empty: by name
	Name   string
	Cloud  string // name of the cloud; empty: that of the referring object
	Tenant string // name of the tenant; empty: that of the referring object, then admin
}

// Path returns the stored form of the reference.
func (t RefTarget) Path() string { return RefPath(t.Kind, t.UUID) }

// RefPath is the stored form of a reference to an object.
func RefPath(kind, uuid string) string { return "/api/" + kind + "/" + uuid }

// ParseRef reads a reference to an object of a kind. It accepts all forms that clients send: an absolute URL or a path,
// with a uuid or a query (?name=X&cloud=Y), with or without "#name" at the end; or only a uuid.
func ParseRef(kind, value string) (RefTarget, error) {
	target := RefTarget{Kind: kind}
	address, _, _ := strings.Cut(strings.TrimSpace(value), "#")
	if plainUUID(address) {
		target.UUID = address
		return target, nil
	}
	u, err := url.Parse(strings.ReplaceAll(address, " ", "%20"))
	if err != nil {
		return target, notRef(kind, value)
	}
	named, uuid, ok := splitRefPath(u.Path)
	switch {
	case !ok:
		return target, notRef(kind, value)
	case named != kind:
		return target, fmt.Errorf("%s refers to a %s; give a %s", Show(value), named, kind)
	case uuid != "":
		target.UUID = uuid
		return target, nil
	}
	return queryRef(target, u.Query(), value)
}

// UUIDOf is the uuid that a reference to an object of a kind has; empty: none.
func UUIDOf(kind, reference string) string {
	target, err := ParseRef(kind, reference)
	if err != nil {
		return ""
	}
	return target.UUID
}

func notRef(kind, value string) error {
	return fmt.Errorf("%s is not a reference; give /api/%s/<uuid> or /api/%s?name=<name>", Show(value), kind, kind)
}

func queryRef(target RefTarget, query url.Values, value string) (RefTarget, error) {
	target.Name = query.Get("name")
	if target.Name == "" {
		return target, fmt.Errorf("%s names no %s; give a uuid or ?name=", Show(value), target.Kind)
	}
	target.Cloud = first(query, "cloud", "cloud_ref.name")
	target.Tenant = first(query, "tenant", "tenant_ref.name")
	return target, nil
}

// splitRefPath takes "/api/pool/pool-1" apart. A path has one "/api/", a kind, and at most one uuid after it.
func splitRefPath(path string) (kind, uuid string, ok bool) {
	trimmed := strings.Trim(path, "/")
	parts := strings.Split(trimmed, "/")
	if len(parts) < 2 || len(parts) > 3 || parts[0] != "api" || parts[1] == "" {
		return "", "", false
	}
	if len(parts) == 2 {
		return parts[1], "", true
	}
	return parts[1], parts[2], plainUUID(parts[2])
}

func plainUUID(text string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyz0123456789-_.:"
	return text != "" && len(text) <= 128 && strings.Trim(strings.ToLower(text), plain) == ""
}

func first(query url.Values, names ...string) string {
	for _, name := range names {
		if value := query.Get(name); value != "" {
			return value
		}
	}
	return ""
}
