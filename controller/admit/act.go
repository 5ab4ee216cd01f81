package admit

import (
	"context"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// Act admits an action on an object that does not change the object. do runs in the transaction, and may run more than
// once. It writes records that are no objects, with Keep.
func (g *Gate) Act(ctx context.Context, w Write, id, action string,
	do func(tx *Tx, object *store.Record) error) error {
	err, acted := w.mayWrite(), change{}
	if err == nil {
		err = g.Update(ctx, w.Who, func(tx *Tx) error {
			w, err := w.now(tx.View())
			if err != nil {
				return err
			}
			object, err := w.known(tx.View(), id)
			if err != nil {
				return err
			}
			acted = change{object, object}
			return do(tx, object)
		})
	}
	g.Audit.noteChange(w, action, id, acted, err)
	return err
}

// Lookup returns the object that a reference in a request names, as the tenant sees it.
func Lookup(view *store.View, tenant Tenant, kind, reference string) (*store.Record, error) {
	target, err := schema.ParseRef(kind, reference)
	if err != nil {
		return nil, err
	}
	return lookUp(view, target, Tenant{UUID: tenant.UUID}, everything)
}
