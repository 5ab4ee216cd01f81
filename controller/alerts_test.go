package controller

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/alert"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
)

// openGate returns the gate of a controller that starts for the first time, and what it writes to.
func openGate(t *testing.T) (*admit.Gate, *store.Store) {
	t.Helper()
	dir, quiet := t.TempDir(), slog.New(slog.DiscardHandler)
	objects, err := store.Open(t.Context(), store.Config{Dir: filepath.Join(dir, "store"), Logger: quiet,
		Index:  admit.IndexKeys,
		Sealer: func() (store.Sealer, error) { return pki.OpenSealer(filepath.Join(dir, "secrets.key")) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(objects.Close)
	gate, err := admit.Open(t.Context(), objects, time.Now, quiet)
	if err == nil {
		err = gate.Bootstrap(t.Context(), "a-good-password-1")
	}
	if err != nil {
		t.Fatal(err)
	}
	return gate, objects
}

func alertOf(uuid string) *kinds.Alert {
	a := &kinds.Alert{ConfigRef: "/api/alertconfig/rule-1", Level: "ALERT_HIGH", State: "ALERT_STATE_ON",
		Condition: "FIRING", ObjectKey: "rule-1/vs-1", Timestamp: 1}
	a.UUID, a.Name = uuid, "down-"+uuid
	return a
}

func TestAlertThatAnOperatorDismissedStaysDismissed(t *testing.T) {
	gate, objects := openGate(t)
	save, one := saverOf(gate), alertOf("alert-1")
	if err := save(t.Context(), []alert.Change{{Alert: one, Tenant: "admin", Fresh: true}}); err != nil {
		t.Fatal(err)
	}
	err := gate.Update(t.Context(), admin(), func(tx *admit.Tx) error {
		return tx.Change(alertKind, "alert-1", func(o schema.Object) { o["state"] = alert.Dismissed })
	})
	if err != nil {
		t.Fatal(err)
	}
	one.Reason = "a delivery was reported meanwhile"
	if err := save(t.Context(), []alert.Change{{Alert: one, Tenant: "admin"}}); err != nil {
		t.Fatal(err)
	}
	stored, _ := objects.View().Get(alertKind, "alert-1")
	if stored.Object["state"] != alert.Dismissed || stored.Object["reason"] != one.Reason {
		t.Errorf("stored is %v", stored.Object)
	}
}

func admin() admit.Principal { return admit.Principal{Name: "admin", Superuser: true} }

func TestAlertThatIsRefusedIsAuditedOnce(t *testing.T) {
	gate, objects := openGate(t)
	before, save := len(gate.Audit.Entries()), saverOf(gate)
	changes := []alert.Change{{Alert: alertOf("alert-1"), Tenant: "admin", Fresh: true},
		{Alert: alertOf("alert-2"), Tenant: "tenant-gone", Fresh: true}}
	for range 5 {
		var refused *alert.Refused
		if err := save(t.Context(), changes); !errors.As(err, &refused) {
			t.Fatalf("got %v", err)
		}
	}
	if added := gate.Audit.Entries(); len(added) != before+1 || added[0].Object != "down-alert-2" ||
		added[0].Refused == "" {
		t.Errorf("%d entries more: %+v", len(added)-before, added[0])
	}
	if objects.View().Count(alertKind) != 0 {
		t.Error("one is stored")
	}
	changes[1].Tenant = "admin"
	if err := save(t.Context(), changes); err != nil {
		t.Errorf("in admin: %v", err)
	}
}
