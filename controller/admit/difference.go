package admit

import (
	"encoding/json"
	"reflect"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// maxChangeBytes bounds each side of a change in the audit trail. A larger one is cut off.
const maxChangeBytes = 32 << 10

// change is an object before and after a write; nil: it was not there.
type change struct{ was, is *store.Record }

// unsaid are fields that differ with every write, and say nothing about it.
var unsaid = map[string]bool{"_last_modified": true}

// texts returns the fields that differ, before and after, as JSON. Secrets are hidden: if only a secret differs, its
// field shows that.
func (c change) texts(kind *schema.Kind) (was, is string) {
	before, after := objectOf(c.was), objectOf(c.is)
	return c.side(kind, before, after), c.side(kind, after, before)
}

// name is that of the object after the write, or before if it is gone.
func (c change) name() string {
	for _, record := range []*store.Record{c.is, c.was} {
		if record != nil {
			return record.Name
		}
	}
	return ""
}

func objectOf(record *store.Record) schema.Object {
	if record == nil {
		return nil
	}
	return record.Object
}

// side returns the fields of one side that the other side does not have, or has with another value.
func (change) side(kind *schema.Kind, mine, other schema.Object) string {
	if mine == nil {
		return ""
	}
	shown, differing := kind.Redact(mine), schema.Object{}
	for name, value := range mine {
		theirs, has := other[name]
		if !unsaid[name] && (!has || !reflect.DeepEqual(value, theirs)) {
			differing[name] = shown[name]
		}
	}
	if len(differing) == 0 {
		return ""
	}
	text, err := json.Marshal(differing)
	if err != nil {
		return ""
	}
	return string(text[:min(len(text), maxChangeBytes)])
}
