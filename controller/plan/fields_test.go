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

What Weir does with each field: [what "closes" and "no effect" mean](avi-fields.md). "Served" are the fields that some part of Weir
reads: a test compares the page with the code. The fields that describe say something about the object, and are in no need of code.
Fields of ` + "`uuid`, `url`, `name`, `tenant_ref`, `_last_modified`" +
	` and the like are left out. A test writes this page:
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

func fieldsOf(kind *schema.Kind) string { return pageOf(kind.Name, fatesOf(kind)) }

// fatesOf returns the fields of a kind by what happens to them.
func fatesOf(kind *schema.Kind) map[fate][]string {
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
			switch {
			case effect != "":
			case f["computed"] == true:
				effect, why = "computed", "Weir makes it, and drops it from what is sent"
			default:
				effect, why = withoutCode(kind.Name + "." + at)
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
	return fates
}

var effects = []struct{ what, said string }{
	{"closes", "Closes"}, {"refused", "Refused"}, {"warned", "A warning, if not the default"}, {"none", "No effect"},
	{"describes", "Describes"}, {"fixed", "One value"}, {"computed", "Computed"}}

// needNoCode are fields that no code reads, and that do what they are for nevertheless. A name that begins with *
// stands for all that end like it.
var needNoCode = []struct {
	fate
	fields string
}{
	{fate{"describes", "for people, and for the programs that write such objects"},
		`*.cloud_config_cksum *.service_metadata vsvip.vsvip_cloud_config_cksum httppolicyset.is_internal_policy
		l4policyset.is_internal_policy networksecuritypolicy.internal networksecuritypolicy.rules.created_by
		pool.servers.description pool.servers.static pool.servers.mac_address sslprofile.type sslprofile.tags
		sslkeyandcertificate.ca_certs.name`},
	{fate{"describes", "a certificate, from which Weir reads it"},
		`sslkeyandcertificate.certificate.subject.distinguished_name pkiprofile.ca_certs.subject pkiprofile.ca_certs.self_signed
		pkiprofile.ca_certs.subject_alt_names pkiprofile.ca_certs.days_until_expire`},
	{fate{"describes", "the only rule that there can be"},
		"virtualservice.content_rewrite.rsp_rewrite_rules.index virtualservice.content_rewrite.rsp_rewrite_rules.name"},
	{fate{"fixed", "another one is refused"},
		`authprofile.type jwtserverprofile.jwt_profile_type ssopolicy.type healthmonitor.sip_monitor.sip_request_code
		*.redirect.host.type *.redirect.path.type *_action.host.type *_action.path.type *_action.host_hdr.type
		l4policyset.l4_connection_policy.rules.action.select_pool.action_type
		sslkeyandcertificate.format sslkeyandcertificate.certificate_base64 sslkeyandcertificate.key_base64`},
}

// withoutCode returns the fate of a field that needs no code; served for all others.
func withoutCode(field string) (effect, why string) {
	for _, row := range needNoCode {
		for name := range strings.FieldsSeq(row.fields) {
			end, isEnd := strings.CutPrefix(name, "*")
			if name == field || isEnd && strings.HasSuffix(field, end) {
				return row.what, row.why
			}
		}
	}
	return "served", ""
}

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
