package schema

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// eachAvi visits every field of Avi's, at every depth. within is the record that contains the field; nil: no struct or
// message of Weir has it.
func eachAvi(k *Kind, visit func(within *record, pattern string, known aviField)) {
	var walk func(r *record, message, prefix string)
	walk = func(r *record, message, prefix string) {
		for _, known := range aviMessages[message] {
			visit(r, prefix+known.name, known)
			inner := r.byName[known.name]
			if inner != nil && inner.shape == list {
				inner = inner.element
			}
			if _, isMessage := aviMessages[known.typed]; isMessage && inner != nil && inner.shape == object {
				walk(inner.record, known.typed, prefix+known.name+".")
			}
		}
	}
	walk(k.record, k.Title, "")
}

// sample returns an object with every field of Avi's message, of the type that Avi gives it. If Weir's struct allows
// only some values, the value is one of these.
func sample(r *record, message string) Object {
	o := Object{}
	for _, known := range aviMessages[message] {
		f := r.byName[known.name]
		if f.computed {
			continue
		}
		o[known.name] = sampleField(f, known)
	}
	return o
}

func sampleField(f *field, known aviField) any {
	if known.listed {
		return []any{sampleOf(f.element, known)}
	}
	return sampleOf(f, known)
}

func sampleOf(f *field, known aviField) any {
	switch known.typed {
	case "boolean":
		return true
	case "integer":
		return max(f.low, min(7, f.high))
	case "number":
		return 7.5
	case "string":
		switch {
		case len(f.enum) > 0:
			return f.enum[len(f.enum)-1]
		case f.refers():
			return "/api/" + f.ref + "/" + f.ref + "-1"
		case known.ref != "":
			return "https://elsewhere.test/api/" + known.ref + "/?name=ours#ours"
		}
		return "sent"
	}
	return sample(f.record, known.typed)
}

func TestEveryFieldThatAviKnowsIsAcceptedAndKept(t *testing.T) {
	count := 0
	for _, k := range Kinds() {
		if k.Own {
			continue
		}
		sent := sample(k.record, k.Title)
		got, err := k.Normalise(Clone(sent))
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if !reflect.DeepEqual(got, sent) {
			t.Errorf("%s: sent %v\n got %v", k.Name, sent, got)
		}
		if err := k.Unknown(sent); err != nil {
			t.Error(err)
		}
		eachAvi(k, func(within *record, pattern string, known aviField) {
			count++
			if within.byName[known.name] == nil {
				t.Errorf("%s has no %s", k.Name, pattern)
			}
		})
	}
	if count < 3000 {
		t.Errorf("only %d fields were looked at", count)
	}
}

func TestEveryFieldOfAStructHasTheTypeThatItHasInAvi(t *testing.T) {
	shapes := map[string]shape{"boolean": boolean, "integer": whole, "number": real, "string": text}
	for _, k := range Kinds() {
		eachAvi(k, func(within *record, pattern string, known aviField) {
			f, want := within.byName[known.name], object
			if plain, ok := shapes[known.typed]; ok {
				want = plain
			}
			listed := f.shape == list
			if listed {
				f = f.element
			}
			if listed != known.listed || f.shape != want {
				t.Errorf("%s: %s is not as Avi has it", k.Name, pattern)
			}
		})
	}
}

func TestAWrongTypeOfAKeptFieldIsRefusedByName(t *testing.T) {
	count := 0
	for _, k := range Kinds() {
		for _, f := range k.record.fields {
			if !f.kept {
				continue
			}
			count++
			wrong := any(Object{"a": "b"})
			if f.shape == object {
				wrong = "text"
			}
			body := sample(k.record, k.Title)
			body[f.name] = wrong
			var problem *FieldError
			if _, err := k.Normalise(body); !errors.As(err, &problem) || problem.Field != f.name {
				t.Errorf("%s: %s took %v: %v", k.Name, f.name, wrong, err)
			}
		}
	}
	if count < 330 {
		t.Errorf("only %d fields were looked at", count)
	}
}

func TestSaysOfAKeptFieldWhatIsWrongWithIt(t *testing.T) {
	for _, c := range []struct{ kind, body, want string }{
		{"virtualservice", `{"name":"v","security_policy_ref":{}}`,
			"virtualservice: security_policy_ref: must be a text, not an object"},
		{"virtualservice", `{"name":"v","dns_policies":{}}`,
			"virtualservice: dns_policies: must be a list, not an object"},
		{"virtualservice", `{"name":"v","dns_policies":[{"index":"first"}]}`,
			`virtualservice: dns_policies[0].index: "first" is not a whole number`},
		{"virtualservice", `{"name":"v","enable_session":"maybe"}`,
			`virtualservice: enable_session: "maybe" is not true or false`},
		{"applicationprofile",
			`{"name":"a","type":"APPLICATION_PROFILE_TYPE_HTTP","http_profile":{"pki_profile_ref":"/api/pool/p"}}`,
			`applicationprofile: http_profile.pki_profile_ref: "/api/pool/p" refers to a pool; give a pkiprofile`},
	} {
		_, err := kindByName[c.kind].Decode([]byte(c.body))
		if fmt.Sprint(err) != c.want {
			t.Errorf("%s\n got %v\nwant %s", c.body, err, c.want)
		}
	}
}

func TestJudgesWhatIsKept(t *testing.T) {
	for _, c := range []struct {
		kind, body string
		want       []string
	}{
		{"virtualservice",
			`{"name":"v","http_policies":[],"waf_policy_ref":"","saml_sp_config":{},"enable_session":false,
			"dns_info":[{"algorithm":"DNS_RECORD_RESPONSE_CONSISTENT_HASH"}]}`, nil},
		{"virtualservice", `{"name":"v","waf_policy_ref":"/api/wafpolicy/w","enable_session":true}`, []string{
			"enable_session: engines keep no sessions of clients: has no effect",
			"waf_policy_ref: engines have no application firewall yet: it is not served while this is set (closes)"}},
		{"pool", `{"name":"p","servers":[{"ip":{"addr":"10.0.0.1"}},{"ip":{"addr":"10.0.0.2"},"server_node":"a"},
			{"ip":{"addr":"10.0.0.3"},"server_node":"b"}]}`,
			[]string{"servers[1].server_node: Weir does not act on it: has no effect"}},
		{"analyticsprofile",
			`{"name":"a","exclude_http_error_codes":[503],"ranges":[],"resp_code_block":["AP_HTTP_RSP_5XX"]}`, nil},
		{"user", `{"name":"u","access":[{"tenant_ref":"admin","role_ref":"/api/role?name=WAF-Admin"}]}`, nil},
		{"systemconfiguration",
			`{"fips_mode":true,"ssh_ciphers":[],"portal_configuration":{"api_force_timeout":24,"password_strength_check":true}}`,
			[]string{"fips_mode: the programs have only one mode of cryptography: has no effect",
				"portal_configuration.password_strength_check: Weir checks only the length of passwords, by minimum_password_length: has no effect"}},
		{"healthmonitor",
			`{"name":"m","type":"HEALTH_MONITOR_HTTPS","http_monitor":{"ssl_attributes":{"ssl_profile_ref":"p"}},
			"https_monitor":{"ssl_attributes":{"pki_profile_ref":"p"}},"sctp_monitor":{"sctp_request":"x"},
			"external_monitor":{"command_code":"echo","command_path":"p"}}`,
			[]string{"external_monitor.command_path: engines run the script in command_code: has no effect",
				"http_monitor.ssl_attributes: this type does not use TLS: has no effect",
				"sctp_monitor: engines do not speak SCTP: has no effect"}},
		{"vsvip", `{"name":"v","vip":[{"auto_allocate_floating_ip":true}],"dns_info":[{"fqdn":"a.test"}]}`, []string{
			"dns_info[0].fqdn: Weir registers no names: has no effect",
			"vip[0].auto_allocate_floating_ip: Weir allocates no addresses: give ip_address: has no effect"}},
		{"systemconfiguration",
			`{"mgmt_ip_access_control":{"ssh_access":{"match_criteria":"IS_IN","addrs":[{"addr":"10.0.0.1","type":"V4"}]}},
			"admin_auth_configuration":{"allow_local_user_login":true,"remote_auth_configurations":[{"index":1}]}}`,
			[]string{
				"admin_auth_configuration.remote_auth_configurations: users log in with accounts of Weir only: has no effect",
				"mgmt_ip_access_control.ssh_access: Weir has no shell, no SSH server and no SNMP: has no effect"}},
	} {
		k := kindByName[c.kind]
		o, err := k.Decode([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, kept := range k.KeptFields(o) {
			line := kept.Field + ": " + kept.Why
			if kept.Closes {
				line += " (closes)"
			}
			got = append(got, line)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s\n got %s\nwant %s", c.body, strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
		}
	}
}

func TestWhatNothingCouldBeClosedForIsRefused(t *testing.T) {
	for body, want := range map[string]string{
		`{"mgmt_ip_access_control":{"api_access":{"match_criteria":"IS_IN","addrs":[{"addr":"10.0.0.1","type":"V4"}]}}}`: "mgmt_ip_access_control.api_access",
		`{"admin_auth_configuration":{"allow_local_user_login":false}}`:                                                  "admin_auth_configuration.allow_local_user_login",
		`{"portal_configuration":{"pkiprofile_ref":"/api/pkiprofile/p"}}`:                                                "portal_configuration.pkiprofile_ref",
	} {
		k := kindByName["systemconfiguration"]
		o, err := k.Decode([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		var problem *FieldError
		if err := k.Check(o); !errors.As(err, &problem) || problem.Field != want {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// A field of a later version that no rule names must not open anything.
func TestAFieldThatLooksLikeAGuardClosesUntilARuleSaysOtherwise(t *testing.T) {
	for kind, want := range map[string]effect{"virtualservice": closes, "pool": closes, "systemconfiguration": refused,
		"user": refused} {
		if got := kindByName[kind].judge("quantum_security_ref", true).effect; got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
	if got := kindByName["virtualservice"].judge("quantum_ref", false).effect; got != noEffect {
		t.Errorf("without a guard: %v", got)
	}
	items := []any{Object{"quantum": []any{Object{"index": int64(1)}}},
		Object{"quantum": []any{Object{"http_policy_set_ref": "p"}}}}
	inner := &field{name: "quantum", shape: list, kept: true,
		element: &field{shape: object, kept: true, record: keptRecord("HTTPPolicies")}}
	outer := &field{name: "items", shape: list, element: &field{shape: object,
		record: &record{byName: map[string]*field{"quantum": inner}}}}
	k := &Kind{Name: "virtualservice", Definition: Definition{Serving: IsService},
		record: &record{byName: map[string]*field{"items": outer}}}
	found := k.KeptFields(Object{"items": items})
	if len(found) != 2 || found[0].Closes || found[1].Field != "items[1].quantum" || !found[1].Closes {
		t.Errorf("found %+v", found)
	}
	holder := &field{name: "quantum", shape: object, kept: true, record: keptRecord("HTTPPolicies")}
	if !holder.guards(Object{"http_policy_set_ref": "p"}) || holder.guards(Object{"index": int64(1)}) {
		t.Error("a guard within an object is not seen")
	}
}

type boundary struct {
	f     *field
	known aviField
}

// boundaries are the fields to which rules apply: those that no struct has, within records that a struct has.
func boundaries(k *Kind) map[string]boundary {
	found := map[string]boundary{}
	eachAvi(k, func(within *record, pattern string, known aviField) {
		for outer := range found {
			if strings.HasPrefix(pattern, outer+".") && !k.rulesInside(outer) {
				return
			}
		}
		if f := within.byName[known.name]; f.kept {
			found[pattern] = boundary{f, known}
		}
	})
	return found
}

func TestEveryKeptFieldThatLooksLikeAGuardHasItsRule(t *testing.T) {
	count := 0
	for _, k := range Kinds() {
		for pattern, edge := range boundaries(k) {
			if k.rulesInside(pattern) || !edge.f.guards(sampleField(edge.f, edge.known)) {
				continue
			}
			count++
			if k.judge(pattern, true).why == unknownGuard {
				t.Errorf("%s: no rule says what becomes of %s", k.Name, pattern)
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d guards were found", count)
	}
}

func TestEveryRuleNamesAFieldThatIsKept(t *testing.T) {
	for _, k := range Kinds() {
		kept := map[string]bool{}
		eachAvi(k, func(within *record, pattern string, known aviField) {
			if within.byName[known.name].kept {
				kept[pattern] = true
			}
		})
		for _, rule := range k.Kept {
			for _, name := range strings.Fields(rule.Fields) {
				one := rule
				one.Fields = name
				named := false
				for pattern := range kept {
					named = named || one.names(pattern)
				}
				if !named {
					t.Errorf("%s: %s is nothing that is kept", k.Name, name)
				}
			}
		}
	}
}

func TestKeptReferencesToKindsOfOursAreReferencesAndOthersStayAsTheyWereSent(t *testing.T) {
	k := kindByName["applicationprofile"]
	o, err := k.Decode([]byte(`{"name":"a","type":"APPLICATION_PROFILE_TYPE_HTTP","http_profile":{
		"cache_config":{"mime_types_group_refs":["/api/stringgroup?name=ours"]},
		"error_page_profile_ref":"/api/errorpageprofile?name=ours"}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, reference := range k.References(o) {
		got = append(got, reference.Field+" "+reference.Kind)
	}
	if want := []string{"http_profile.cache_config.mime_types_group_refs[0] stringgroup"}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestKeptSecretsAreHiddenAndStayWhenTheyAreSentBackHidden(t *testing.T) {
	k := kindByName["virtualservice"]
	stored, err := k.Decode([]byte(
		`{"name":"v","oauth_vs_config":{"cookie_name":"c","key":[{"name":"k","aes_key":"AES","hmac_key":"HMAC"}],
		"oauth_settings":[{"app_settings":{"client_id":"id","client_secret":"CLIENT"}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	read := k.Redact(stored)
	if shown := fmt.Sprint(read); strings.Contains(shown, "AES") || strings.Contains(shown, "HMAC") ||
		strings.Contains(shown, "CLIENT") {
		t.Errorf("read back: %s", shown)
	}
	k.KeepSecrets(read, stored)
	if !reflect.DeepEqual(read, stored) {
		t.Errorf("after it was sent back: %v", read)
	}
}

func TestEverySecretOfAviIsOneOfOurs(t *testing.T) {
	count := 0
	for _, k := range Kinds() {
		eachAvi(k, func(within *record, pattern string, known aviField) {
			f := within.byName[known.name]
			if known.secret {
				count++
			}
			if known.secret && !f.secret {
				t.Errorf("%s: %s is read back", k.Name, pattern)
			}
		})
	}
	if count < 40 {
		t.Errorf("only %d secrets were found", count)
	}
}

func TestTheDocumentNamesEveryFieldThatClosesOrIsRefused(t *testing.T) {
	text, err := os.ReadFile("../../docs/avi-fields.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Kinds() {
		for _, rule := range k.Kept {
			for _, name := range strings.Fields(rule.Fields) {
				if (rule.effect == closes || rule.effect == refused) && !strings.Contains(string(text), "`"+name+"`") {
					t.Errorf("%s: %s is not in docs/avi-fields.md", k.Name, name)
				}
			}
		}
	}
}

func TestASecretThatIsStoredInAnotherShapeIsHiddenAsAWhole(t *testing.T) {
	k := kindByName["virtualservice"]
	stored := Object{"oauth_vs_config": Object{"key": []any{Object{"hmac_key": []any{Object{"name": "AES"}}}}}}
	if shown := fmt.Sprint(k.Redact(stored)); strings.Contains(shown, "AES") {
		t.Errorf("read back: %s", shown)
	}
	if found := k.KeptFields(stored); len(found) != 1 {
		t.Errorf("told of are %v", found)
	}
}

func TestDefaultsSayNothingHoweverLargeTheyAre(t *testing.T) {
	for _, pair := range [][2]any{{int64(1209600), 1209600.0}, {uint64(1000000), 1e6}, {int64(3), 3.0},
		{"a", "a"}, {true, true}} {
		if !sameValue(pair[0], pair[1]) {
			t.Errorf("%v and %v are told apart", pair[0], pair[1])
		}
	}
	if sameValue(int64(1209601), 1209600.0) || sameValue("1", "2") {
		t.Error("what differs is taken for the same")
	}
}
