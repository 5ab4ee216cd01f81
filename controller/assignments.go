package controller

import (
	"context"
	"encoding/json"

	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// assignmentKind is the kind under which the store keeps what is decided about each virtual service, beside the objects
// that it is decided upon. That gives it a place in the order of revisions, by which Plans are numbered: a Plan follows
// from one view, and a controller that starts finds the view that the last one left. Operators see no such kind.
const assignmentKind = "assignment"

// assignmentsMax are written in one transaction.
const assignmentsMax = 1000

func recordOf(kind, uuid string, value any) (*store.Record, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	object, err := schema.Parse(kind, body)
	if err != nil {
		return nil, err
	}
	return &store.Record{Kind: kind, UUID: uuid, Name: uuid, Object: object}, nil
}

// settle writes what a decision changes, and returns of which virtual services it has. What an operator ordered
// meanwhile stands: the next decision takes it up.
func settle(ctx context.Context, objects *store.Store, base *store.View, changed []place.Assignment, gone []string) (
	written map[string]bool, err error) {
	written = map[string]bool{}
	for len(changed)+len(gone) > 0 {
		some := changed[:min(len(changed), assignmentsMax)]
		rest := gone[:min(len(gone), assignmentsMax)]
		changed, gone = changed[len(some):], gone[len(rest):]
		var put []string
		err := objects.Update(ctx, func(tx *store.Tx) error {
			put = nil // it may be tried again
			for _, assignment := range some {
				if !isAsIn(base, tx.View(), assignment.VirtualService) {
					continue
				}
				record, err := recordOf(assignmentKind, assignment.VirtualService, assignment)
				if err != nil {
					return err
				}
				tx.Put(record)
				put = append(put, assignment.VirtualService)
			}
			for _, uuid := range rest {
				tx.Delete(assignmentKind, uuid)
			}
			return nil
		})
		if err != nil {
			return written, err
		}
		for _, uuid := range put {
			written[uuid] = true
		}
	}
	return written, nil
}

func isAsIn(base, now *store.View, uuid string) bool {
	was, _ := base.Get(assignmentKind, uuid)
	is, _ := now.Get(assignmentKind, uuid)
	return was == is
}
