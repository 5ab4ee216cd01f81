package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema"
)

func kindOf(t *testing.T, name string) *schema.Kind {
	t.Helper()
	kind, ok := schema.Lookup(name)
	if !ok {
		t.Fatalf("no kind %s", name)
	}
	return kind
}

func TestComposesObjectsFromFileAndFields(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vs.json")
	if err := os.WriteFile(file, []byte(`{"name":"old","pool_ref":"/api/pool?name=old","field_of_a_later_release":1}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	object, err := composeObject(kindOf(t, "virtualservice"), file, []string{
		"web", "pool_ref=web pool", "vsvip_ref=vsvip-8f14e45f-ceea-467f-a8c7-aa11bb22cc33", "services[0].port=443",
		"services[0].enable_ssl=true", "ssl_key_and_certificate_refs[0]=System-Default-Cert", "description=a=b",
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"description":"a=b","field_of_a_later_release":1,"name":"web","pool_ref":"/api/pool?name=web+pool",` +
		`"services":[{"enable_ssl":true,"port":443}],` +
		`"ssl_key_and_certificate_refs":["/api/sslkeyandcertificate?name=System-Default-Cert"],` +
		`"vsvip_ref":"vsvip-8f14e45f-ceea-467f-a8c7-aa11bb22cc33"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFileChangesFieldsOfAnObject(t *testing.T) {
	kind, file := kindOf(t, "httppolicyset"), filepath.Join(t.TempDir(), "policy.json")
	object := client.Object{"uuid": "httppolicyset-1", "name": "house"}
	for _, c := range []struct{ text, want string }{
		{`{"uuid":"httppolicyset-1","description":"new","_last_modified":"1","url":"https://h/1","runtime":{}}`,
			`{"_last_modified":"1","description":"new","uuid":"httppolicyset-1"}`},
		{`{"httppolicyset":{"name":"house","description":"new"}}`, `{"description":"new","name":"house"}`},
		{`{"name":"garden","description":"new"}`, `has the fields of garden, not of house: remove name from it`},
		{`{"uuid":"httppolicyset-2"}`,
			`has the fields of httppolicyset-2, not of httppolicyset-1: remove uuid from it`},
		{`{"pool":{"name":"house"}}`, `has an object of pool, and none of httppolicyset`},
		{`null`, `is not a JSON object: it is null`},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		changes, err := changesFrom(kind, file)
		if err == nil {
			err = isOf(object, changes, file)
		}
		got, marshalErr := json.Marshal(changes)
		if err != nil {
			got = []byte(err.Error())
		}
		if marshalErr != nil || !strings.HasSuffix(string(got), c.want) {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
	if changes, err := changesFrom(kind, ""); changes != nil || err != nil {
		t.Errorf("without a file: %v, %v", changes, err)
	}
}

func TestRefusesWhatMakesNoObject(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "nothing to create: give a NAME and FIELD=VALUE pairs, or -f FILE"},
		{[]string{"web", "db"}, `"db" is not FIELD=VALUE`},
		{[]string{"web", "severs[0].port=80"}, "pool: severs: is unknown; did you mean servers?"},
		{[]string{"web", "servers[0].prt=80"}, "pool: servers[0].prt: is unknown; did you mean port?"},
		{[]string{"web", "servers[x]=80"}, `servers[x]=80: field "servers[x]" is not a path like servers[0].port`},
	} {
		if _, err := composeObject(kindOf(t, "pool"), "", c.args); err == nil || err.Error() != c.want {
			t.Errorf("%q\n got %v\nwant %s", c.args, err, c.want)
		}
	}
}

func TestEveryExampleNamesFieldsThatThereAre(t *testing.T) {
	for _, kind := range schema.Kinds() {
		for line := range strings.Lines(kind.Example) {
			words := unquoted(line) // weir KIND create …
			if words[0] != "weir" || words[1] != kind.Name && !slices.Contains(kind.Short, words[1]) ||
				words[2] != "create" {
				t.Errorf("%s: %s", kind.Name, line)
			}
			if _, err := composeObject(kind, "", words[3:]); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}

// unquoted splits a line at its spaces, but for those within double quotes.
func unquoted(line string) []string {
	quoted := false
	return strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return unicode.IsSpace(r) && !quoted
	})
}

func TestWhoChangesAVirtualServiceIsToldWhereToSeeItApplied(t *testing.T) {
	if got, want := written("Changed", kindOf(t, "virtualservice"), "web"),
		"Changed virtualservice web; `weir vs engines web` shows on how many engines it is applied."; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := written("Created", kindOf(t, "pool"), "web"), "Created pool web."; got != want {
		t.Errorf("got %s", got)
	}
}

func TestFieldsThatWeirOnlyKeepsCanBeSetAndWhoSetsThemIsTold(t *testing.T) {
	object, err := composeObject(kindOf(t, "virtualservice"), "",
		[]string{"web", "waf_policy_ref=ours", "http_policies[0].index=1"})
	if err != nil || object["waf_policy_ref"] != "ours" {
		t.Errorf("composed %v, %v", object, err)
	}
	var answer client.Object
	if err := json.Unmarshal([]byte(
		`{"name":"web","weir_warnings":[{"field":"waf_policy_ref","message":"it is not served while this is set"}]}`),
		&answer); err != nil {
		t.Fatal(err)
	}
	want := []string{"Warning: waf_policy_ref: it is not served while this is set."}
	if got := warned(answer); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := warned(client.Object{"name": "web"}); got != nil {
		t.Errorf("without any: %q", got)
	}
}
