package admit

import (
	"strconv"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const certificateKind = "sslkeyandcertificate"

// shape turns what a client sent into a valid object: types, defaults, secrets, references, computed fields.
func (g *Gate) shape(w Write, sent schema.Object, stored *store.Record, resolve func(schema.Object) error) (
	schema.Object, error) {
	kind := w.Kind
	object, err := kind.Normalise(sent)
	if err != nil {
		return nil, err
	}
	before := schema.Object{}
	if stored != nil {
		before = stored.Object
	}
	kind.KeepSecrets(object, before)
	kind.Fill(object)
	if err := resolve(object); err != nil {
		return nil, err
	}
	if err := w.chores.decrypt(kind, object); err != nil {
		return nil, err
	}
	if err := w.chores.check(kind, object); err != nil {
		return nil, err
	}
	if err := keepsAdministrator(kind, object); err != nil {
		return nil, err
	}
	if err := g.hidePassword(w, object, before); err != nil {
		return nil, err
	}
	if err := w.chores.fulfil(kind, object, g.now()); err != nil {
		return nil, err
	}
	delete(object, "_last_modified") // the record has it
	return object, kind.Derive(object, g.now())
}

// stamp gives a new object its identity.
func stamp(kind *schema.Kind, sent schema.Object, id, tenant string) {
	sent["uuid"] = id
	if kind.PerTenant() {
		sent["tenant_ref"] = schema.RefPath("tenant", tenant)
	}
}

// keepIdentity restores what an object keeps for life: its uuid, tenant and cloud. A replacement may leave these out,
// but not change them.
func keepIdentity(kind *schema.Kind, next schema.Object, stored *store.Record) error {
	next["uuid"] = stored.UUID
	if _, ok := next["name"]; !ok {
		next["name"] = stored.Name
	}
	for _, field := range []string{"tenant_ref", "cloud_ref"} {
		was, had := stored.Object[field]
		if !had {
			continue
		}
		sent, ok := next[field].(string)
		if !ok || sent == "" {
			next[field] = was
			continue
		}
		target, err := schema.ParseRef(field[:len(field)-len("_ref")], sent)
		if err == nil && target.UUID != "" && target.Path() != was {
			return &schema.FieldError{Kind: kind.Name, Field: field,
				Problem: "cannot change; create a new object instead"}
		}
		next[field] = was
	}
	return nil
}

// fresh refuses to replace or delete an object if the client has read an older version of it.
func (w Write) fresh(next schema.Object, stored *store.Record) error {
	is := strconv.FormatInt(stored.Modified, 10)
	sent, _ := next["_last_modified"].(string)
	if sent != "" && sent != is || w.Base != "" && w.Base != is {
		return ErrStale
	}
	return nil
}
