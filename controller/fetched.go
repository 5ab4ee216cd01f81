package controller

import (
	"context"

	"github.com/weir-lb/weir/controller/revocation"
	"github.com/weir-lb/weir/controller/store"
)

// saverOfFetched stores what authorities have said about the certificate or the authorities of an object. These records
// are next to the objects for the same reason as assignments: a Plan follows from one view. The API shows them as
// fields of the object.
func saverOfFetched(objects *store.Store) func(
	ctx context.Context, kind, uuid string, edit func(*store.Record) (*store.Record, error)) error {
	return func(ctx context.Context, kind, uuid string, edit func(*store.Record) (*store.Record, error)) error {
		return objects.Update(ctx, func(tx *store.Tx) error {
			_, there := tx.View().Get(revocation.ObjectOf(kind), uuid)
			stored, _ := tx.View().Get(kind, uuid)
			record, err := edit(stored)
			switch {
			case err != nil:
				return err
			case record != nil && there:
				tx.Put(record)
			case record == nil && stored != nil:
				tx.Delete(kind, uuid)
			}
			return nil
		})
	}
}
