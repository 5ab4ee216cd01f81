package store

import (
	"bytes"
	"iter"
	"maps"
	"slices"
	"sync"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// View is all objects at one revision. It never changes. It shares the unchanged parts with the view before.
type View struct {
	revision  int64
	kinds     map[string]*shelf
	referrers *records // by the object that they refer to, then by kind, name and uuid
	indexed   *records // by the keys of Config.Index, then by kind, name and uuid
	past      []*stage // the last stage made this view
}

// records are found by a key, or by a prefix of it.
type records = iradix.Tree[*Record]

// shelf holds the records of one kind.
type shelf struct {
	byUUID *records
	sorted *records         // by name, then uuid
	list   func() []*Record // sorted; made once, at the first use
}

func emptyView() *View {
	return &View{
		kinds: map[string]*shelf{}, referrers: iradix.New[*Record](), indexed: iradix.New[*Record](),
		past: []*stage{{}},
	}
}

// keyOf joins the parts of a key, with a zero byte after each. So a prefix of whole parts never matches a longer part.
// Kinds, uuids and new names contain no zero byte: admit refuses control characters. An old name may contain one. So
// Named can also give an object whose name only begins with the name and a zero byte.
func keyOf(parts ...string) []byte {
	length := len(parts)
	for _, part := range parts {
		length += len(part)
	}
	key := make([]byte, 0, length) // trees keep it
	for _, part := range parts {
		key = append(append(key, part...), 0)
	}
	return key
}

// Revision is the revision of the newest Update in the view.
func (v *View) Revision() int64 { return v.revision }

// Get finds an object.
func (v *View) Get(kind, uuid string) (*Record, bool) {
	if shelf := v.kinds[kind]; shelf != nil {
		return shelf.byUUID.Get(keyOf(uuid))
	}
	return nil, false
}

// ByName finds an object by its name within a tenant.
func (v *View) ByName(kind, tenant, name string) (*Record, bool) {
	for record := range v.Named(kind, name) {
		if record.Tenant == tenant && record.Name == name {
			return record, true
		}
	}
	return nil, false
}

// List gives all objects of a kind, sorted by name and uuid. The slice is shared: do not change it.
func (v *View) List(kind string) []*Record {
	if shelf := v.kinds[kind]; shelf != nil {
		return shelf.list()
	}
	return nil
}

// Named gives the objects of a kind with a name, in whatever tenant, sorted by uuid.
func (v *View) Named(kind, name string) iter.Seq[*Record] {
	if shelf := v.kinds[kind]; shelf != nil {
		return under(shelf.sorted, keyOf(name))
	}
	return func(func(*Record) bool) {}
}

// Count tells how many objects of a kind there are.
func (v *View) Count(kind string) int {
	if shelf := v.kinds[kind]; shelf != nil {
		return shelf.byUUID.Len()
	}
	return 0
}

// Differs tells whether objects of one of the kinds have changed since an earlier view.
func (v *View) Differs(earlier *View, kinds ...string) bool {
	return slices.ContainsFunc(kinds, func(kind string) bool { return v.kinds[kind] != earlier.kinds[kind] })
}

// Kinds names the kinds that have objects, sorted.
func (v *View) Kinds() []string { return slices.Sorted(maps.Keys(v.kinds)) }

// KindsOf names the kinds in which a record has a uuid, sorted. An assignment has the uuid of its virtual service, a
// ring of session tickets that of its profile: see schema.Lookup for the kinds of objects.
func (v *View) KindsOf(uuid string) (kinds []string) {
	for kind, shelf := range v.kinds {
		if _, found := shelf.byUUID.Get(keyOf(uuid)); found {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// Referrers gives the objects with a field that points to the one named, sorted by kind and name.
func (v *View) Referrers(kind, uuid string) iter.Seq[*Record] {
	return under(v.referrers, keyOf(kind, uuid))
}

// Indexed gives the objects for which Config.Index has a key, sorted by kind and name.
func (v *View) Indexed(key string) iter.Seq[*Record] { return under(v.indexed, keyOf(key)) }

// under walks over the records whose keys begin with a prefix.
func under(all *records, prefix []byte) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		all.Root().WalkPrefix(prefix, func(_ []byte, record *Record) (stop bool) { return !yield(record) })
	}
}

// change is a record put, or one deleted when record is nil.
type change struct {
	kind, uuid string
	record     *Record
}

// with returns the view after some changes.
func (v *View) with(revision int64, changes []change) *View {
	next := &View{revision: revision, kinds: maps.Clone(v.kinds), past: v.pastWith(changes)}
	referrers, indexed, written := v.referrers.Txn(), v.indexed.Txn(), map[string]*writtenShelf{}
	for _, c := range changes {
		shelf := written[c.kind]
		if shelf == nil {
			shelf = write(v.kinds[c.kind])
			written[c.kind] = shelf
		}
		old, _ := shelf.byUUID.Get(keyOf(c.uuid))
		shelf.replace(old, c.record)
		replace(referrers, old, c.record, (*Record).pointers)
		replace(indexed, old, c.record, (*Record).keys)
	}
	next.referrers, next.indexed = referrers.Commit(), indexed.Commit()
	for kind, shelf := range written {
		if next.kinds[kind] = shelf.done(); next.kinds[kind].byUUID.Len() == 0 {
			delete(next.kinds, kind)
		}
	}
	return next
}

// writtenShelf is a shelf in the making.
type writtenShelf struct{ byUUID, sorted *iradix.Txn[*Record] }

func write(s *shelf) *writtenShelf {
	if s == nil {
		empty := iradix.New[*Record]()
		s = &shelf{byUUID: empty, sorted: empty}
	}
	return &writtenShelf{s.byUUID.Txn(), s.sorted.Txn()}
}

func (s *writtenShelf) replace(old, record *Record) {
	replace(s.byUUID, old, record, func(r *Record) [][]byte { return [][]byte{keyOf(r.UUID)} })
	replace(s.sorted, old, record, func(r *Record) [][]byte { return [][]byte{keyOf(r.Name, r.UUID)} })
}

// replace puts a record where another one was, under the keys of each; either may be nil. Most changes keep most keys.
func replace(in *iradix.Txn[*Record], old, record *Record, keysOf func(*Record) [][]byte) {
	var keys [][]byte
	if record != nil {
		keys = keysOf(record)
	}
	if old != nil {
		for _, key := range keysOf(old) {
			if !slices.ContainsFunc(keys, func(other []byte) bool { return bytes.Equal(key, other) }) {
				in.Delete(key)
			}
		}
	}
	for _, key := range keys {
		in.Insert(key, record)
	}
}

func (s *writtenShelf) done() *shelf {
	made := &shelf{byUUID: s.byUUID.Commit(), sorted: s.sorted.Commit()}
	made.list = sync.OnceValue(func() []*Record {
		all := make([]*Record, 0, made.sorted.Len())
		made.sorted.Root().Walk(func(_ []byte, record *Record) (stop bool) {
			all = append(all, record)
			return false
		})
		return all
	})
	return made
}

// pointers are the keys under which a record is found by what it refers to.
func (r *Record) pointers() [][]byte {
	keys := make([][]byte, len(r.targets))
	for i, to := range r.targets {
		keys[i] = keyOf(to.kind, to.uuid, r.Kind, r.Name, r.UUID)
	}
	return keys
}

// keys are those under which a record is found by what Config.Index says of it.
func (r *Record) keys() [][]byte {
	keys := make([][]byte, len(r.index))
	for i, key := range r.index {
		keys[i] = keyOf(key, r.Kind, r.Name, r.UUID)
	}
	return keys
}
