package main

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema"
)

func TestPathsBuildTheObjectTheyName(t *testing.T) {
	object := client.Object{}
	for _, pair := range [][2]string{
		{"name", "web"}, {"servers[1].ip.addr", "10.0.0.2"}, {"servers[0].port", "8080"},
		{"servers[0].enabled", "true"},
		{"markers", `[{"key":"env"}]`},
	} {
		if err := setField(object, pair[0], pair[1]); err != nil {
			t.Fatalf("%v: %v", pair, err)
		}
	}
	got, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"markers":[{"key":"env"}],"name":"web","servers":[{"enabled":true,"port":8080},{"ip":{"addr":"10.0.0.2"}}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRefusesPathsThatNameNothing(t *testing.T) {
	for _, path := range []string{"", "[0]", "a..b", "a[", "a[x]", "a[99999999]", "name.first"} {
		object := client.Object{"name": "web"}
		if err := setField(object, path, "1"); err == nil {
			t.Errorf("path %q was taken: %v", path, object)
		}
	}
}

func TestFileWithObjectsOfSeveralKindsGivesThatOfTheKind(t *testing.T) {
	kind, _ := schema.Lookup("httppolicyset")
	rules := map[string]any{"name": "keys"}
	for text, want := range map[string]string{
		`{"name": "keys"}`:                    "",
		`{"httppolicyset": {"name": "keys"}}`: "",
		`{"applicationprofile": {"name": "api"}, "httppolicyset": {"name": "keys"}}`: "",
		`{"applicationprofile": {"name": "api"}}`:                                    "has an object of applicationprofile, and none of httppolicyset",
		`{"applicationprofile": {}, "pool": {}}`:                                     "has an object of applicationprofile and pool, and none of httppolicyset",
	} {
		var file client.Object
		if err := json.Unmarshal([]byte(text), &file); err != nil {
			t.Fatal(err)
		}
		got, err := ofKind(kind, file)
		if want != "" && (err == nil || err.Error() != want) || want == "" &&
			!reflect.DeepEqual(map[string]any(got), rules) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
