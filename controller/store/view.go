package store

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// View is all objects at one revision. It never changes.
type View struct {
	revision int64
	kinds    map[string]*shelf
}

// shelf holds the records of one kind.
type shelf struct {
	byUUID map[string]*Record
	byName map[ownedName]*Record
	sorted func() []*Record // by name, then uuid; sorted once, when somebody asks
}

type ownedName struct{ tenant, name string }

// Revision is that of the newest Update in the view.
func (v *View) Revision() int64 { return v.revision }

// Get finds an object.
func (v *View) Get(kind, uuid string) (*Record, bool) {
	shelf := v.kinds[kind]
	if shelf == nil {
		return nil, false
	}
	record, ok := shelf.byUUID[uuid]
	return record, ok
}

// ByName finds an object by its name within a tenant.
func (v *View) ByName(kind, tenant, name string) (*Record, bool) {
	shelf := v.kinds[kind]
	if shelf == nil {
		return nil, false
	}
	record, ok := shelf.byName[ownedName{tenant, name}]
	return record, ok
}

// List gives all objects of a kind, sorted by name and uuid. The slice is shared: do not change it.
func (v *View) List(kind string) []*Record {
	if shelf := v.kinds[kind]; shelf != nil {
		return shelf.sorted()
	}
	return nil
}

// Kinds names the kinds that have objects, sorted.
func (v *View) Kinds() []string { return slices.Sorted(maps.Keys(v.kinds)) }

// Referrers lists the objects with a field that points to the one named, sorted by kind and name.
func (v *View) Referrers(kind, uuid string) []*Record {
	var found []*Record
	for _, name := range v.Kinds() {
		for _, record := range v.List(name) {
			if record.RefersTo(kind, uuid) {
				found = append(found, record)
			}
		}
	}
	return found
}

// change is a record put, or one deleted when record is nil.
type change struct {
	kind, uuid string
	record     *Record
}

// with returns the view after some changes; only the shelves they touch are copied.
func (v *View) with(revision int64, changes []change) *View {
	next := &View{revision: revision, kinds: maps.Clone(v.kinds)}
	fresh := map[string]*shelf{}
	for _, c := range changes {
		if fresh[c.kind] == nil {
			fresh[c.kind] = next.kinds[c.kind].clone()
			next.kinds[c.kind] = fresh[c.kind]
		}
		fresh[c.kind].apply(c)
	}
	for kind, shelf := range fresh {
		if len(shelf.byUUID) == 0 {
			delete(next.kinds, kind)
			continue
		}
		shelf.sorted = sync.OnceValue(shelf.sort)
	}
	return next
}

func (s *shelf) clone() *shelf {
	if s == nil {
		return &shelf{byUUID: map[string]*Record{}, byName: map[ownedName]*Record{}}
	}
	return &shelf{byUUID: maps.Clone(s.byUUID), byName: maps.Clone(s.byName)}
}

func (s *shelf) apply(c change) {
	if old := s.byUUID[c.uuid]; old != nil {
		delete(s.byUUID, c.uuid)
		if key := (ownedName{old.Tenant, old.Name}); s.byName[key] == old {
			delete(s.byName, key)
		}
	}
	if c.record != nil {
		s.byUUID[c.uuid] = c.record
		s.byName[ownedName{c.record.Tenant, c.record.Name}] = c.record
	}
}

func (s *shelf) sort() []*Record {
	return slices.SortedFunc(maps.Values(s.byUUID), func(a, b *Record) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.UUID, b.UUID))
	})
}
