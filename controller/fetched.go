package controller

import (
	"cmp"
	"context"
	"net"
	"net/netip"

	"github.com/weir-lb/weir/controller/names"
	"github.com/weir-lb/weir/controller/revocation"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// objectOf says to which object a record with what was fetched about one belongs, or with what was purged of its cache;
// empty: it is no such record.
func objectOf(recordKind string) (kind string) {
	if recordKind == purgeKind {
		return timedKind
	}
	return cmp.Or(revocation.ObjectOf(recordKind), names.ObjectOf(recordKind))
}

// withFetched returns an object with what was fetched about it: a copy, or the object itself if there is nothing.
func withFetched(view *store.View, record *store.Record) schema.Object {
	if record.Kind == names.ObjectOf(names.Kind) {
		return names.Into(view, record.UUID, record.Object)
	}
	return revocation.Into(view, record.Kind, record.UUID, record.Object)
}

// lookup asks the name servers of this machine.
func lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	return resolver.LookupNetIP(ctx, "ip", name)
}

var resolver = resolverBy(nil)

// resolverBy asks name servers over the connections of dial. A failure for one family of addresses is a failure: the
// addresses of the other family alone would take away the servers of the first.
func resolverBy(dial func(ctx context.Context, network, address string) (net.Conn, error)) *net.Resolver {
	return &net.Resolver{PreferGo: true, StrictErrors: true, Dial: dial}
}

// saverOfFetched stores what authorities have said about the certificate or the authorities of an object, and the
// addresses of names. These records are next to the objects for the same reason as assignments: a Plan follows from one
// view. The API shows what authorities have said as fields of the object.
func saverOfFetched(objects *store.Store) func(
	ctx context.Context, kind, uuid string, edit func(*store.Record) (*store.Record, error)) error {
	return func(ctx context.Context, kind, uuid string, edit func(*store.Record) (*store.Record, error)) error {
		return objects.Update(ctx, func(tx *store.Tx) error {
			_, there := tx.View().Get(objectOf(kind), uuid)
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
