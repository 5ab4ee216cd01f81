package admit

import (
	"strconv"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const certificateKind = "sslkeyandcertificate"

// shape makes a sound object of what was sent: types, defaults, secrets, references, and what is computed from them.
func (g *Gate) shape(w Write, sent schema.Object, stored *store.Record, resolve func(schema.Object) error) (schema.Object, error) {
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
	if err := kind.Check(object); err != nil {
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

// keepIdentity holds what an object keeps for life: its uuid, tenant and cloud, which a replacement may leave out.
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
			return &schema.FieldError{Kind: kind.Name, Field: field, Problem: "cannot change; create a new object instead"}
		}
		next[field] = was
	}
	return nil
}

// fresh refuses a replacement of a state that is no longer the stored one.
func fresh(next schema.Object, stored *store.Record) error {
	sent, ok := next["_last_modified"].(string)
	if ok && sent != "" && sent != strconv.FormatInt(stored.Modified, 10) {
		return ErrStale
	}
	return nil
}
