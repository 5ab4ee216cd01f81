package store

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

func TestObjectsShareNamesAndTextsThatRepeat(t *testing.T) {
	s := &Store{}
	decode := func(text string) map[string]any {
		object, err := s.decodeObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	const text = `{"name":"web-%d","type":"V4","rate":1.5e0,"port":80,"servers":[{"ip":{"addr":"10.0.0.%d","type":"V4"}},1,"V4"],"on":true,"none":null}`
	var objects []map[string]any
	for n := range 100 {
		object := decode(fmt.Sprintf(text, n, n))
		want := map[string]any{"name": fmt.Sprint("web-", n), "type": "V4", "rate": 1.5, "port": int64(80), "on": true,
			"none": nil, "servers": []any{map[string]any{"ip": map[string]any{"addr": fmt.Sprint("10.0.0.", n),
				"type": "V4"}}, int64(1), "V4"}}
		if !reflect.DeepEqual(object, want) {
			t.Fatalf("got %v, want %v", object, want)
		}
		objects = append(objects, object)
	}
	at := func(text string) *byte { return unsafe.StringData(text) }
	if at(objects[0]["type"].(string)) != at(objects[99]["type"].(string)) {
		t.Error("a text that all objects have is there twice")
	}
	names := func(object map[string]any) (all []*byte) {
		for name := range object {
			if name == "servers" {
				all = append(all, at(name))
			}
		}
		return all
	}
	if names(objects[3])[0] != names(objects[4])[0] {
		t.Error("the name of a field is there twice")
	}
	if s.words.fields["name"].values != nil {
		t.Errorf("%d names are kept that no two objects have", len(s.words.fields["name"].values))
	}
}

func TestWordsAreBounded(t *testing.T) {
	var w words
	for n := range fieldsMost + 100 {
		object, err := w.plain(map[string]any{fmt.Sprint("field", n): strings.Repeat("x", sharedMost+1),
			"n": json.Number("1")})
		if err != nil || len(object) != 2 {
			t.Fatal(object, err)
		}
	}
	if len(w.fields) != fieldsMost {
		t.Errorf("%d fields are kept", len(w.fields))
	}
	for name, field := range w.fields {
		if len(field.values) > 0 {
			t.Errorf("a text of %s is kept that is too long", name)
		}
	}
}
