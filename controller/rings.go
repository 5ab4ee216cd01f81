package controller

import (
	"context"
	"crypto/rand"

	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/controller/tickets"
)

// ringKind is the kind of the records in which the store keeps the secrets of session tickets. They are next to the
// objects for the same reason as assignments: a Plan follows from one view. The API does not show this kind. The store
// seals these records on disk.
const ringKind = "ticketring"

// keepRings writes the rings that a decision changed, and deletes those that are gone. If a ring is not as in base any
// more, an operator has rotated its keys since: keepRings keeps it, and the next decision starts from it.
func keepRings(ctx context.Context, objects *store.Store, base *store.View, d tickets.Decision) error {
	if len(d.Changed)+len(d.Gone) == 0 {
		return nil
	}
	return objects.Update(ctx, func(tx *store.Tx) error {
		for _, ring := range d.Changed {
			if !isAsIn(base, tx.View(), ringKind, ring.Profile) {
				continue
			}
			record, err := store.RecordOf(ringKind, ring.Profile, ring)
			if err != nil {
				return err
			}
			tx.Put(record)
		}
		for _, profile := range d.Gone {
			if isAsIn(base, tx.View(), ringKind, profile) {
				tx.Delete(ringKind, profile)
			}
		}
		return nil
	})
}

func newSecret() []byte {
	secret := make([]byte, tickets.SecretBytes)
	rand.Read(secret)
	return secret
}
