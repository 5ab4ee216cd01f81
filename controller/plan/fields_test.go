package plan

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

const fieldsPage = "../../docs/fields.md"

const fieldsPreface = `# Every field of the kinds that traffic meets

What Weir does with each field: [what "closes" and "no effect" mean](avi-fields.md). A field without a remark is served. Fields of
` + "`uuid`, `url`, `name`, `tenant_ref`, `_last_modified`" + ` and the like are left out. A test writes this page:
` + "`WEIR_GEN=write go test ./controller/plan -run Field`" + `.
`

// commonFields are those of all kinds.
var commonFields = strings.Fields(
	"uuid url name description tenant_ref _last_modified cloud_ref markers labels created_by " +
		"configpb_attributes weir_warnings")

// fate is what happens to some fields, and why.
type fate struct{ what, why string }

func TestPageOfFieldsTellsOfEachField(t *testing.T) {
	page := []byte(fieldsPreface)
	unknown := map[string]bool{} // kinds of tables
	for _, each := range declared {
		unknown[each.kind] = true
	}
	for _, kind := range schema.Kinds() {
		delete(unknown, kind.Name)
		if kind.Serving == schema.Apart {
			continue
		}
		section := fieldsOf(kind)
		page = append(page, section...)
		for field := range warnedOf(kind.Name) {
			if !strings.Contains(section, "`"+field+"`") {
				t.Errorf("%s has no field %s, of which a table tells", kind.Name, field)
			}
		}
	}
	if len(unknown) > 0 {
		t.Errorf("tables tell of kinds that do not exist: %v", unknown)
	}
	if os.Getenv("WEIR_GEN") == "write" {
		if err := os.WriteFile(fieldsPage, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if has, err := os.ReadFile(fieldsPage); err != nil || string(has) != string(page) {
		t.Errorf("docs/fields.md is old (WEIR_GEN=write go test ./controller/plan -run Field writes it): %v", err)
	}
}

func fieldsOf(kind *schema.Kind) string {
	fates := map[fate][]string{}
	warned := warnedOf(kind.Name)
	var walk func(fields []any, within string)
	walk = func(fields []any, within string) {
		for _, each := range fields {
			f := each.(schema.Object)
			at := within + f["name"].(string)
			if within == "" && slices.Contains(commonFields, at) {
				continue
			}
			effect, _ := f["effect"].(string)
			why, _ := f["why"].(string)
			if effect == "" {
				effect, why = "served", ""
			}
			if said := warned[at]; len(said) > 0 && effect == "served" {
				effect, why = "warned", strings.Join(said, "; or ")
			}
			if element, isList := f["element"].(schema.Object); isList {
				f = element
			}
			if inner, has := f["fields"].([]any); has && effect == "served" {
				walk(inner, at+".")
				continue
			}
			fates[fate{effect, why}] = append(fates[fate{effect, why}], at)
		}
	}
	walk(kind.Outline(), "")
	return pageOf(kind.Name, fates)
}

var effects = []struct{ what, said string }{
	{"closes", "Closes"}, {"refused", "Refused"}, {"warned", "A warning, if not the default"}, {"none", "No effect"}}

func pageOf(kind string, fates map[fate][]string) string {
	var page strings.Builder
	served := fates[fate{"served", ""}]
	fmt.Fprintf(&page, "\n## %s\n\n**Served** (%d): %s\n", kind, len(served), quoted(served))
	if len(fates) > 1 {
		page.WriteString("\n| | fields | |\n|---|---|---|\n")
	}
	for _, effect := range effects {
		all := slices.SortedFunc(maps.Keys(fates), func(a, b fate) int { return cmp.Compare(fates[a][0], fates[b][0]) })
		for _, each := range all {
			if each.what == effect.what {
				fmt.Fprintf(&page, "| **%s** | %s | %s |\n", effect.said, quoted(fates[each]),
					strings.ReplaceAll(each.why, "|", `\|`))
			}
		}
	}
	return page.String()
}

func quoted(names []string) string {
	slices.Sort(names)
	return "`" + strings.Join(names, "` `") + "`"
}

// warnedOf are the fields of a kind that a service is warned about, with the reasons: a field may have several.
func warnedOf(kind string) map[string][]string {
	found := map[string][]string{}
	for _, each := range declared {
		if each.kind == kind && !slices.Contains(found[each.field], each.why) {
			found[each.field] = append(found[each.field], each.why)
		}
	}
	return found
}

func TestPageOfFieldsGivesAllReasons(t *testing.T) {
	has, err := os.ReadFile(fieldsPage)
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(has), "\n## ")
	for _, each := range declared {
		at := slices.IndexFunc(sections, func(section string) bool {
			return strings.HasPrefix(section, each.kind+"\n")
		})
		if at < 0 {
			continue // of objects that traffic does not meet
		}
		why := strings.ReplaceAll(each.why, "|", `\|`)
		line := slices.ContainsFunc(strings.Split(sections[at], "\n"), func(line string) bool {
			return strings.Contains(line, "`"+each.field+"`") && strings.Contains(line, why)
		})
		if !line {
			t.Errorf("%s %s: docs/fields.md does not say %q", each.kind, each.field, each.why)
		}
	}
}
