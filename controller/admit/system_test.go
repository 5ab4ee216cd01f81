package admit

import (
	"errors"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// audited returns the newest entries, oldest first: "user action kind", and "refused".
func (g *Gate) audited(count int) (told []string) {
	entries := g.Audit.Entries()
	for _, entry := range entries[:min(count, len(entries))] {
		text := strings.Join([]string{entry.User, entry.Action, entry.Kind, entry.Object}, " ")
		if entry.Refused != "" {
			text += " refused"
		}
		told = append([]string{text}, told...)
	}
	return told
}

func TestWhatTheControllerWritesIsAuditedOncePerObjectWhenAllOfItIsWritten(t *testing.T) {
	gate := openGate(t)
	err := gate.Update(t.Context(), System("test"), func(tx *Tx) error {
		if _, err := tx.Create("pool", schema.Object{"name": "p"}, "pool-1"); err != nil {
			return err
		}
		created, _ := tx.View().Get("pool", "pool-1")
		if err := tx.Change("pool", "pool-1", func(o schema.Object) { o["description"] = "changed" }); err != nil {
			return err
		}
		if created.Object["description"] == "changed" {
			t.Error("the stored object is changed in place")
		}
		return tx.Keep(&store.Record{Kind: "memory", UUID: "m", Name: "m", Object: schema.Object{}})
	})
	if err != nil {
		t.Fatal(err)
	}
	if pool, _ := gate.store.View().Get("pool", "pool-1"); pool == nil || pool.Object["description"] != "changed" {
		t.Errorf("written is %v", pool)
	}
	if got := strings.Join(gate.audited(9),
		", "); got != "system:test create pool pool-1, system:test change pool pool-1" {
		t.Errorf("audited are %s", got)
	}
}

func TestWriteOfTheControllerThatIsRefusedLeavesNothingButAuditEntries(t *testing.T) {
	gate := openGate(t)
	err := gate.Update(t.Context(), System("test"), func(tx *Tx) error {
		if err := tx.Delete("user", "user-1"); err == nil {
			t.Error("the built-in administrator is deleted")
		}
		if _, err := tx.Create("pool", schema.Object{"name": "p"}, "pool-1"); err != nil {
			return err
		}
		_, err := tx.Create("pool", schema.Object{"name": "p"}, "pool-2")
		return err
	})
	var twice *Duplicate
	if _, there := gate.store.View().Get("pool", "pool-1"); there || !errors.As(err, &twice) {
		t.Errorf("there is one: %v; %v", there, err)
	}
	const want = "system:test delete user user-1 refused, system:test create pool p refused, " +
		"system:test create pool p refused"
	if got := strings.Join(gate.audited(9), ", "); got != want {
		t.Errorf("audited are %s", got)
	}
}

func TestWriteOfTheControllerThatTheStoreFailsIsAudited(t *testing.T) {
	gate := openGate(t)
	err := gate.Update(t.Context(), System("test"), func(tx *Tx) error {
		if _, err := tx.Create("pool", schema.Object{"name": "p"}, "pool-1"); err != nil {
			return err
		}
		large := schema.Object{"text": strings.Repeat("x", 16<<20)}
		return tx.Keep(&store.Record{Kind: "memory", UUID: "m", Name: "m", Object: large})
	})
	if !errors.Is(err, store.ErrTooLarge) {
		t.Fatalf("got %v", err)
	}
	if got := strings.Join(gate.audited(9), ", "); got != "system:test create pool p refused" {
		t.Errorf("audited are %q", got)
	}
}

func TestRefusalThatTheControllerIgnoresIsARefusal(t *testing.T) {
	gate := openGate(t)
	address := schema.Object{"vip_id": "1", "ip_address": schema.Object{"addr": "10.0.0.1", "type": "V4"}}
	err := gate.Update(t.Context(), System("test"), func(tx *Tx) error {
		vip := schema.Object{"name": "vip", "vip": []any{address}}
		if _, err := tx.Create(addressKind, vip, "vsvip-1"); err != nil {
			return err
		}
		for _, name := range []string{"first", "second"} {
			_, _ = tx.Create(serviceKind, schema.Object{"name": name, "vsvip_ref": "/api/vsvip/vsvip-1",
				"services": []any{schema.Object{"port": int64(80)}}}, "")
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "is served by virtual service first already") {
		t.Errorf("got %v", err)
	}
	if count := gate.store.View().Count(serviceKind); count != 0 {
		t.Errorf("%d virtual services are written", count)
	}
}

func TestNoObjectIsWrittenPastAdmissionAndNothingElsePassesForOne(t *testing.T) {
	gate := openGate(t)
	err := gate.Update(t.Context(), System("test"), func(tx *Tx) error {
		_, create := tx.Create("memory", schema.Object{"name": "m"}, "")
		for what, err := range map[string]error{
			"an object is kept":    tx.Keep(&store.Record{Kind: "pool", UUID: "pool-1", Object: schema.Object{}}),
			"an object is dropped": tx.Forget("user", "user-1"), "a kind is made up": create,
		} {
			if err == nil {
				t.Error(what)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, there := gate.store.View().Get("user", "user-1"); !there {
		t.Error("the administrator is gone")
	}
}
