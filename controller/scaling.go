package controller

import (
	"context"
	"slices"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/autoscale"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
)

// saverOfScaling enables and disables servers of a pool, and stores how far its orders are, in one transaction.
func saverOfScaling(gate *admit.Gate) func(context.Context, autoscale.Change) error {
	return func(ctx context.Context, change autoscale.Change) error {
		return gate.Update(ctx, admit.System("autoscale"), func(tx *admit.Tx) error {
			if change.State == nil {
				return tx.Forget(autoscale.Kind, change.Pool)
			}
			pool, exists := tx.View().Get(autoscale.PoolKind, change.Pool)
			if !exists || pool.Modified != change.Modified {
				return autoscale.ErrChanged
			}
			if len(change.Enable)+len(change.Disable) > 0 {
				if err := tx.Change(autoscale.PoolKind, change.Pool, func(o schema.Object) {
					turnServers(o, change)
				}); err != nil {
					return err
				}
			}
			record, err := store.RecordOf(autoscale.Kind, change.Pool, change.State)
			if err != nil {
				return err
			}
			return tx.Keep(record)
		})
	}
}

func turnServers(pool schema.Object, change autoscale.Change) {
	typed, err := schema.Into[kinds.Pool](pool)
	servers, _ := pool["servers"].([]any)
	if err != nil || len(servers) != len(typed.Servers) {
		return
	}
	for i, each := range servers {
		server, _ := each.(schema.Object)
		switch id := typed.Servers[i].ID(typed.DefaultServerPort); {
		case slices.Contains(change.Enable, id):
			server["enabled"] = true
		case slices.Contains(change.Disable, id):
			server["enabled"] = false
		}
	}
}
