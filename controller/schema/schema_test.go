package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// created returns what the controller stores after a POST of the body, except that references by name are not resolved.
func created(t *testing.T, kind, body string) Object {
	t.Helper()
	k := kindByName[kind]
	o, err := k.Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	k.Fill(o)
	if err := k.Check(o); err != nil {
		t.Fatal(err)
	}
	return o
}

func asJSON(t *testing.T, o any) any {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestSkipsDefaultsDownToWhatWasSent(t *testing.T) {
	k := kindByName["pool"]
	got := asJSON(t, k.SkipDefaults(created(t, "pool", `{"name":"p","analytics_policy":{"enable_realtime_metrics":true},
		"conn_pool_properties":{"upstream_connpool_conn_idle_tmo":60000},
		"servers":[{"ip":{"addr":"10.0.0.1","type":"V4"},"hostname":"a","ratio":1},
		{"ip":{"addr":"10.0.0.2","type":"V4"},"hostname":"b","ratio":2,"enabled":false}]}`)))
	want := map[string]any{"name": "p", "analytics_policy": map[string]any{"enable_realtime_metrics": true},
		"conn_pool_properties": map[string]any{}, "servers": []any{
			map[string]any{"ip": map[string]any{"addr": "10.0.0.1", "type": "V4"}, "hostname": "a"},
			map[string]any{"ip": map[string]any{"addr": "10.0.0.2", "type": "V4"}, "hostname": "b", "ratio": 2.0,
				"enabled": false},
		}}
	for _, name := range []string{"cloud_ref", "vrf_ref", "analytics_profile_ref"} {
		delete(got.(map[string]any), name)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}

func TestSkipsAnObjectThatIsAllDefault(t *testing.T) {
	tenant := created(t, "tenant", `{"name":"t"}`)
	if _, ok := tenant["config_settings"].(Object)["tenant_vrf"]; !ok {
		t.Fatal("config_settings was not filled")
	}
	if lean := kindByName["tenant"].SkipDefaults(tenant); !reflect.DeepEqual(lean, Object{"name": "t"}) {
		t.Errorf("got %v", lean)
	}
}

func TestKeepsWhatMustBeSentThoughItIsTheDefault(t *testing.T) {
	lean := kindByName["networkprofile"].SkipDefaults(created(t, "networkprofile",
		`{"name":"n","profile":{"type":"PROTOCOL_TYPE_TCP_PROXY"}}`))
	if lean["profile"].(Object)["type"] != "PROTOCOL_TYPE_TCP_PROXY" {
		t.Errorf("got %v", lean)
	}
}

func TestTakesTypesLoosely(t *testing.T) {
	o := created(t, "pool",
		`{"name":7,"enabled":"True","default_server_port":"8080","description":null,"unheard_of":{"a":1},
		"servers":[{"ip":{"addr":"::1","type":"V6"},"port":80.0,"ratio":" 3 "}],"url":"https://h/api/pool/x"}`)
	server := o["servers"].([]any)[0].(Object)
	for what, pair := range map[string][2]any{
		"number as text": {o["name"], "7"}, "text as boolean": {o["enabled"], true},
		"text as number": {o["default_server_port"], int64(8080)}, "real as whole": {server["port"], int64(80)},
		"text with blanks": {server["ratio"], int64(3)}, "null": {o["description"], nil},
		"unknown field": {o["unheard_of"], nil}, "computed field": {o["url"], nil},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %v, want %v", what, pair[0], pair[1])
		}
	}
}

func TestTellsWhatAKindBelongsTo(t *testing.T) {
	got := map[string][3]bool{}
	for _, k := range Kinds() {
		got[k.Prefix] = [3]bool{k.PerTenant(), k.Creatable(), k.Only == ""}
	}
	for prefix, want := range map[string][3]bool{
		"pool": {true, true, true}, "tenant": {false, true, true}, "se": {true, false, true},
		"systemconfiguration": {false, false, false},
	} {
		if got[prefix] != want {
			t.Errorf("%s: got %v, want %v", prefix, got[prefix], want)
		}
	}
}

func TestCloneSharesNothing(t *testing.T) {
	o := Object{"servers": []any{Object{"port": int64(1)}}}
	Clone(o)["servers"].([]any)[0].(Object)["port"] = int64(2)
	if o["servers"].([]any)[0].(Object)["port"] != int64(1) {
		t.Error("the clone changed the original")
	}
}

// FuzzDecode decodes any bytes with every kind. An accepted object must be stable, and readable in every way.
func FuzzDecode(f *testing.F) {
	for i, k := range Kinds() {
		f.Add(i, []byte(`{"name":"x"}`))
		for _, source := range k.Builtins {
			body, err := json.Marshal(source)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(i, body)
		}
	}
	f.Add(slices.Index(Kinds(), kindByName["pool"]), []byte(
		`{"name":"p","servers":[{"ip":{"addr":"1.2.3.4","type":"V4"},"port":"80"}],"server_timeout":1e3}`))
	f.Fuzz(func(t *testing.T, which int, body []byte) {
		k := Kinds()[uint(which)%uint(len(Kinds()))]
		o, err := k.Decode(body)
		if err != nil {
			if !strings.HasPrefix(err.Error(), k.Name+": ") {
				t.Fatalf("the error does not name its kind: %v", err)
			}
			return
		}
		k.Fill(o)
		again, err := k.Normalise(o)
		if err != nil {
			t.Fatalf("what was accepted is refused when sent back: %v", err)
		}
		k.Fill(again)
		if !reflect.DeepEqual(o, again) {
			t.Fatalf("sent back, it changed from\n%v\nto\n%v", o, again)
		}
		_ = k.Check(o)
		lean := k.SkipDefaults(k.Redact(o))
		k.KeepSecrets(lean, o)
		if k.Fill(lean); !reflect.DeepEqual(asJSON(t, lean), asJSON(t, o)) {
			t.Fatalf("without defaults and secrets it cannot be restored:\n%v\n%v", lean, o)
		}
		for _, reference := range k.References(o) {
			if _, err := ParseRef(reference.Kind, reference.Value); err != nil {
				t.Fatalf("%s was accepted: %v", reference.Field, err)
			}
		}
	})
}
