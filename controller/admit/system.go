package admit

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// System is the author of writes that the controller makes by itself. part names the part of the controller. An audit
// entry of System has no address; entries of users have one.
func System(part string) Principal { return Principal{Name: "system:" + part, Superuser: true} }

// Update admits the writes of a part of the controller, in one transaction. decide may run more than once. Each object
// passes the same steps as a write over REST, and leaves the same audit entry. Unlike an object of an operator, it may
// refer to objects of any tenant: an engine is of tenant admin, and its group may be of another one.
//
// If a write is refused, nothing is written, even if decide returns no error. Every write leaves its audit entry also
// if the transaction fails: some of these failures leave it open whether the objects are on disk. Of a kind that is not
// audited, only what is refused leaves an entry, and once, however often it is tried.
func (g *Gate) Update(ctx context.Context, who Principal, decide func(tx *Tx) error) error {
	tx, chores := &Tx{}, &chores{}
	err := g.update(ctx, chores, func(stored *store.Tx) error {
		tx = &Tx{gate: g, who: who, chores: chores, tx: stored}
		return cmp.Or(decide(tx), tx.refused())
	})
	for _, attempt := range tx.attempts {
		reason := attempt.err
		if errors.Is(reason, errAsked) { // the attempt was to be repeated after a chore, and the chore failed
			reason = nil
		}
		if attempt.write.Kind.Unaudited && reason == nil { // it was not refused itself
			continue
		}
		g.Audit.noteChange(attempt.write, attempt.action, attempt.object, attempt.change, cmp.Or(reason, err))
	}
	return err
}

// Tx is a transaction of Update.
type Tx struct {
	gate     *Gate
	who      Principal
	chores   *chores
	tx       *store.Tx
	attempts []attempted
}

// attempted is one write of a transaction, with the reason if it was refused.
type attempted struct {
	write          Write
	action, object string
	change         change
	err            error
}

// refused returns the reason of the first write that was refused.
func (t *Tx) refused() error {
	for _, attempt := range t.attempts {
		if attempt.err != nil {
			return attempt.err
		}
	}
	return nil
}

// View returns the objects, including the writes of this transaction so far.
func (t *Tx) View() *store.View { return t.tx.View() }

// Create admits a new object, in the admin tenant unless the object names another. chosen is its uuid, or empty.
func (t *Tx) Create(kind string, object schema.Object, chosen string) (made *store.Record, err error) {
	err = t.attempt(kind, "create", textOf(object, "name"), func(w Write) (change, error) {
		made, err = t.gate.create(t.tx, w, schema.Clone(object), chosen)
		return change{is: made}, err
	})
	return made, err
}

// Change admits a new state of an object. edit changes a copy of the stored object.
func (t *Tx) Change(kind, uuid string, edit func(object schema.Object)) error {
	return t.attempt(kind, "change", uuid, func(w Write) (change, error) {
		was, is, err := t.gate.change(t.tx, w, uuid, func(object schema.Object) (schema.Object, error) {
			edit(object)
			return object, nil
		})
		return change{was, is}, err
	})
}

// Delete admits the deletion of an object.
func (t *Tx) Delete(kind, uuid string) error {
	return t.attempt(kind, "delete", uuid, func(w Write) (change, error) {
		was, err := remove(t.tx, w, uuid)
		return change{was: was}, err
	})
}

func (t *Tx) attempt(kind, action, object string, do func(Write) (change, error)) error {
	known, ok := schema.Lookup(kind)
	if !ok {
		return fmt.Errorf("defect: %s is no kind of object", kind)
	}
	w := Write{Who: t.who, Tenant: Tenant{UUID: AdminTenant, Name: AdminTenant, All: true},
		Kind: known, chores: t.chores, system: true}
	made, err := do(w)
	t.attempts = append(t.attempts, attempted{w, action, object, made, err})
	return err
}

// Keep writes a record that is not an object, for the controller itself. Operators do not see its kind, so it has no
// schema and no owner, and leaves no audit entry.
func (t *Tx) Keep(record *store.Record) error {
	if err := isNoObject(record.Kind); err != nil {
		return err
	}
	t.tx.Put(record)
	return nil
}

// Forget removes a record that Keep wrote.
func (t *Tx) Forget(kind, uuid string) error {
	if err := isNoObject(kind); err != nil {
		return err
	}
	t.tx.Delete(kind, uuid)
	return nil
}

func isNoObject(kind string) error {
	if _, isObject := schema.Lookup(kind); isObject {
		return fmt.Errorf("defect: a %s is an object, and is written past admission", kind)
	}
	return nil
}
