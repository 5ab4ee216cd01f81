package admit

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

func openStore(t *testing.T) *store.Store {
	t.Helper()
	dir := t.TempDir()
	sealer := func() (store.Sealer, error) { return pki.OpenSealer(dir + "/secrets.key") }
	objects, err := store.Open(t.Context(), store.Config{Dir: dir + "/store", Sealer: sealer,
		Logger: slog.New(slog.DiscardHandler), Index: IndexKeys})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(objects.Close)
	return objects
}

// emptyGate returns the gate of a controller that starts for the first time.
func emptyGate(t *testing.T) *Gate {
	t.Helper()
	gate, err := Open(t.Context(), openStore(t), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return gate
}

func TestBootstrapMakesWhatIsMissingAndLeavesTheRest(t *testing.T) {
	gate := emptyGate(t)
	objects := gate.store
	if err := gate.Bootstrap(t.Context(), "first password"); err != nil {
		t.Fatalf("first start: %v", err)
	}
	for _, b := range schema.Builtins() {
		record, ok := objects.View().Get(b.Kind.Name, b.UUID)
		if !ok {
			t.Errorf("%s %v is missing", b.Kind.Name, b.Object["name"])
			continue
		}
		for _, reference := range b.Kind.References(record.Object) {
			target, err := schema.ParseRef(reference.Kind, reference.Value)
			if _, there := objects.View().Get(target.Kind, target.UUID); err != nil || !there {
				t.Errorf("%s of %s %s leads nowhere: %s", reference.Field, b.Kind.Name, record.Name, reference.Value)
			}
		}
	}
	before := objects.View().Revision()
	if err := gate.Bootstrap(t.Context(), "second password"); err != nil || objects.View().Revision() != before {
		t.Errorf("second start: %v, revision %d after %d", err, objects.View().Revision(), before)
	}
	user, _ := objects.View().Get(userKind, "user-1")
	if !passwordMatches(textOf(user.Object, "password"), "first password") {
		t.Error("the second start changed the password")
	}
}

func TestBootstrapGivesTheBuiltInCertificatesTheirKeys(t *testing.T) {
	gate := emptyGate(t)
	if err := gate.Bootstrap(t.Context(), "first password"); err != nil {
		t.Fatal(err)
	}
	for _, record := range gate.store.View().List(certificateKind) {
		certificate, _ := record.Object["certificate"].(schema.Object)
		if _, err := tls.X509KeyPair([]byte(textOf(certificate, "certificate")),
			[]byte(textOf(record.Object, "key"))); err != nil {
			t.Errorf("%s: %v", record.Name, err)
		}
	}
}

func TestAdministratorComesBackWhateverThePasswordsOfOthersMustBe(t *testing.T) {
	gate := openGate(t)
	_, err := gate.Change(t.Context(), gate.by(t, systemKind), "default", func(o schema.Object) (schema.Object, error) {
		o["portal_configuration"].(schema.Object)["minimum_password_length"] = int64(32)
		return o, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	gate.alter(t, func(tx *store.Tx) { tx.Delete(userKind, "user-1") })
	if err := gate.Bootstrap(t.Context(), secondPassword); err != nil {
		t.Fatal(err)
	}
	who := Credentials{Username: "admin", Password: secondPassword}
	if _, _, err := gate.Login(t.Context(), who, ""); err != nil {
		t.Errorf("the administrator: %v", err)
	}
}

func TestGateRefusesAStoreThatFindsNoAddresses(t *testing.T) {
	dir := t.TempDir()
	sealer := func() (store.Sealer, error) { return pki.OpenSealer(dir + "/secrets.key") }
	objects, err := store.Open(t.Context(), store.Config{Dir: dir + "/store", Sealer: sealer,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer objects.Close()
	if _, err := Open(t.Context(), objects, time.Now, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("the gate opens")
	}
}

func TestBootstrapRefusesAWeakPassword(t *testing.T) {
	var problem *schema.FieldError
	if err := emptyGate(t).Bootstrap(t.Context(), "short"); !errors.As(err, &problem) || problem.Field != "password" {
		t.Errorf("got %v", err)
	}
}
