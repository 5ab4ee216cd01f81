package rest

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

func emptyView() *store.View { return &store.View{} }

func poolKind() *schema.Kind {
	kind, _ := schema.Lookup("pool")
	return kind
}

func object(t testing.TB, text string) schema.Object {
	t.Helper()
	parsed, err := schema.Parse("pool", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func patched(t testing.TB, stored, patch string) (schema.Object, error) {
	t.Helper()
	edits, err := parsePatch("pool", object(t, patch))
	if err != nil {
		return nil, err
	}
	return edits.apply(object(t, stored))
}

func TestPatchEditsAnObject(t *testing.T) {
	const stored = `{"name":"p","servers":[{"ip":{"addr":"10.0.0.1"}},{"ip":{"addr":"10.0.0.2"}}],"a":{"b":1,"c":2},
		"refs":["/api/healthmonitor/hm-1","/api/healthmonitor/hm-2"]}`
	for _, step := range []struct{ patch, path, want string }{
		{`{"add":{"servers":[{"ip":{"addr":"10.0.0.3"}}]}}`, "servers",
			`[{"ip":{"addr":"10.0.0.1"}},{"ip":{"addr":"10.0.0.2"}},{"ip":{"addr":"10.0.0.3"}}]`},
		{`{"add":{"a":{"b":3}}}`, "a", `{"b":3,"c":2}`},
		{`{"add":{"name":"q"}}`, "name", `"q"`},
		{`{"add":{"new":[1]}}`, "new", `[1]`},
		{`{"replace":{"servers":[]}}`, "servers", `[]`},
		{`{"replace":{"a":{"b":3}}}`, "a", `{"b":3}`},
		{`{"delete":{"servers":[{"ip":{"addr":"10.0.0.1"}}]}}`, "servers", `[{"ip":{"addr":"10.0.0.2"}}]`},
		{`{"delete":{"refs":["https://h/api/healthmonitor/hm-1#name"]}}`, "refs", `["/api/healthmonitor/hm-2"]`},
		{`{"delete":{"a":{}}}`, "a", `null`},
		{`{"delete":{"name":null,"none":1}}`, "name", `null`},
		{`{"json_patch":[{"op":"replace","path":"/servers/0/ip/addr","value":"10.0.0.9"}]}`, "servers",
			`[{"ip":{"addr":"10.0.0.9"}},{"ip":{"addr":"10.0.0.2"}}]`},
		{`{"json_patch":[{"op":"add","path":"/servers/-","value":1},{"op":"add","path":"/servers/0","value":2}]}`,
			"servers", `[2,{"ip":{"addr":"10.0.0.1"}},{"ip":{"addr":"10.0.0.2"}},1]`},
		{`{"json_patch":[{"op":"remove","path":"/servers/1"}]}`, "servers", `[{"ip":{"addr":"10.0.0.1"}}]`},
		{`{"json_patch":[{"op":"test","path":"/a/b","value":1},{"op":"move","from":"/a/b","path":"/b"}]}`, "b", `1`},
		{`{"json_patch":[{"op":"copy","from":"/servers/0","path":"/servers/-"},{"op":"replace","path":"/servers/0/ip/addr","value":"x"}]}`, "servers", `[{"ip":{"addr":"x"}},{"ip":{"addr":"10.0.0.2"}},{"ip":{"addr":"10.0.0.1"}}]`},
	} {
		got, err := patched(t, stored, step.patch)
		if err != nil {
			t.Errorf("%s: %v", step.patch, err)
			continue
		}
		body, err := json.Marshal(got[step.path])
		if err != nil || string(body) != step.want {
			t.Errorf("%s: %s is %s, want %s", step.patch, step.path, body, step.want)
		}
	}
}

func TestPatchThatCannotBeDoneSaysWhy(t *testing.T) {
	const stored = `{"name":"p","servers":[1]}`
	for patch, why := range map[string]string{
		`{}`:                 "needs add, replace",
		`{"name":"q"}`:       "needs add, replace",
		`{"add":[]}`:         "add",
		`{"json_patch":{}}`:  "json_patch",
		`{"json_patch":[1]}`: "json_patch[0]",
		`{"json_patch":[{"op":"remove","path":"/servers/1"}]}`:                                            "no item",
		`{"json_patch":[{"op":"remove","path":"/servers/-"}]}`:                                            "no item",
		`{"json_patch":[{"op":"replace","path":"/servers/01","value":1}]}`:                                "no item",
		`{"json_patch":[{"op":"replace","path":"/none","value":1}]}`:                                      "no field",
		`{"json_patch":[{"op":"add","path":"/name/x","value":1}]}`:                                        "json_patch[0]",
		`{"json_patch":[{"op":"remove","path":""}]}`:                                                      "empty",
		`{"json_patch":[{"op":"remove","path":"name"}]}`:                                                  "begin with /",
		`{"json_patch":[{"op":"explode","path":"/name"}]}`:                                                "unknown op",
		`{"json_patch":[{"op":"test","path":"/name","value":"q"}]}`:                                       "test expects",
		`{"json_patch":[{"op":"test","path":"/name","value":"p"},{"op":"move","path":"/x","from":"/y"}]}`: "json_patch[1]",
	} {
		if _, err := patched(t, stored, patch); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v; want %q in it", patch, err, why)
		}
	}
}

func TestPatchThatCopiesItsCopiesIsStopped(t *testing.T) {
	double := `{"op":"copy","from":"/a","path":"/a/-"}`
	patch := `{"json_patch":[` + strings.Repeat(double+",", 60) + double + `]}`
	if _, err := patched(t, `{"a":[1]}`, patch); err == nil || !strings.Contains(err.Error(), "copies more than") {
		t.Errorf("got %v", err)
	}
}

func TestPatchMayBeAppliedTwice(t *testing.T) {
	edits, err := parsePatch("pool", object(t,
		`{"add":{"servers":[{"a":1}]},"json_patch":[{"op":"add","path":"/servers/0/b","value":{"c":1}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	first, err := edits.apply(object(t, `{}`))
	if err != nil {
		t.Fatal(err)
	}
	first["servers"].([]any)[0].(schema.Object)["b"].(schema.Object)["c"] = "spoilt"
	second, err := edits.apply(object(t, `{}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := object(t, `{"servers":[{"a":1,"b":{"c":1}}]}`); !reflect.DeepEqual(second, want) {
		t.Errorf("the second time: %v", second)
	}
}

func FuzzPatchNeverPanicsAndLeavesJSON(f *testing.F) {
	f.Add(`{"a":[1,{"b":2}]}`, `{"add":{"a":[3]},"delete":{"a":[{"b":2}]}}`)
	f.Add(`{"a":{"b":[]}}`,
		`{"json_patch":[{"op":"add","path":"/a/b/-","value":1},{"op":"move","from":"/a","path":"/a/b"}]}`)
	f.Add(`{"a":[[]]}`, `{"json_patch":[{"op":"copy","from":"/a","path":"/a/0/-"},{"op":"remove","path":"/a/0/0"}]}`)
	f.Add(`{"~/":1}`, `{"json_patch":[{"op":"test","path":"/~0~1","value":1},{"op":"remove","path":"/~0~1"}]}`)
	f.Fuzz(func(t *testing.T, stored, patch string) {
		before, err := schema.Parse("pool", []byte(stored))
		if err != nil {
			return
		}
		sent, err := schema.Parse("pool", []byte(patch))
		if err != nil {
			return
		}
		edits, err := parsePatch("pool", sent)
		if err != nil {
			return
		}
		after, err := edits.apply(before)
		if err != nil {
			return
		}
		if _, err := json.Marshal(after); err != nil {
			t.Errorf("%s on %s leaves what is no JSON: %v", patch, stored, err)
		}
	})
}
