package cloud

import (
	"errors"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/store"
)

func TestAnEngineIsWhatItWasStartedAsUnlessItComesTooLate(t *testing.T) {
	objects, err := store.Open(t.Context(), store.Config{
		Dir: t.TempDir() + "/store", Sealer: func() (store.Sealer, error) {
			return pki.OpenSealer(t.TempDir() + "/key")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(objects.Close)
	written := Instance{Engine: "se-1", Name: "engine-1", Cloud: "cloud-1", Group: "group-1", Zone: "z",
		State: Starting, Since: time.Unix(1000, 5).UTC()}
	put := func() {
		t.Helper()
		if err := objects.Update(t.Context(), func(tx *store.Tx) error {
			tx.Put(recordOf(written))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	put()
	if read, err := Expected(objects.View(), "engine-1"); err != nil || *read != written {
		t.Errorf("got %+v, %v, want %+v", read, err, written)
	}
	if other, err := Expected(objects.View(), "engine-2"); err != nil || other != nil {
		t.Errorf("got %+v, %v", other, err)
	}
	written.State = Retiring
	put()
	if _, err := Expected(objects.View(), "engine-1"); !errors.Is(err, ErrUnwanted) {
		t.Errorf("got %v", err)
	}
}
