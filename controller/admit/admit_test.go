package admit

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// afterNextWrite runs do after the next write is committed and before that write returns.
func (g *Gate) afterNextWrite(do func()) {
	g.Audit = NewAudit(slog.New(slog.DiscardHandler), func() time.Time {
		now := do
		if do = nil; now != nil {
			now()
		}
		return time.Now()
	})
}

func TestWriteIsAnsweredWithWhatItMadeThoughAnotherFollows(t *testing.T) {
	gate := openGate(t)
	w := gate.by(t, "pool")
	describe := func(text string) (*store.Record, error) {
		return gate.Change(t.Context(), w, "pool-p", func(stored schema.Object) (schema.Object, error) {
			stored["description"] = text
			return stored, nil
		})
	}
	if _, err := gate.Create(t.Context(), w, schema.Object{"name": "p"}, "pool-p"); err != nil {
		t.Fatal(err)
	}
	var second *store.Record
	gate.afterNextWrite(func() { second, _ = describe("second") })
	first, err := describe("first")
	if err != nil || second == nil || textOf(first.Object, "description") != "first" ||
		first.Modified >= second.Modified {
		t.Errorf("the first change returns %v, %v; the second returned %v before", first, err, second)
	}
}

func TestCreateIsAnsweredThoughADeleteFollows(t *testing.T) {
	gate := openGate(t)
	w := gate.by(t, "pool")
	var deleted error
	gate.afterNextWrite(func() { deleted = gate.Delete(t.Context(), w, "pool-p") })
	made, err := gate.Create(t.Context(), w, schema.Object{"name": "p"}, "pool-p")
	if err != nil || made.UUID != "pool-p" || made.Modified == 0 {
		t.Errorf("answered with %v, %v", made, err)
	}
	if _, there := gate.store.View().Get("pool", "pool-p"); there || deleted != nil {
		t.Errorf("the pool is still there, and the delete was answered with %v", deleted)
	}
}

func TestUUIDBelongsToOneObjectOfAllKinds(t *testing.T) {
	gate := openGate(t)
	if _, err := gate.Create(t.Context(), gate.by(t, "pool"), schema.Object{"name": "p"}, "shop"); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"pool", "healthmonitor"} {
		_, err := gate.Create(t.Context(), gate.by(t, kind), schema.Object{"name": "q",
			"type": "HEALTH_MONITOR_TCP"}, "shop")
		if taken, ok := errors.AsType[*Duplicate](err); !ok || taken.Title != "Pool" || taken.Field != "uuid" {
			t.Errorf("a %s with this uuid: %v", kind, err)
		}
	}
	gate.alter(t, func(tx *store.Tx) {
		tx.Put(&store.Record{Kind: "memory", UUID: "remembered", Name: "m", Object: schema.Object{}})
	})
	if _, err := gate.Create(t.Context(), gate.by(t, "pool"), schema.Object{"name": "r"}, "remembered"); err != nil {
		t.Errorf("with the uuid of a record that is no object: %v", err)
	}
}
