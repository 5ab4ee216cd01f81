package admit

import (
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

func TestChangesTellWhatDiffersAndHideSecrets(t *testing.T) {
	kind := kindNamed(t, "user")
	before := schema.Object{"name": "eve", "full_name": "Eve", "password": "secret one", "_last_modified": "1"}
	after := schema.Object{"name": "eve", "full_name": "Eva", "password": "secret two", "_last_modified": "2"}
	was, is := &store.Record{Object: before}, &store.Record{Object: after}
	for name, c := range map[string]struct {
		made     change
		old, new string
	}{
		"change": {change{was, is}, `{"full_name":"Eve","password":"\u003csensitive\u003e"}`,
			`{"full_name":"Eva","password":"\u003csensitive\u003e"}`},
		"create":  {change{is: is}, "", `{"full_name":"Eva","name":"eve","password":"\u003csensitive\u003e"}`},
		"delete":  {change{was: was}, `{"full_name":"Eve","name":"eve","password":"\u003csensitive\u003e"}`, ""},
		"nothing": {change{was, was}, "", ""},
		"none":    {change{}, "", ""},
	} {
		old, new := c.made.texts(kind)
		if old != c.old || new != c.new {
			t.Errorf("%s: %s and %s, want %s and %s", name, old, new, c.old, c.new)
		}
	}
	long := &store.Record{Object: schema.Object{"full_name": strings.Repeat("x", 2*maxChangeBytes)}}
	if _, new := (change{is: long}).texts(kind); len(new) != maxChangeBytes {
		t.Errorf("a long change has %d bytes", len(new))
	}
}

func TestAuditGivesWhatChangedToTheStoreAndNotToMemory(t *testing.T) {
	gate, kind := emptyGate(t), kindNamed(t, "pool")
	var kept []Entry
	gate.Audit.Keep = func(entry Entry) { kept = append(kept, entry) }
	is := &store.Record{UUID: "pool-1", Name: "web", Object: schema.Object{"name": "web"}}
	gate.Audit.noteChange(Write{Kind: kind}, "create", "web", change{is: is}, nil)
	if listed := gate.Audit.Entries(); len(kept) != 1 || kept[0].New != `{"name":"web"}` || listed[0].New != "" ||
		listed[0].Object != "pool-1" || kept[0].Name != "web" {
		t.Errorf("kept are %+v, listed %+v", kept, listed)
	}
}

func kindNamed(t *testing.T, name string) *schema.Kind {
	t.Helper()
	kind, known := schema.Lookup(name)
	if !known {
		t.Fatalf("there is no kind %s", name)
	}
	return kind
}
