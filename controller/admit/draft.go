package admit

import (
	"context"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// Draft is an object as it would be written.
type Draft struct {
	Kind   *schema.Kind
	UUID   string // of the object in whose place it comes; empty: it is new
	Object schema.Object
}

// Draft returns the view that there would be after these writes, one after the other, and the objects as they would be
// in it. It refuses what Create and Change would refuse, with the same errors. Nothing is stored. The audit trail
// has an entry for each object: scripts of a draft run.
func (g *Gate) Draft(ctx context.Context, w Write, drafts []Draft) (view *store.View, made []*store.Record, err error) {
	w.chores = &chores{}
	defer func() {
		for _, draft := range drafts {
			name, _ := draft.Object["name"].(string)
			g.Audit.add(Entry{User: w.Who.Name, Address: w.Who.Address, Tenant: w.Tenant.Name, Action: "explain",
				Kind: draft.Kind.Name, Object: draft.UUID, Name: shortened(name)}, err)
		}
	}()
	for _, draft := range drafts {
		w.Kind = draft.Kind
		may := w.mayWrite
		if draft.UUID == "" {
			may = w.mayCreate
		}
		if err := may(); err != nil {
			return nil, nil, err
		}
	}
	err = g.withChores(ctx, w.chores, func() error {
		made = nil
		view, err = g.store.Draft(func(tx *store.Tx) error {
			for _, draft := range drafts {
				record, err := g.draft(tx, w, draft)
				if err != nil {
					return err
				}
				made = append(made, record)
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return view, made, nil
}

func (g *Gate) draft(tx *store.Tx, w Write, draft Draft) (*store.Record, error) {
	w.Kind = draft.Kind
	if draft.UUID == "" {
		return g.create(tx, w, schema.Clone(draft.Object), "")
	}
	_, made, err := g.change(tx, w, draft.UUID, func(schema.Object) (schema.Object, error) {
		return schema.Clone(draft.Object), nil
	})
	return made, err
}
