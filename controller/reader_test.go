package controller

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

func TestReaderReadsOfChangesWhatItWouldReadOfTheWholeView(t *testing.T) {
	objects, one := emptyStore(t), &reader{}
	assign := func(tx *store.Tx, vs string, requested int) {
		record, err := store.RecordOf(assignmentKind, vs, place.Assignment{VirtualService: vs, Requested: requested})
		must(t, err)
		tx.Put(record)
	}
	steps := []func(tx *store.Tx){
		func(tx *store.Tx) { put(tx, "virtualservice", "vs-1", schema.Object{}); assign(tx, "vs-1", 1) },
		func(tx *store.Tx) { put(tx, "virtualservice", "vs-2", schema.Object{}) },
		func(tx *store.Tx) { assign(tx, "vs-2", 1); assign(tx, "vs-1", 3) },
		func(tx *store.Tx) { tx.Delete("virtualservice", "vs-1") },
		func(tx *store.Tx) { tx.Delete(assignmentKind, "vs-1"); tx.Delete(assignmentKind, "vs-2") },
	}
	for i, step := range steps {
		must(t, objects.Update(t.Context(), func(tx *store.Tx) error {
			step(tx)
			if _, err := one.read(tx.View()); err != nil { // like an order, which reads records before they are written
				t.Error(err)
			}
			return nil
		}))
		kept, err := one.read(objects.View())
		must(t, err)
		fresh, err := new(reader).read(objects.View())
		must(t, err)
		if !reflect.DeepEqual(kept, fresh) {
			t.Errorf("step %d: kept is\n%+v, and the whole view says\n%+v", i, kept, fresh)
		}
	}
}

func TestReaderStartsAnewAfterAPanic(t *testing.T) {
	objects, one := emptyStore(t), &reader{}
	const group = "/api/serviceenginegroup/group-1"
	must(t, objects.Update(t.Context(), func(tx *store.Tx) error {
		put(tx, "serviceenginegroup", "group-1", schema.Object{})
		for i := range 8 {
			put(tx, "serviceengine", fmt.Sprint("se-", i), schema.Object{"se_group_ref": group})
		}
		return nil
	}))
	_, err := one.read(objects.View())
	must(t, err)
	func() {
		defer func() {
			if recover() == nil {
				t.Fatal("a server without an address was read")
			}
		}()
		must(t, objects.Update(t.Context(), func(tx *store.Tx) error {
			put(tx, "pool", "broken", schema.Object{"servers": []any{schema.Object{}}})
			for i := range 8 {
				put(tx, "serviceengine", fmt.Sprint("se-", i), schema.Object{"se_group_ref": group + "-gone"})
			}
			_, err := one.read(tx.View())
			return err
		}))
	}()
	must(t, objects.Update(t.Context(), func(tx *store.Tx) error {
		put(tx, "serviceenginegroup", "group-1", schema.Object{"max_se": int64(3)})
		return nil
	}))
	kept, err := one.read(objects.View())
	must(t, err)
	fresh, err := new(reader).read(objects.View())
	must(t, err)
	if !reflect.DeepEqual(kept, fresh) || len(kept.model.Groups[0].Engines) != 8 {
		t.Errorf("kept is\n%+v, and the whole view says\n%+v", kept, fresh)
	}
}
