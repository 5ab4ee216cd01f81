package admit

import (
	"context"
	"fmt"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// bootstrapping is the part of the system that creates the built-in objects.
const bootstrapping = "bootstrap"

// Bootstrap makes the built-in objects that do not exist yet, with new keys for their certificates. It can be called at
// each start, because it does not change existing objects.
//
// It creates the administrator with the given password. An existing administrator keeps the current password.
func (g *Gate) Bootstrap(ctx context.Context, password string) error {
	if problem := weakPassword(password, minPasswordRunes); problem != "" {
		return &schema.FieldError{Kind: userKind, Field: "password", Problem: "of admin " + problem}
	}
	created := 0
	err := g.Update(ctx, System(bootstrapping), func(tx *Tx) error {
		missing := missingBuiltins(tx.View(), password)
		created = len(missing)
		for _, b := range missing {
			nameMissing(tx.View(), b)
			if _, err := tx.Create(b.Kind.Name, b.Object, b.UUID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("built-in objects: %w", err)
	}
	if created > 0 {
		g.Audit.log.Info("built-in objects created", "count", created)
	}
	return nil
}

// missingBuiltins are sorted so that each object refers only to earlier ones.
func missingBuiltins(view *store.View, password string) (missing []schema.Builtin) {
	for _, b := range schema.Builtins() {
		if _, there := view.Get(b.Kind.Name, b.UUID); there {
			continue
		}
		if b.Kind.Name == userKind {
			b.Object["password"] = password
		}
		missing = append(missing, b)
	}
	return missing
}
