package schema

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// eachTag visits every field of every struct that a kind uses.
func eachTag(visit func(r *record, f reflect.StructField)) {
	for t, r := range records {
		for _, f := range reflect.VisibleFields(t) {
			if !f.Anonymous {
				visit(r, f)
			}
		}
	}
}

func TestEveryTagIsKnown(t *testing.T) {
	known := []string{"json", "default", "min", "max", "also", "items", "enum", "ref", "required", "secret", "computed"}
	tag := regexp.MustCompile(`(\w+):("(?:[^"\\]|\\.)*")`)
	eachTag(func(r *record, f reflect.StructField) {
		for _, match := range tag.FindAllStringSubmatch(string(f.Tag), -1) {
			value, err := strconv.Unquote(match[2])
			if err != nil || !slices.Contains(known, match[1]) {
				t.Errorf("%s.%s: tag %s:%s (%v)", r.goType, f.Name, match[1], value, err)
			}
		}
		if !regexp.MustCompile(`^[a-z_][A-Za-z0-9_]*$`).MatchString(f.Tag.Get("json")) {
			t.Errorf("%s.%s: json name %q", r.goType, f.Name, f.Tag.Get("json"))
		}
	})
}

func TestEveryReferenceNamesAKind(t *testing.T) {
	eachTag(func(r *record, f reflect.StructField) {
		if ref, ok := f.Tag.Lookup("ref"); ok && kindByName[ref] == nil {
			t.Errorf("%s.%s refers to %q", r.goType, f.Name, ref)
		}
	})
}

func TestEveryEnumIsDeclaredAndUsed(t *testing.T) {
	used := map[string]bool{}
	eachTag(func(r *record, f reflect.StructField) {
		name, ok := f.Tag.Lookup("enum")
		if ok && len(enums[name]) == 0 {
			t.Errorf("%s.%s is a %q", r.goType, f.Name, name)
		}
		used[name] = true
	})
	for name := range enums {
		if !used[name] {
			t.Errorf("no field is a %s", name)
		}
	}
}

func TestEveryJSONNameStandsOnceInItsRecord(t *testing.T) {
	for _, r := range records {
		if len(r.byName) != len(r.fields) {
			t.Errorf("%s has two fields of one name", r.goType)
		}
	}
}

func TestEveryDefaultObeysItsOwnField(t *testing.T) {
	count := 0
	eachTag(func(r *record, structField reflect.StructField) {
		f := r.byName[structField.Tag.Get("json")]
		if f.fallback == nil {
			return
		}
		count++
		if _, problem := f.accept(f.fallback, &path{name: f.name}); problem != nil {
			t.Errorf("%s: %v", r.goType, problem)
		}
	})
	if count < 300 {
		t.Errorf("only %d defaults were looked at", count)
	}
}

func TestEveryDefaultReferenceIsBuiltIn(t *testing.T) {
	eachTag(func(r *record, f reflect.StructField) {
		name, hasDefault := f.Tag.Lookup("default")
		ref, ok := f.Tag.Lookup("ref")
		if !ok || !hasDefault {
			return
		}
		if made, builtIn := BuiltinName(ref, BuiltinUUID(ref, name)); !builtIn || made != name {
			t.Errorf("%s.%s is the %s %q by default, which is not built in", r.goType, f.Name, ref, name)
		}
	})
}

func TestEveryKindOfATenantRefersToIt(t *testing.T) {
	for _, k := range Kinds() {
		if _, has := k.record.byName["tenant_ref"]; has != k.PerTenant() {
			t.Errorf("%s: tenant_ref is there: %t", k.Name, has)
		}
	}
}
