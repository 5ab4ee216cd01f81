package admit

import (
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

func keyedBy(keys ...string) (pairs []any) {
	for _, key := range keys {
		pairs = append(pairs, schema.Object{"key": key})
	}
	return pairs
}

// childOfFront wants paths of a host: one of its own, and those of string groups.
func childOfFront(name, host, own string, groups ...string) schema.Object {
	path := schema.Object{"match_criteria": "BEGINS_WITH", "match_str": []any{own}}
	var references []any
	for _, group := range groups {
		references = append(references, "/api/stringgroup/"+group)
	}
	if len(references) > 0 {
		path["string_group_refs"] = references
	}
	return schema.Object{"name": name, "type": "VS_TYPE_VH_CHILD", "vh_type": "VS_TYPE_VH_ENHANCED",
		"vh_parent_vs_ref": "/api/virtualservice/front", "vh_matches": []any{schema.Object{"host": host,
			"rules": []any{schema.Object{"name": "r", "matches": schema.Object{"path": path}}}}}}
}

func TestWriteIsRefusedByWhichAGroupTakesWhatAnotherChildWants(t *testing.T) {
	gate := openGate(t)
	create := func(kind, uuid string, object schema.Object) error {
		_, err := gate.Create(t.Context(), gate.by(t, kind), object, uuid)
		return err
	}
	change := func(kind, uuid, field string, value any) error {
		_, err := gate.Change(t.Context(), gate.by(t, kind), uuid, func(o schema.Object) (schema.Object, error) {
			o[field] = value
			return o, nil
		})
		return err
	}
	texts := func(keys ...string) error { return change("stringgroup", "g", "kv", keyedBy(keys...)) }
	vip := []any{schema.Object{"vip_id": "1", "ip_address": schema.Object{"addr": "192.0.2.1", "type": "V4"}}}
	legacy := func() error { // an older version let it in
		was, _ := gate.store.View().Get("stringgroup", "g")
		gate.alter(t, func(tx *store.Tx) {
			is := *was
			is.Object = schema.Clone(was.Object)
			is.Object["kv"] = keyedBy("/x", "/y", "/cart")
			tx.Put(&is)
		})
		return nil
	}
	for _, step := range []struct {
		name, refusal string
		write         func() error
	}{
		{"parent", "", func() error {
			return create(serviceKind, "front", schema.Object{"name": "front", "type": "VS_TYPE_VH_PARENT", "vip": vip,
				"services": []any{schema.Object{"port": int64(80)}}, "vh_type": "VS_TYPE_VH_ENHANCED"})
		}},
		{"group", "", func() error {
			return create("stringgroup", "g", schema.Object{"name": "g", "kv": keyedBy("/x")})
		}},
		{"group of the path of cart", "", func() error {
			return create("stringgroup", "h", schema.Object{"name": "h", "kv": keyedBy("/Cart")})
		}},
		{"child with the group", "", func() error {
			return create(serviceKind, "aaa", childOfFront("aaa", "a.test", "/own", "g"))
		}},
		{"child with a path", "", func() error {
			return create(serviceKind, "cart", childOfFront("cart", "A.test", "/cart"))
		}},
		{"the group gets that path",
			"kv[1].key: child aaa compares requests with this group (vh_matches[0].rules[0]), " +
				"and child cart of the same parent wants the same already", func() error {
				return texts("/x", "/cart")
			}},
		{"the group gets a path of its own child", "", func() error { return texts("/x", "/own") }},
		{"the group gets a free path", "", func() error { return texts("/x", "/y") }},
		{"child with a path of the group",
			"vh_matches[0].rules[0]: is wanted by child aaa of the same parent already, " +
				"by string group g", func() error {
				return create(serviceKind, "n", childOfFront("n", "a.test", "/Y"))
			}},
		{"child with the same group",
			`what it wants by string group g ("/x") is wanted by child aaa of the same parent ` +
				"already, by string group g", func() error {
				return create(serviceKind, "n", childOfFront("n", "a.test", "/n", "g"))
			}},
		{"child with a group that has the path of cart",
			`what it wants by string group h ("/Cart") is wanted by child ` +
				"cart of the same parent already", func() error {
				return create(serviceKind, "n", childOfFront("n", "a.test", "/n", "h"))
			}},
		{"the same for another host", "", func() error {
			return create(serviceKind, "n", childOfFront("n", "b.test", "/n", "g", "h"))
		}},
		{"that child gets the host of the others", "is wanted by child", func() error {
			return change(serviceKind, "n", "vh_matches", childOfFront("n", "a.test", "/n", "g", "h")["vh_matches"])
		}},
		{"both want the same from now on", "", legacy},
		{"the winner changes", "", func() error { return change(serviceKind, "cart", "description", "a cart") }},
		{"the loser changes", "", func() error { return change(serviceKind, "aaa", "description", "a loser") }},
		{"the group gets another free path", "", func() error { return texts("/x", "/y", "/cart", "/z") }},
		{"the group gives the path up", "", func() error { return texts("/x", "/y") }},
		{"the group gets the path back", "kv[0].key: child aaa", func() error { return texts("/CART", "/x") }},
	} {
		err := step.write()
		if step.refusal == "" && err != nil || step.refusal != "" && (err == nil ||
			!strings.Contains(err.Error(), step.refusal)) {
			t.Errorf("%s: got %v, want %q", step.name, err, step.refusal)
		}
	}
	read := newHostTexts(gate.store.View())
	record, _ := gate.store.View().Get(serviceKind, "aaa")
	child, _ := childOf(record)
	if got := len(read.wishes(child)); got != 3 {
		t.Errorf("aaa wants %d things", got)
	}
	read.left = 1 // less than the group has
	if got := len(read.wishes(child)); got != 1 || read.left >= 0 {
		t.Errorf("beyond what a write may read, aaa wants %d things", got)
	}
}
