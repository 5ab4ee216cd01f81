package controller

import (
	"context"
	"crypto/rand"

	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/controller/tickets"
)

// ringKind is the kind under which the store keeps the secrets of session tickets, beside the objects for the reason
// that assignments are: a Plan follows from one view. Operators see no such kind, and what is on disk is sealed.
const ringKind = "ticketring"

// keepRings writes what was decided about rings.
func keepRings(ctx context.Context, objects *store.Store, d tickets.Decision) error {
	if len(d.Changed)+len(d.Gone) == 0 {
		return nil
	}
	return objects.Update(ctx, func(tx *store.Tx) error {
		for _, ring := range d.Changed {
			record, err := recordOf(ringKind, ring.Profile, ring)
			if err != nil {
				return err
			}
			tx.Put(record)
		}
		for _, profile := range d.Gone {
			tx.Delete(ringKind, profile)
		}
		return nil
	})
}

func newSecret() []byte {
	secret := make([]byte, tickets.SecretBytes)
	rand.Read(secret)
	return secret
}
