package alert

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// savedAtOnce bounds the alerts of a transaction.
const savedAtOnce = 100

// Refused is an error of Config.Save: the store will never take one of the changes. Nothing is saved.
type Refused struct{ Reason error }

func (r *Refused) Error() string { return fmt.Sprintf("it is refused: %v", r.Reason) }
func (r *Refused) Unwrap() error { return r.Reason }

func isRefusal(err error) bool {
	_, is := errors.AsType[*Refused](err)
	return is
}

// save saves what has changed. After a failure it pauses, longer and longer.
func (a *Alerts) save(ctx context.Context) {
	if ctx.Err() != nil || a.config.Now().Before(a.saveAfter) {
		return
	}
	unsaved := a.unsaved()
	if counts := func(e *entry) bool { return e.again }; slices.ContainsFunc(unsaved, counts) {
		a.countsAfter = a.config.Now().Add(tickEvery)
	}
	for some := range slices.Chunk(unsaved, savedAtOnce) {
		err := a.store(ctx, some...)
		if isRefusal(err) {
			err = a.storeEach(ctx, some)
		}
		if err != nil {
			a.config.Log.Error("alerts cannot be stored; after a restart they may be sent again", "reason", err)
			a.saveAfter = a.config.Now().Add(a.savePause.Next())
			return
		}
	}
	a.savePause.Reset()
}

// unsaved are the alerts that are to be saved. Those that only were repeated are among them once in a while: a rule may
// fit thousands of records each second.
func (a *Alerts) unsaved() (changed []*entry) {
	counts := !a.config.Now().Before(a.countsAfter)
	for id, e := range a.book.entries {
		switch {
		case e.refused && e.gone:
			a.book.forget(id)
		case (e.dirty || e.again && counts) && !e.refused:
			changed = append(changed, e)
		}
	}
	return changed
}

// store saves alerts in one transaction.
func (a *Alerts) store(ctx context.Context, some ...*entry) error {
	changes := make([]Change, len(some))
	for i, e := range some {
		changes[i] = Change{e.alert, e.tenant, e.fresh, e.gone}
	}
	if err := a.config.Save(ctx, changes); err != nil {
		return err
	}
	for _, e := range some {
		if e.dirty, e.again, e.fresh = false, false, false; e.gone {
			a.book.forget(e.alert.UUID)
		}
	}
	return nil
}

// storeEach saves alerts one by one, so that one that is refused keeps no other from being saved. A new one whose
// tenant does not exist any more goes to admin. What is refused even then lasts in memory only.
func (a *Alerts) storeEach(ctx context.Context, some []*entry) error {
	for _, e := range some {
		err := a.store(ctx, e)
		if isRefusal(err) && e.fresh && e.tenant != adminTenant {
			e.tenant = adminTenant
			err = a.store(ctx, e)
		}
		if isRefusal(err) {
			a.config.Log.Error("an alert is not stored: after a restart it is not known any more",
				"alert", e.alert.Name, "reason", err)
			e.refused, err = true, nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
