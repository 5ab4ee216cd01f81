// Package admit checks every write before it reaches the store. There is one file for each step: session (who asks),
// tenant (in which tenant), role and rights (is it allowed), escalation (does anybody get more than the writer has),
// schema (is the object valid), references, listeners and portal (does it fit the other objects), audit (who did what).
//
// rest calls it for users. Parts of the controller that write objects call it as System. store commits the writes that
// pass. Each step is a decision on one view of the objects. The steps run inside the store's transaction, so nothing
// changes between a check and the write. Slow work runs before the transaction (chores).
package admit

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// Gate is the only way to change an object.
type Gate struct {
	Sessions *Sessions
	Tokens   *UserTokens
	Audit    *Audit

	store    *store.Store
	throttle *throttle
	shares   *shares // of addresses in logins
	bearers  *shares // of addresses in look-ups of tokens
	logins   *queue  // apart from chores, so that logins do not delay users who are logged in
	chores   *queue
	now      func() time.Time
	checks   map[string]Check // by kind
}

// Check finds a problem of an object that its kind cannot find by itself. The view is that of the transaction; it has
// the object as it was.
type Check func(view *store.View, object schema.Object) *schema.FieldError

// Check has objects of a kind pass a check of another part of the controller. Call it before the first write.
func (g *Gate) Check(kind string, check Check) { g.checks[kind] = check }

const (
	loginsAtOnce  = 4 // bounds the memory for logins to 76 MiB
	loginsWaiting = 60
	loginsPerHost = 16 // in progress or waiting
	// bearersPerHost is the number of requests with a user token that are being looked up for one address: each asks
	// etcd.
	bearersPerHost = 64
	choresAtOnce   = 2
	choresWaiting  = 30
)

// Open loads the sessions that the store keeps. The store must have IndexKeys as its Index: without them, no two
// virtual services would seem to share an address or a host.
func Open(ctx context.Context, objects *store.Store, now func() time.Time, log *slog.Logger) (*Gate, error) {
	if !objects.HasIndex() {
		return nil, errors.New("defect: the store was opened without admit.IndexKeys as its index")
	}
	sessions, err := OpenSessions(ctx, objects.Vault("session"), now, log)
	if err != nil {
		return nil, err
	}
	return &Gate{
		Sessions: sessions,
		Tokens:   NewUserTokens(objects.Vault("user-token"), now, log),
		Audit:    NewAudit(log, now),
		store:    objects,
		throttle: newThrottle(now),
		shares:   newShares(loginsPerHost),
		bearers:  newShares(bearersPerHost),
		logins:   newQueue(loginsAtOnce, loginsWaiting),
		chores:   newQueue(choresAtOnce, choresWaiting),
		now:      now,
		checks:   map[string]Check{},
	}, nil
}

// Write says who wants to change an object, of which kind, in which tenant.
type Write struct {
	Who    Principal
	Tenant Tenant
	Kind   *schema.Kind
	// Base is the version of the object that the client has read, as its _last_modified; empty: any. A write of another
	// version is refused (ErrStale).
	Base string

	chores *chores
	system bool // the controller writes: limits for operators do not apply
}

// Edit makes the new object from a copy of the stored one. It may run more than once.
type Edit func(stored schema.Object) (schema.Object, error)

// Create admits a new object. chosen is the uuid that the client wants, or empty. Create returns the object as it was
// written, even if another request has changed or deleted the object since.
func (g *Gate) Create(ctx context.Context, w Write, sent schema.Object, chosen string) (*store.Record, error) {
	var made *store.Record
	w.chores = &chores{}
	err := w.mayCreate()
	if err == nil {
		err = g.update(ctx, w.chores, func(tx *store.Tx) (err error) {
			made, err = g.create(tx, w, schema.Clone(sent), chosen)
			return err
		})
	}
	g.Audit.noteChange(w, "create", textOf(sent, "name"), change{is: made}, err)
	if err != nil {
		return nil, err
	}
	return made, nil
}

func (g *Gate) create(tx *store.Tx, w Write, sent schema.Object, chosen string) (*store.Record, error) {
	id, err := newUUID(tx.View(), w.Kind, chosen)
	if err != nil {
		return nil, err
	}
	if w, err = w.now(tx.View()); err != nil {
		return nil, err
	}
	tenant, err := ownerOf(tx.View(), w, sent)
	if err != nil {
		return nil, err
	}
	if err := w.MayWriteIn(tx.View(), tenant); err != nil {
		return nil, err
	}
	stamp(w.Kind, sent, id, tenant)
	return g.put(tx, w, sent, nil, tenant)
}

// Change admits a new state of an object. Like Create, it returns the object as it was written.
func (g *Gate) Change(ctx context.Context, w Write, id string, edit Edit) (*store.Record, error) {
	var was, made *store.Record
	w.chores = &chores{}
	err := w.mayWrite()
	if err == nil {
		err = g.update(ctx, w.chores, func(tx *store.Tx) (err error) {
			was, made, err = g.change(tx, w, id, edit)
			return err
		})
	}
	g.Audit.noteChange(w, "change", id, change{was, made}, err)
	if err != nil {
		return nil, err
	}
	if w.Kind.Name == userKind && was.Object["password"] != made.Object["password"] {
		g.endLogins(ctx, id, "")
	}
	return made, nil
}

func (g *Gate) change(tx *store.Tx, w Write, id string, edit Edit) (was, made *store.Record, err error) {
	if w, err = w.now(tx.View()); err != nil {
		return nil, nil, err
	}
	was, err = w.known(tx.View(), id)
	if err != nil {
		return nil, nil, err
	}
	next, err := edit(schema.Clone(was.Object))
	if err != nil {
		return nil, nil, err
	}
	if err := w.fresh(next, was); err != nil {
		return nil, nil, err
	}
	if err := keepIdentity(w.Kind, next, was); err != nil {
		return nil, nil, err
	}
	made, err = g.put(tx, w, next, was, was.Tenant)
	return was, made, err
}

// put does the steps that new and changed objects share.
func (g *Gate) put(tx *store.Tx, w Write, sent schema.Object, stored *store.Record, tenant string) (
	*store.Record, error) {
	object, err := g.shape(w, sent, stored, func(o schema.Object) error {
		if w.Kind.Name == userKind {
			w.nameRoles(tx.View(), o)
		}
		// A user can have roles of any tenant.
		all := w.system || w.Kind.Name == userKind
		return w.resolve(tx.View(), o, Tenant{UUID: tenant, All: all}, stored)
	})
	if err != nil {
		return nil, err
	}
	if check := g.checks[w.Kind.Name]; check != nil {
		if problem := check(tx.View(), object); problem != nil {
			problem.Kind = w.Kind.Name
			return nil, problem
		}
	}
	record := &store.Record{Kind: w.Kind.Name, UUID: textOf(object, "uuid"), Tenant: tenant,
		Name: textOf(object, "name"), Object: object}
	if stored != nil && reflect.DeepEqual(stored.Object, object) {
		return stored, nil // nothing has changed, so no engine needs a new Plan
	}
	if err := w.mayGrant(tx.View(), stored, record); err != nil {
		return nil, err
	}
	if err := keepsBuiltInName(stored, record); err != nil {
		return nil, err
	}
	if err := nameIsPrintable(stored, record); err != nil {
		return nil, err
	}
	if err := nameIsFree(tx.View(), w.Kind, record); err != nil {
		return nil, err
	}
	if err := usernameIsFree(tx.View(), w.Kind, record); err != nil {
		return nil, err
	}
	tx.Put(record)
	if err := listenersAreFree(tx.View(), stored, record); err != nil {
		return nil, err
	}
	if err := hostsAreFree(tx.View(), stored, record); err != nil {
		return nil, err
	}
	return record, keepsPortal(tx.View(), record)
}

// Delete admits the deletion of an object.
func (g *Gate) Delete(ctx context.Context, w Write, id string) error {
	var was *store.Record
	err := w.mayDelete()
	if err == nil {
		err = g.store.Update(ctx, func(tx *store.Tx) (err error) {
			was, err = remove(tx, w, id)
			return err
		})
	}
	g.Audit.noteChange(w, "delete", id, change{was: was}, err)
	if err == nil && w.Kind.Name == userKind {
		g.endLogins(ctx, id, "")
	}
	return err
}

// remove deletes an object, and returns what it was.
func remove(tx *store.Tx, w Write, id string) (*store.Record, error) {
	w, err := w.now(tx.View())
	if err != nil {
		return nil, err
	}
	stored, err := w.known(tx.View(), id)
	if err != nil {
		return nil, err
	}
	if err := w.fresh(nil, stored); err != nil {
		return nil, err
	}
	if err := staysBuiltIn(stored); err != nil {
		return nil, err
	}
	if err := w.mayGrant(tx.View(), stored, nil); err != nil {
		return nil, err
	}
	if err := notReferred(tx.View(), stored); err != nil {
		return nil, err
	}
	tx.Delete(stored.Kind, stored.UUID)
	return stored, nil
}

// newUUID returns the uuid of a new object. A chosen one must be new among the objects of all kinds, because Plans name
// resources by uuid alone.
func newUUID(view *store.View, kind *schema.Kind, chosen string) (string, error) {
	if chosen == "" {
		return kind.Prefix + "-" + uuid.NewString(), nil
	}
	if _, err := schema.ParseRef(kind.Name, schema.RefPath(kind.Name, chosen)); err != nil {
		return "", &schema.FieldError{Kind: kind.Name, Field: "uuid",
			Problem: "a chosen uuid is made of letters, digits, '-', '_', '.' and ':', at most 128"}
	}
	for _, holder := range view.KindsOf(chosen) {
		if other, isObject := schema.Lookup(holder); isObject {
			return "", &Duplicate{other.Title, "uuid", chosen}
		}
	}
	return chosen, nil
}

func textOf(o schema.Object, field string) string {
	text, _ := o[field].(string)
	return text
}
