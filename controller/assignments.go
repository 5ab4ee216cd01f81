package controller

import (
	"context"

	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/store"
)

// assignmentKind is the kind of the records in which the store keeps assignments. They are next to the objects, so that
// one view has both: each Plan follows from one view and has its revision, and a controller that starts finds the view
// that the last one left. The API does not show this kind.
const assignmentKind = "assignment"

// assignmentsMax bounds the assignments that one transaction writes, and those that it deletes.
const assignmentsMax = 1000

// settle writes the assignments that a decision changes, and deletes those that are gone. It returns the uuids of the
// virtual services whose assignments it wrote. If an assignment is not as in base any more, an operator has written an
// order since: settle neither replaces nor deletes it, and the next decision starts from it.
func settle(ctx context.Context, objects *store.Store, base *store.View, changed []place.Assignment, gone []string) (
	written map[string]bool, err error) {
	written = map[string]bool{}
	for len(changed)+len(gone) > 0 {
		some := changed[:min(len(changed), assignmentsMax)]
		rest := gone[:min(len(gone), assignmentsMax)]
		changed, gone = changed[len(some):], gone[len(rest):]
		var put []string
		err := objects.Update(ctx, func(tx *store.Tx) error {
			put = nil // Update may call this function again
			for _, assignment := range some {
				if !isAsIn(base, tx.View(), assignmentKind, assignment.VirtualService) {
					continue
				}
				record, err := store.RecordOf(assignmentKind, assignment.VirtualService, assignment)
				if err != nil {
					return err
				}
				tx.Put(record)
				put = append(put, assignment.VirtualService)
			}
			for _, uuid := range rest {
				if isAsIn(base, tx.View(), assignmentKind, uuid) {
					tx.Delete(assignmentKind, uuid)
				}
				_, there := tx.View().Get(timedKind, uuid)
				if _, purged := tx.View().Get(purgeKind, uuid); purged && !there {
					tx.Delete(purgeKind, uuid)
				}
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

// isAsIn tells whether nobody has written or deleted a record since base.
func isAsIn(base, now *store.View, kind, uuid string) bool {
	was, _ := base.Get(kind, uuid)
	is, _ := now.Get(kind, uuid)
	return was == is
}
