package cloud

import (
	"log/slog"
	"path/filepath"
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
		Dir: filepath.Join(dir, "store"), Logger: quiet,
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
	if err == nil {
		err = NewKeeper(Config{Objects: objects, Gate: gate}).write(t.Context(), []Instance{instance}, nil)
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
	if err := NewKeeper(Config{Objects: objects, Gate: gate}).write(t.Context(), nil, &instance); err != nil {
		t.Fatal(err)
	}
	if count := objects.View().Count(engineKind) + objects.View().Count(instanceKind); count != 0 {
		t.Errorf("%d records are left", count)
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
