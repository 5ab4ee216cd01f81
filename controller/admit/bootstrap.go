package admit

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// Bootstrap makes the built-in objects that are not there yet, with fresh keys for their certificates. It may be called
// at each start: what is there stays as it is.
//
// The administrator is made with the password given; one that is there keeps its own.
func Bootstrap(ctx context.Context, objects *store.Store, password string, now time.Time) error {
	if problem := weakPassword(password, minPasswordRunes); problem != "" {
		return &schema.FieldError{Kind: userKind, Field: "password", Problem: "of admin " + problem}
	}
	missing, err := missingBuiltins(objects.View(), password, now)
	if err != nil {
		return err
	}
	err = objects.Update(ctx, func(tx *store.Tx) error {
		for _, record := range missing {
			if _, there := tx.View().Get(record.Kind, record.UUID); !there {
				copied := *record
				tx.Put(&copied)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("built-in objects: %w", err)
	}
	return nil
}

func missingBuiltins(view *store.View, password string, now time.Time) ([]*store.Record, error) {
	var missing []*store.Record
	for _, b := range schema.Builtins() {
		if _, there := view.Get(b.Kind.Name, b.UUID); there {
			continue
		}
		if b.Kind.Name == userKind {
			b.Object["password"] = hashPassword(password)
		}
		if ordered(b.Kind, b.Object) {
			if err := fulfil(b.Object, now); err != nil {
				return nil, err
			}
		}
		if err := b.Kind.Derive(b.Object, now); err != nil {
			return nil, fmt.Errorf("built-in object: %w", err)
		}
		missing = append(missing, &store.Record{Kind: b.Kind.Name, UUID: b.UUID, Tenant: AdminTenant,
			Name: nameMissing(view, b), Object: b.Object})
	}
	return missing, nil
}
