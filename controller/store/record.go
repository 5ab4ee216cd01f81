package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// Record is one object, with what the store knows about it. A Record in a View is shared: copy its Object before you
// change it.
type Record struct {
	Kind     string
	UUID     string
	Tenant   string // uuid of the tenant
	Name     string
	Modified int64 // µs since the epoch, set by the store; _last_modified in the API
	Revision int64 // of etcd, set by the store
	Object   schema.Object

	targets []target
	index   []string // keys by which it is found, besides its name
}

// target is what a reference field points to.
type target struct{ kind, uuid string }

// Sealer encrypts the values on disk. purpose is the key of the value in the database, so that nobody can swap values.
type Sealer interface {
	Seal(plain []byte, purpose string) []byte
	Open(sealed []byte, purpose string) ([]byte, error)
}

// RecordOf makes a record of a value whose JSON is an object. It has its uuid for a name: operators see no such kind.
func RecordOf(kind, uuid string, value any) (*Record, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	object, err := schema.Parse(kind, body)
	if err != nil {
		return nil, err
	}
	return &Record{Kind: kind, UUID: uuid, Name: uuid, Object: object}, nil
}

// Read returns the value that became a record; nil: there is no record. An error says that the record is of a version
// with another value.
func Read[T any](record *Record) (*T, error) {
	if record == nil {
		return nil, nil
	}
	body, err := json.Marshal(record.Object)
	if err != nil {
		return nil, err
	}
	value := new(T)
	if err := json.Unmarshal(body, value); err != nil {
		return nil, err
	}
	return value, nil
}

const (
	objectPrefix = "object/"
	vaultPrefix  = "vault/"
	headKey      = "object-head" // rewritten by each commit: of two processes that write at the same time, one fails
)

type storedRecord struct {
	Tenant   string          `json:"tenant"`
	Name     string          `json:"name"`
	Modified int64           `json:"modified"`
	Object   json.RawMessage `json:"object"`
}

func objectKey(kind, uuid string) string { return objectPrefix + kind + "/" + uuid }

func (s *Store) encode(r *Record) ([]byte, error) {
	object, err := json.Marshal(markReals(r.Object))
	if err != nil {
		return nil, fmt.Errorf("%s %s cannot be stored: %w", r.Kind, r.Name, err)
	}
	plain, err := json.Marshal(storedRecord{r.Tenant, r.Name, r.Modified, object})
	if err != nil {
		return nil, fmt.Errorf("%s %s cannot be stored: %w", r.Kind, r.Name, err)
	}
	return s.sealer.Seal(plain, objectKey(r.Kind, r.UUID)), nil
}

func splitKey(key string) (kind, uuid string, err error) {
	kind, uuid, ok := strings.Cut(strings.TrimPrefix(key, objectPrefix), "/")
	if !ok {
		return "", "", fmt.Errorf("%w: key %q names no object", ErrCorrupt, key)
	}
	return kind, uuid, nil
}

func (s *Store) decode(kind, uuid string, value []byte, revision int64) (*Record, error) {
	plain, err := s.sealer.Open(value, objectKey(kind, uuid))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind, uuid, err)
	}
	var stored storedRecord
	if err := json.Unmarshal(plain, &stored); err != nil {
		return nil, fmt.Errorf("%w: %s %s: %v", ErrCorrupt, kind, uuid, err)
	}
	object, err := s.decodeObject(stored.Object)
	if err != nil {
		return nil, fmt.Errorf("%w: %s %s: %v", ErrCorrupt, kind, uuid, err)
	}
	record := &Record{Kind: kind, UUID: uuid, Tenant: stored.Tenant, Name: stored.Name,
		Modified: stored.Modified, Revision: revision, Object: object}
	s.note(record)
	return record, nil
}

// note computes the keys by which a record is found.
func (s *Store) note(record *Record) {
	record.targets = targetsOf(record)
	if s.index != nil {
		record.index = s.index(record)
	}
}

func (s *Store) decodeObject(body []byte) (schema.Object, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var object schema.Object
	if err := decoder.Decode(&object); err != nil || object == nil {
		return nil, err
	}
	return s.words.plain(object)
}

// targetsOf returns the objects that an object refers to. References are stored as "/api/<kind>/<uuid>".
func targetsOf(r *Record) []target {
	kind, ok := schema.Lookup(r.Kind)
	if !ok {
		return nil
	}
	var targets []target
	for _, reference := range kind.References(r.Object) {
		uuid := reference.Value[strings.LastIndexByte(reference.Value, '/')+1:]
		targets = append(targets, target{reference.Kind, uuid})
	}
	return targets
}

// RefersTo tells whether a field of the object points to the object named.
func (r *Record) RefersTo(kind, uuid string) bool {
	for _, t := range r.targets {
		if t.uuid == uuid && t.kind == kind {
			return true
		}
	}
	return false
}
