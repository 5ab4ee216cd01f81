package schema

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// ledger is a kind that Avi does not have, and binder one that Avi has. Only the tests below register them.
type (
	ledger struct {
		Color string `json:"color"`
	}
	binder struct {
		Color string `json:"color"`
	}
)

// register registers a kind until the test ends. It returns the text of a panic.
func register[T any](t *testing.T, definition Definition) (kind *Kind, panicked string) {
	t.Helper()
	defer func() {
		if cause := recover(); cause != nil {
			panicked = fmt.Sprint(cause)
		}
	}()
	t.Cleanup(func() {
		delete(records, reflect.TypeFor[T]())
		delete(kindByName, strings.ToLower(reflect.TypeFor[T]().Name()))
	})
	return Register[T](definition), ""
}

func TestFieldWithoutFunctionOfAKindThatAviLacksIsFound(t *testing.T) {
	kind, panicked := register[ledger](t, Definition{Own: true, Unread: []Rule{NoEffect("nobody looks", "color")}})
	if panicked != "" {
		t.Fatal(panicked)
	}
	found := kind.KeptFields(Object{"color": "red"})
	if len(found) != 1 || found[0].Field != "color" || found[0].Why != "nobody looks: has no effect" {
		t.Errorf("found are %v", found)
	}
}

func TestRegistrationPanicsAtNamesThatDoNotExist(t *testing.T) {
	_, panicked := register[ledger](t, Definition{Own: true, Unread: []Rule{NoEffect("nobody looks", "colour")}})
	if !strings.Contains(panicked, "ledger has colour") {
		t.Errorf("a field of a rule: %q", panicked)
	}
	aviMessages["binder"] = parseAviFields("binder\n rings [BinderRing]\n")["binder"]
	t.Cleanup(func() { delete(aviMessages, "binder") })
	if _, panicked = register[binder](t, Definition{}); !strings.Contains(panicked, "binder.rings is a BinderRing") {
		t.Errorf("the type of a field: %q", panicked)
	}
}
