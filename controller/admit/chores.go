package admit

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
)

// chores is the slow work of one write: hashing a password, making a key, decrypting one. It does not run in a
// transaction, because all other writers would wait. A transaction that needs it asks for it and ends without effect.
// When the transaction runs again, the result is there.
type chores struct {
	hashes map[string]string        // by password
	made   map[string]schema.Object // by the order
	plain  map[lockedKey]plainKey

	checked map[[sha256.Size]byte]error // what was found about large objects, by the content of each
	next    func() error
}

// lockedKey is a key under a passphrase.
type lockedKey struct{ pem, passphrase string }

// plainKey is a key without its passphrase.
type plainKey struct {
	pem string
	err error
}

var errAsked = errors.New("a transaction asked for a chore and was not repeated")

// update is store.Update for a decision that may ask for chores.
func (g *Gate) update(ctx context.Context, chores *chores, decide func(tx *store.Tx) error) error {
	return g.withChores(ctx, chores, func() error { return g.store.Update(ctx, decide) })
}

// withChores runs a transaction again after each chore that it asks for.
func (g *Gate) withChores(ctx context.Context, chores *chores, run func() error) error {
	chores.hashes, chores.made, chores.plain = map[string]string{}, map[string]schema.Object{}, map[lockedKey]plainKey{}
	chores.checked = map[[sha256.Size]byte]error{}
	for {
		err := run()
		if !errors.Is(err, errAsked) {
			return err
		}
		if err := g.doChore(ctx, chores.next); err != nil {
			return err
		}
	}
}

// doChore does a chore when the queue allows it.
func (g *Gate) doChore(ctx context.Context, do func() error) (err error) {
	leave, err := g.chores.enter()
	if err != nil {
		return err
	}
	defer leave()
	if stopped := g.chores.work(ctx, func() { err = do() }); stopped != nil {
		return stopped
	}
	return err
}

func (c *chores) hash(password string) (string, error) {
	if hash, done := c.hashes[password]; done {
		return hash, nil
	}
	c.next = func() error {
		c.hashes[password] = hashPassword(password)
		return nil
	}
	return "", errAsked
}

// checkedApartFrom is the size, as JSON, from which objects that are slow to check are a chore.
const checkedApartFrom = 64 << 10

// check is Kind.Check. That of a large object does not depend on its uuid, which differs each time that a transaction
// creates it.
func (c *chores) check(kind *schema.Kind, object schema.Object) error {
	if !kind.SlowToCheck {
		return kind.Check(object)
	}
	uuid, has := object["uuid"]
	delete(object, "uuid")
	text := schema.AppendJSON([]byte(kind.Name), object)
	if has {
		object["uuid"] = uuid
	}
	if len(text) < checkedApartFrom {
		return kind.Check(object)
	}
	sum := sha256.Sum256(text)
	if found, done := c.checked[sum]; done {
		return found
	}
	copied := schema.Clone(object)
	c.next = func() error {
		c.checked[sum] = kind.Check(copied)
		return nil
	}
	return errAsked
}

// decrypt replaces a key under a passphrase with the plain one: engines need it so.
func (c *chores) decrypt(kind *schema.Kind, object schema.Object) error {
	locked, is := lockedKeyOf(kind, object)
	if !is {
		return nil
	}
	if made, done := c.plain[locked]; done {
		if made.err != nil {
			return &schema.FieldError{Kind: certificateKind, Field: "key", Problem: made.err.Error()}
		}
		object["key"] = made.pem
		return nil
	}
	c.next = func() error {
		c.unlock(locked)
		return nil
	}
	return errAsked
}

// lockedKeyOf returns the key of a certificate that is under a passphrase; false: there is none, or a check says what
// is wrong with it.
func lockedKeyOf(kind *schema.Kind, object schema.Object) (lockedKey, bool) {
	if kind.Name != certificateKind {
		return lockedKey{}, false
	}
	sent, err := schema.Into[kinds.SSLKeyAndCertificate](object)
	if err != nil || sent.KeyPassphrase == "" || !kinds.IsEncryptedKey(sent.Key) {
		return lockedKey{}, false
	}
	return lockedKey{sent.Key, sent.KeyPassphrase}, true
}

func (c *chores) unlock(locked lockedKey) {
	if _, done := c.plain[locked]; !done {
		pem, err := kinds.DecryptKey(locked.pem, locked.passphrase)
		c.plain[locked] = plainKey{pem, err}
	}
}

// alsoUnlock adds the keys of a tree to the chore that its transaction has asked for, so that the transaction does not
// begin again for each of them.
func (c *chores) alsoUnlock(tree Tree) {
	first := c.next
	c.next = func() error {
		err := first()
		if err == nil {
			tree.each(func(part Tree) {
				if locked, is := lockedKeyOf(part.Kind, part.Object); is {
					c.unlock(locked)
				}
			})
		}
		return err
	}
}

// fulfil puts the ordered key and certificate into an object.
func (c *chores) fulfil(kind *schema.Kind, object schema.Object, now time.Time) error {
	if !ordered(kind, object) {
		return nil
	}
	order := fmt.Sprint(object["name"], object["certificate"], object["key_params"])
	if made, done := c.made[order]; done {
		made = schema.Clone(made)
		object["certificate"], object["key"] = made["certificate"], made["key"]
		return nil
	}
	copied := schema.Clone(object)
	c.next = func() error {
		c.made[order] = copied
		return fulfil(copied, now)
	}
	return errAsked
}

func ordered(kind *schema.Kind, object schema.Object) bool {
	if kind.Name != certificateKind {
		return false
	}
	order, err := schema.Into[kinds.SSLKeyAndCertificate](object)
	return err == nil && order.Ordered()
}

// fulfil makes the certificate that an object orders. If that fails, the order is wrong.
func fulfil(object schema.Object, now time.Time) error {
	if err := pki.Fulfil(object, now); err != nil {
		return &schema.FieldError{Kind: certificateKind, Field: "certificate",
			Problem: "cannot be made: " + err.Error()}
	}
	return nil
}
