package cloud

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

func TestEngineThatIsToBeRetiredIsDisabledInTheStoreAndThenDeleted(t *testing.T) {
	dir, quiet := t.TempDir(), slog.New(slog.DiscardHandler)
	config := store.Config{
		Dir: filepath.Join(dir, "store"), Logger: quiet, Index: admit.IndexKeys,
		Sealer: func() (store.Sealer, error) { return pki.OpenSealer(filepath.Join(dir, "key")) },
	}
	objects, gate := open(t, config)
	err := gate.Bootstrap(t.Context(), "a long password")
	if err == nil {
		err = gate.Update(t.Context(), admit.System("test"), func(tx *admit.Tx) error {
			_, err := tx.Create(engineKind, schema.Object{"name": "edge"}, "se-1")
			return err
		})
	}
	instance := Instance{Engine: "se-1", Name: "edge", State: Retiring, Since: time.Now()}
	w, d := &world{now: time.Now(), memory: newMemory()}, &decision{changed: []Instance{instance}}
	if err == nil {
		err = NewKeeper(Config{Objects: objects, Gate: gate}).write(t.Context(), w, d)
	}
	if err != nil {
		t.Fatal(err)
	}
	objects.Close()

	objects, gate = open(t, config)
	defer objects.Close()
	engine, there := objects.View().Get(engineKind, "se-1")
	if !there || engine.Object["enable_state"] != "SE_STATE_DISABLED" {
		t.Errorf("on disk is %v", engine)
	}
	if err := NewKeeper(Config{Objects: objects, Gate: gate}).remove(t.Context(), w, d, instance); err != nil {
		t.Fatal(err)
	}
	if count := objects.View().Count(engineKind) + objects.View().Count(instanceKind); count != 0 {
		t.Errorf("%d records are left", count)
	}
}

func TestRefusalOfOneEngineHoldsUpNoOther(t *testing.T) {
	dir := t.TempDir()
	objects, gate := open(t, store.Config{
		Dir: filepath.Join(dir, "store"), Logger: slog.New(slog.DiscardHandler), Index: admit.IndexKeys,
		Sealer: func() (store.Sealer, error) { return pki.OpenSealer(filepath.Join(dir, "key")) },
	})
	defer objects.Close()
	err := gate.Bootstrap(t.Context(), "a long password")
	if err == nil {
		err = gate.Update(t.Context(), admit.System("test"), func(tx *admit.Tx) error {
			_, err := tx.Create(engineKind, schema.Object{"name": "sound"}, "se-sound")
			return err
		})
	}
	if err == nil {
		err = objects.Update(t.Context(), func(tx *store.Tx) error { // as no version writes it today
			tx.Put(&store.Record{Kind: engineKind, UUID: "se-odd", Tenant: admit.AdminTenant, Name: "odd",
				Object: schema.Object{"uuid": "se-odd", "name": "odd", "resources": "many"}})
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	odd := Instance{Engine: "se-odd", Name: "odd", State: Joined}
	sound := Instance{Engine: "se-sound", Name: "sound", State: Joined}
	w := &world{now: time.Now().UTC(), memory: newMemory(), instances: []Instance{odd, sound}}
	d := &decision{}
	for _, instance := range []Instance{odd, sound} {
		w.become(d, instance, Retiring, "DELETING_SE", "it had nothing to do")
	}
	if err := NewKeeper(Config{Objects: objects, Gate: gate}).write(t.Context(), w, d); err != nil {
		t.Fatal(err)
	}
	if kept, err := instancesIn(objects.View()); err != nil || len(kept) != 1 || kept[0].Engine != "se-sound" {
		t.Errorf("written are %v, %v", kept, err)
	}
	if len(d.news) != 2 || d.news[0].id != "DELETING_SE" || d.news[0].instance.Name != "sound" ||
		d.news[1].id != "DELETE_SE_FAIL" || !strings.Contains(d.news[1].message, "resources") {
		t.Errorf("told are %+v", d.news)
	}
	if w.become(&decision{}, odd, Retiring, "DELETING_SE", "") {
		t.Error("the refused change is tried again at once")
	}
	if w.now = d.again; !w.become(&decision{}, odd, Retiring, "DELETING_SE", "") {
		t.Error("the refused change is not tried again after a pause")
	}
}

func open(t *testing.T, config store.Config) (*store.Store, *admit.Gate) {
	t.Helper()
	objects, err := store.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	gate, err := admit.Open(t.Context(), objects, time.Now, config.Logger)
	if err != nil {
		t.Fatal(err)
	}
	return objects, gate
}
