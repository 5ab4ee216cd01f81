package admit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// furnished are the built-in objects. They are made once, because it takes long to make the keys of their certificates.
var furnished = sync.OnceValues(func() (all []*store.Record, err error) {
	dir, err := os.MkdirTemp("", "weir-admit")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	sealer := func() (store.Sealer, error) { return pki.OpenSealer(dir + "/secrets.key") }
	objects, err := store.Open(context.Background(), store.Config{Dir: dir + "/store", Sealer: sealer,
		Logger: slog.New(slog.DiscardHandler), Index: IndexKeys})
	if err != nil {
		return nil, err
	}
	defer objects.Close()
	gate, err := Open(context.Background(), objects, time.Now, slog.New(slog.DiscardHandler))
	if err == nil {
		err = gate.Bootstrap(context.Background(), firstPassword)
	}
	for _, kind := range objects.View().Kinds() {
		all = append(all, objects.View().List(kind)...)
	}
	return all, err
})

func openGate(t *testing.T) *Gate {
	t.Helper()
	objects := openStore(t)
	records, err := furnished()
	if err != nil {
		t.Fatal(err)
	}
	err = objects.Update(t.Context(), func(tx *store.Tx) error {
		for _, record := range records {
			copied := *record
			tx.Put(&copied)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	gate, err := Open(t.Context(), objects, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return gate
}

// by returns a write of the administrator.
func (g *Gate) by(t *testing.T, kind string) Write {
	t.Helper()
	who, ok := principalOf(g.store.View(), "user-1", "")
	found, known := schema.Lookup(kind)
	if !ok || !known {
		t.Fatalf("no administrator, or no kind %s", kind)
	}
	return Write{Who: who, Tenant: Tenant{UUID: AdminTenant, Name: AdminTenant}, Kind: found}
}

// occupy takes all turns of a queue until the test gives them back.
func (q *queue) occupy(t *testing.T) (free func()) {
	t.Helper()
	for range cap(q.turns) {
		q.turns <- struct{}{}
	}
	return func() {
		for range cap(q.turns) {
			<-q.turns
		}
	}
}

func (q *queue) fill() {
	for range cap(q.places) {
		q.places <- struct{}{}
	}
}

func TestWritersDoNotWaitForChoresOfOthers(t *testing.T) {
	gate := openGate(t)
	free := gate.chores.occupy(t)
	for at, each := range []struct {
		kind   string
		object schema.Object
	}{
		{"user", schema.Object{"name": "eve", "password": "eve's password"}},
		{"sslkeyandcertificate", schema.Object{"name": "c", "certificate": schema.Object{"self_signed": true,
			"subject": schema.Object{"common_name": "x"}}}},
		{"sslkeyandcertificate", encryptedKey(t, "opensesame")},
	} {
		done := make(chan error, 1)
		write := gate.by(t, each.kind)
		go func() {
			_, err := gate.Create(t.Context(), write, each.object, "")
			done <- err
		}()
		for len(gate.chores.places) == 0 && len(done) == 0 { // until the transaction waits for the chore
			runtime.Gosched()
		}
		if _, err := gate.Create(t.Context(), gate.by(t, "pool"),
			schema.Object{"name": fmt.Sprint("beside ", at)}, ""); err != nil {
			t.Error(err)
		}
		free()
		if err := <-done; err != nil {
			t.Error(err)
		}
		free = gate.chores.occupy(t)
	}
}

// encryptedKey is a certificate whose key is under the passphrase "opensesame".
func encryptedKey(t *testing.T, passphrase string) schema.Object {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("../schema/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	return schema.Object{"name": "under a passphrase", "certificate": schema.Object{"certificate": read("rsa.pem")},
		"key": read("encrypted.key"), "key_passphrase": passphrase}
}

func TestKeyUnderAPassphraseIsStoredWithoutIt(t *testing.T) {
	gate := openGate(t)
	write := gate.by(t, "sslkeyandcertificate")
	if _, err := gate.Create(t.Context(), write, encryptedKey(t, "sesame"), ""); err == nil ||
		!strings.Contains(err.Error(), "key: cannot be decrypted with key_passphrase") {
		t.Errorf("with another passphrase: %v", err)
	}
	record, err := gate.Create(t.Context(), gate.by(t, "sslkeyandcertificate"), encryptedKey(t, "opensesame"), "")
	if err != nil {
		t.Fatal(err)
	}
	if key, _ := record.Object["key"].(string); !strings.HasPrefix(key, "-----BEGIN PRIVATE KEY-----") {
		t.Errorf("stored as %.40s", key)
	}
}

func TestTheKeysOfATreeAreDecryptedAtOnce(t *testing.T) {
	gate := openGate(t)
	kind, _ := schema.Lookup("sslkeyandcertificate")
	root, _ := schema.Lookup("pool")
	tree := Tree{Kind: root, Object: schema.Object{"name": "shop"}}
	for n := range 4 {
		certificate := encryptedKey(t, "opensesame")
		certificate["name"] = fmt.Sprint("certificate ", n)
		certificate["key"] = certificate["key"].(string) + strings.Repeat("\n", n) // as if it were another one
		tree.Parts = append(tree.Parts, Part{Field: "ssl_key_and_certificate_ref", Tree: Tree{Kind: kind,
			Object: certificate}})
	}
	checked := 0
	gate.Check(kind.Name, func(*store.View, schema.Object) *schema.FieldError { checked++; return nil })
	if _, err := gate.CreateTree(t.Context(), gate.by(t, "pool"), tree); err != nil {
		t.Fatal(err)
	}
	if checked != 4 {
		t.Errorf("4 certificates were checked %d times", checked)
	}
}

// policyOf is a policy with so many rules, each of which compares the path with an expression.
func policyOf(rules int, expression string) schema.Object {
	all := make([]any, rules)
	for i := range all {
		all[i] = schema.Object{"name": fmt.Sprint("rule ", i), "index": int64(i), "enable": true,
			"match": schema.Object{"path": schema.Object{"match_criteria": "REGEX_MATCH",
				"match_str": []any{expression}}},
			"action": schema.Object{"action": "HTTP_SECURITY_ACTION_CLOSE_CONN"}}
	}
	return schema.Object{"name": "large", "http_security_policy": schema.Object{"rules": all}}
}

func TestALargePolicyIsCheckedWhileOthersWrite(t *testing.T) {
	const some, many = 2, 400
	gate := openGate(t)
	write := gate.by(t, "httppolicyset")
	write.chores = &chores{}
	for rules, transactions := range map[int]int{some: 1, many: 2} {
		ran := 0
		err := gate.withChores(t.Context(), write.chores, func() error {
			ran++
			_, err := gate.store.Draft(func(tx *store.Tx) error {
				_, err := gate.create(tx, write, policyOf(rules, "^/a.*z$"), "")
				return err
			})
			return err
		})
		if err != nil || ran != transactions {
			t.Errorf("%d rules: %d transactions, %v", rules, ran, err)
		}
	}
	if _, err := gate.Create(t.Context(), gate.by(t, "httppolicyset"), policyOf(many, "^/a(z$"), ""); err == nil ||
		!strings.Contains(err.Error(), "http_security_policy.rules[0].match.path.match_str[0]") {
		t.Errorf("got %v", err)
	}
	made, err := gate.Create(t.Context(), gate.by(t, "httppolicyset"), policyOf(many, "^/a.*z$"), "")
	if err != nil {
		t.Fatal(err)
	}
	if uuid, _ := made.Object["uuid"].(string); uuid != made.UUID {
		t.Errorf("it is stored with the uuid %q", uuid)
	}
}

func TestLoginsDoNotTakeTheTurnsOfWriters(t *testing.T) {
	gate := openGate(t)
	gate.logins.occupy(t)
	if _, err := gate.Create(t.Context(), gate.by(t, "user"),
		schema.Object{"name": "eve", "password": "eve's password"}, ""); err != nil {
		t.Error(err)
	}
}

func TestFullQueueTurnsAway(t *testing.T) {
	gate := openGate(t)
	gate.logins.fill()
	if _, _, err := gate.Login(t.Context(), Credentials{Username: "admin", Password: firstPassword},
		""); !errors.Is(err, ErrBusy) {
		t.Errorf("a login gets %v", err)
	}
	gate.chores.fill()
	if _, err := gate.Create(t.Context(), gate.by(t, "user"),
		schema.Object{"name": "eve", "password": "eve's password"}, ""); !errors.Is(err, ErrBusy) {
		t.Errorf("a new user gets %v", err)
	}
	if _, err := gate.Create(t.Context(), gate.by(t, "pool"), schema.Object{"name": "p"}, ""); err != nil {
		t.Errorf("a new pool, which takes no chore, gets %v", err)
	}
}

func TestOneAddressLeavesRoomForTheLoginsOfOthers(t *testing.T) {
	gate := openGate(t)
	free := gate.logins.occupy(t)
	done := make(chan error, loginsAtOnce+loginsWaiting+1)
	login := func(username, address string) {
		_, _, err := gate.Login(t.Context(), Credentials{Username: username, Password: firstPassword}, address)
		done <- err
	}
	for i := range cap(done) - 1 {
		go login(fmt.Sprint("guess ", i), "192.0.2.1")
	}
	for range cap(done) - 1 - loginsPerHost {
		if err := <-done; !errors.Is(err, ErrBusy) {
			t.Errorf("a guess gets %v", err)
		}
	}
	go login("admin", "192.0.2.2")
	for len(gate.logins.places) <= loginsPerHost && len(done) == 0 { // until the other login waits for its turn
		runtime.Gosched()
	}
	free()
	succeeded := 0
	for range loginsPerHost + 1 {
		if err := <-done; err == nil {
			succeeded++
		} else if !errors.Is(err, ErrInvalidCredentials) {
			t.Errorf("who was let in gets %v", err)
		}
	}
	if succeeded != 1 || len(gate.shares.taken) != 0 {
		t.Errorf("%d logins succeeded, shares left: %v", succeeded, gate.shares.taken)
	}
}

func TestWaitingLoginEndsWithItsClient(t *testing.T) {
	gate := openGate(t)
	gate.logins.occupy(t)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, _, err := gate.Login(ctx, Credentials{Username: "admin", Password: firstPassword}, ""); !errors.Is(err,
		context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(gate.logins.places) != 0 {
		t.Error("its place is still taken")
	}
}
