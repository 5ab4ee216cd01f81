package schema

import (
	"reflect"
	"testing"
)

func TestReadsEveryFormOfReference(t *testing.T) {
	byUUID := RefTarget{Kind: "pool", UUID: "pool-6426d0be"}
	byName := RefTarget{Kind: "pool", Name: "a b"}
	for value, want := range map[string]RefTarget{
		"https://avi-controller/api/pool/pool-6426d0be":          byUUID,
		"https://avi-controller:9443/api/pool/pool-6426d0be#a/b": byUUID,
		"/api/pool/pool-6426d0be":                                byUUID,
		"/api/pool/pool-6426d0be/":                               byUUID,
		"api/pool/pool-6426d0be":                                 byUUID,
		"pool-6426d0be":                                          byUUID,
		" pool-6426d0be#name ":                                   byUUID,
		"/api/pool?name=a b":                                     byName,
		"/api/pool/?name=a%20b":                                  byName,
		"https://h/api/pool/?name=a+b":                           byName,
		"/api/pool?name=x&cloud=Default-Cloud":                   {Kind: "pool", Name: "x", Cloud: "Default-Cloud"},
		"/api/pool?cloud_ref.name=c&name=x&tenant=t":             {Kind: "pool", Name: "x", Cloud: "c", Tenant: "t"},
		"/api/pool?name=" + "system_default--vs":                 {Kind: "pool", Name: "system_default--vs"},
		"se-00:50:56:81:aa:01":                                   {Kind: "pool", UUID: "se-00:50:56:81:aa:01"},
	} {
		if got, err := ParseRef("pool", value); err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", value, got, err, want)
		}
	}
}

func TestRefusesWhatIsNoReference(t *testing.T) {
	const help = ` is not a reference; give /api/pool/<uuid> or /api/pool?name=<name>`
	for value, want := range map[string]string{
		"":                               `""` + help,
		"two words":                      `"two words"` + help,
		"/api/pool/a/b":                  `"/api/pool/a/b"` + help,
		"/api/pool/a%2Fb":                `"/api/pool/a%2Fb"` + help,
		"https://h/pool/pool-1":          `"https://h/pool/pool-1"` + help,
		"/api/pool/pool%zz":              `"/api/pool/pool%zz"` + help,
		"/api/vsvip/vsvip-1":             `"/api/vsvip/vsvip-1" refers to a vsvip; give a pool`,
		"/api/pool":                      `"/api/pool" names no pool; give a uuid or ?name=`,
		"/api/pool?cloud=c":              `"/api/pool?cloud=c" names no pool; give a uuid or ?name=`,
		"/api/pool/" + string([]byte{0}): `"/api/pool/\x00"` + help,
	} {
		if got, err := ParseRef("pool", value); err == nil || err.Error() != want {
			t.Errorf("%q\n got %+v, %v\nwant %s", value, got, err, want)
		}
	}
}

func TestListsReferencesAndSetsThem(t *testing.T) {
	o := created(t, "virtualservice", `{"name":"v","vsvip_ref":"vsvip-1","pool_ref":"","services":[
		{"port":80},{"port":443,"enable_ssl":true,"override_application_profile_ref":"/api/applicationprofile?name=a"}],
		"ssl_key_and_certificate_refs":["c-1","c-2"]}`)
	var fields []string
	for _, reference := range kindByName["virtualservice"].References(o) {
		fields = append(fields, reference.Field+" → "+reference.Kind)
		reference.Set(RefPath(reference.Kind, "resolved"))
	}
	want := []string{
		"cloud_ref → cloud", "services[1].override_application_profile_ref → applicationprofile", "vsvip_ref → vsvip",
		"application_profile_ref → applicationprofile", "network_profile_ref → networkprofile",
		"analytics_profile_ref → analyticsprofile", "se_group_ref → serviceenginegroup", "vrf_context_ref → vrfcontext",
		"ssl_profile_ref → sslprofile", "ssl_key_and_certificate_refs[0] → sslkeyandcertificate",
		"ssl_key_and_certificate_refs[1] → sslkeyandcertificate",
	}
	if !reflect.DeepEqual(fields, want) {
		t.Errorf("got  %q\nwant %q", fields, want)
	}
	service := o["services"].([]any)[1].(Object)
	if service["override_application_profile_ref"] != "/api/applicationprofile/resolved" {
		t.Errorf("in an object: %v", service["override_application_profile_ref"])
	}
	if refs := o["ssl_key_and_certificate_refs"].([]any); refs[1] != "/api/sslkeyandcertificate/resolved" {
		t.Errorf("in a list: %v", refs)
	}
}

// FuzzParseRef parses any text. An accepted reference must name an object, and its stored form must give the same
// result.
func FuzzParseRef(f *testing.F) {
	for _, seed := range []string{
		"pool-1", "/api/pool/pool-1", "https://h:1/api/pool/pool-1#n", "/api/pool?name=a&cloud=c", "//api/pool/",
		"/api/pool/?name=%00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		target, err := ParseRef("pool", value)
		switch {
		case err != nil:
		case target.Kind != "pool" || (target.UUID == "") == (target.Name == ""):
			t.Fatalf("%q became %+v", value, target)
		case target.UUID != "":
			if again, err := ParseRef("pool", target.Path()); err != nil || again != target {
				t.Fatalf("%q became %+v, and its path %+v, %v", value, target, again, err)
			}
		}
	})
}
