package controller

import (
	"maps"
	"slices"
	"testing"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/store"
)

func TestADecisionThatAnOrderOvertookIsNotToldAsDone(t *testing.T) {
	objects := emptyStore(t)
	base := objects.View()
	err := objects.Update(t.Context(), func(tx *store.Tx) error {
		record, err := recordOf(assignmentKind, "vs-ordered",
			place.Assignment{VirtualService: "vs-ordered", Requested: 2})
		if err == nil {
			tx.Put(record)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	decided := []place.Assignment{{VirtualService: "vs-ordered"}, {VirtualService: "vs-other"}}
	written, err := settle(t.Context(), objects, base, decided, nil)
	if err != nil || !slices.Equal(slices.Collect(maps.Keys(written)), []string{"vs-other"}) {
		t.Errorf("written are %v, %v", written, err)
	}
}

func emptyStore(t *testing.T) *store.Store {
	t.Helper()
	objects, err := store.Open(t.Context(), store.Config{
		Dir: t.TempDir() + "/store", Sealer: func() (store.Sealer, error) {
			return pki.OpenSealer(t.TempDir() + "/key")
		},
		Index: admit.AddressKeys,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(objects.Close)
	return objects
}
