package controller

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/controller/tickets"
)

func TestADecisionThatAnOrderOvertookIsNotToldAsDone(t *testing.T) {
	objects := emptyStore(t)
	base := objects.View()
	err := objects.Update(t.Context(), func(tx *store.Tx) error {
		record, err := store.RecordOf(assignmentKind, "vs-ordered",
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
	if _, err := settle(t.Context(), objects, base, nil, []string{"vs-ordered"}); err != nil {
		t.Fatal(err)
	}
	if _, kept := objects.View().Get(assignmentKind, "vs-ordered"); !kept {
		t.Error("the order is deleted")
	}
}

func TestRotationOfKeysWhileTheyAreDecidedAboutIsKept(t *testing.T) {
	objects := emptyStore(t)
	put := func(rings ...tickets.Ring) {
		must(t, objects.Update(t.Context(), func(tx *store.Tx) error {
			for _, ring := range rings {
				record, err := store.RecordOf(ringKind, ring.Profile, ring)
				must(t, err)
				tx.Put(record)
			}
			return nil
		}))
	}
	ring := func(profile, current string) tickets.Ring {
		return tickets.Ring{Profile: profile, Lifetime: time.Hour, Current: []byte(current)}
	}
	put(ring("turned", "old"), ring("gone", "old"), ring("other", "old"), ring("left", "old"))
	base := objects.View()
	put(ring("turned", "rotated"), ring("gone", "rotated"))
	decided := tickets.Decision{
		Changed: []tickets.Ring{ring("turned", "decided"), ring("other", "decided"), ring("new", "decided")},
		Gone:    []string{"gone", "left"},
	}
	must(t, keepRings(t.Context(), objects, base, decided))
	read, err := new(reader).read(objects.View())
	must(t, err)
	got := map[string]string{}
	for _, ring := range read.rings {
		got[ring.Profile] = string(ring.Current)
	}
	want := map[string]string{"turned": "rotated", "gone": "rotated", "other": "decided", "new": "decided"}
	if !maps.Equal(got, want) {
		t.Errorf("the rings are %v, want %v", got, want)
	}
}

func emptyStore(t *testing.T) *store.Store {
	objects, _ := storeThatEnds(t)
	return objects
}

func storeThatEnds(t *testing.T) (objects *store.Store, end func()) {
	t.Helper()
	objects, err := store.Open(t.Context(), store.Config{
		Dir: t.TempDir() + "/store", Sealer: func() (store.Sealer, error) {
			return pki.OpenSealer(t.TempDir() + "/key")
		},
		Index: admit.IndexKeys,
	})
	if err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(objects.Close)
	t.Cleanup(end)
	return objects, end
}
