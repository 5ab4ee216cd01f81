package controller

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/controller/tickets"
)

// known reads views. It remembers what it has read: of the next view it reads only what is new. It is the leader's,
// and holds nothing that the store does not have.
type known struct {
	mutex       sync.Mutex
	keeper      model.Keeper
	objects     map[string]objects // by kind
	assignments decoded[place.Assignment]
	rings       decoded[tickets.Ring]
}

// knowledge is what a view says.
type knowledge struct {
	model    *model.Model
	findings []model.Finding
	before   map[string]place.Assignment // by virtual service uuid
	rings    map[string]tickets.Ring     // by SSL profile uuid
}

// objects are those of some records.
type objects struct {
	records []*store.Record
	objects []schema.Object
}

func (k *known) read(view *store.View) (read knowledge, err error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	read.model, read.findings = k.keeper.Build(view.Revision(), k.objectsOf(view))
	if read.before, err = k.assignments.of(view, assignmentKind); err == nil {
		read.rings, err = k.rings.of(view, ringKind)
	}
	return read, err
}

func (k *known) objectsOf(view *store.View) map[string][]schema.Object {
	kinds, all := map[string]objects{}, map[string][]schema.Object{}
	for _, kind := range view.Kinds() {
		o := k.objects[kind]
		if records := view.List(kind); !isOne(records, o.records) {
			o = objects{records, make([]schema.Object, len(records))}
			for i, record := range records {
				o.objects[i] = record.Object
			}
		}
		kinds[kind], all[kind] = o, o.objects
	}
	k.objects = kinds
	return all
}

// isOne tells whether two lists of a view are one: views share what is the same in them.
func isOne[T any](a, b []T) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// decoded are the values of a kind that this package keeps in the store, which are no objects of operators.
type decoded[T any] struct {
	list    []*store.Record
	records map[string]*store.Record // by uuid
	values  map[string]T
}

// of gives the values of a view, by uuid.
func (d *decoded[T]) of(view *store.View, kind string) (map[string]T, error) {
	list := view.List(kind)
	if d.values != nil && isOne(list, d.list) {
		return d.values, nil
	}
	next := decoded[T]{list, make(map[string]*store.Record, len(list)), make(map[string]T, len(list))}
	for _, record := range list {
		value := d.values[record.UUID]
		if d.records[record.UUID] != record {
			var err error
			if value, err = decode[T](record); err != nil {
				return nil, fmt.Errorf("%s %s cannot be read: %w", kind, record.UUID, err)
			}
		}
		next.records[record.UUID], next.values[record.UUID] = record, value
	}
	*d = next
	return d.values, nil
}

func decode[T any](record *store.Record) (value T, err error) {
	body, err := json.Marshal(record.Object)
	if err == nil {
		err = json.Unmarshal(body, &value)
	}
	return value, err
}
