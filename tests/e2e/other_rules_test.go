package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

const tableOfOtherRules = "other_rules.txt"

// besideHTTP are the words of lines with rules that are not of HTTP policies.
var besideHTTP = []string{"network", "l4", "authn", "authz", "sso", "child", "compress", "cache"}

func TestOtherRulesDoAsTheirTableSays(t *testing.T) { testTable(t, tableOfOtherRules) }

// beside are the objects that a case has beside its virtual service.
type beside struct {
	c     *ruleCase
	rules map[string]list // by the word of their lines, with names and indexes
	// made are the objects by kind, in the order in which they are made.
	made []madeObject
	// service are fields of the virtual service; child is a virtual service that has requests of it.
	service, child client.Object
}

type madeObject struct {
	kind string
	body client.Object
}

func (b *beside) make(kind string, body client.Object) {
	body["name"] = b.c.title
	b.made = append(b.made, madeObject{kind, body})
}

func (b *beside) has(word string) bool { return len(b.rules[word]) > 0 }

// besideOf reads the lines of a case.
func besideOf(c *ruleCase, fill *strings.Replacer) (*beside, error) {
	b := &beside{c: c, rules: map[string]list{}, service: client.Object{}}
	for _, line := range c.lines {
		if !slices.Contains(besideHTTP, line.word) {
			continue
		}
		at := len(b.rules[line.word]) + 1
		rule := object{}
		if line.word != "child" && line.word != "sso" && line.word != "cache" {
			rule["name"], rule["index"] = fmt.Sprint("rule ", at), at
		}
		if line.word == "network" {
			rule["enable"] = true
		}
		if err := line.decode(fill, &rule); err != nil {
			return nil, err
		}
		if line.word == "l4" && rule["action"] == nil {
			rule["action"] = object{"select_pool": object{"action_type": "L4_RULE_ACTION_SELECT_POOL",
				"pool_ref": client.Ref("pool", "api")}}
		}
		b.rules[line.word] = append(b.rules[line.word], rule)
	}
	b.connections()
	b.tokens()
	b.content()
	b.children()
	return b, nil
}

func (b *beside) connections() {
	title := b.c.title
	if b.has("network") {
		b.make("networksecuritypolicy", client.Object{"rules": b.rules["network"]})
		b.service["network_security_policy_ref"] = client.Ref("networksecuritypolicy", title)
	}
	if b.has("l4") {
		b.make("l4policyset", client.Object{"l4_connection_policy": object{"rules": b.rules["l4"]}})
		b.service["l4_policies"] = list{object{"index": 1, "l4_policy_set_ref": client.Ref("l4policyset", title)}}
		b.service["application_profile_ref"] = client.Ref("applicationprofile", "System-L4-Application")
		b.service["services"] = list{object{"port": b.c.port(false)}}
	}
}

func (b *beside) tokens() {
	if !b.has("authn") && !b.has("authz") && !b.has("sso") {
		return
	}
	policy := client.Object{"type": "SSO_TYPE_JWT", "authentication_policy": object{
		"default_auth_profile_ref": client.Ref("authprofile", "tokens"), "authn_rules": b.rules["authn"]},
		"authorization_policy": object{"authz_rules": b.rules["authz"]}}
	for _, more := range b.rules["sso"] {
		maps.Copy(policy, more.(object))
	}
	b.make("ssopolicy", policy)
	b.service["sso_policy_ref"] = client.Ref("ssopolicy", b.c.title)
	b.service["jwt_config"] = object{"audience": "shop"}
}

func (b *beside) content() {
	profile := object{}
	if b.has("compress") {
		profile["compression_profile"] = object{"compression": true, "type": "CUSTOM_COMPRESSION",
			"remove_accept_encoding_header": true, "filter": b.rules["compress"]}
	}
	if b.has("cache") {
		config := object{"enabled": true}
		maps.Copy(config, b.rules["cache"][0].(object))
		profile["cache_config"] = config
	}
	if len(profile) > 0 {
		b.make("applicationprofile", client.Object{"type": "APPLICATION_PROFILE_TYPE_HTTP", "http_profile": profile})
		b.service["application_profile_ref"] = client.Ref("applicationprofile", b.c.title)
	}
}

func (b *beside) children() {
	if !b.has("child") {
		return
	}
	rules := list{}
	for i, matches := range b.rules["child"] {
		rules = append(rules, object{"name": fmt.Sprint("rule ", i+1), "matches": matches})
	}
	b.service["type"], b.service["vh_type"] = "VS_TYPE_VH_PARENT", "VS_TYPE_VH_ENHANCED"
	b.child = client.Object{"name": b.c.childName(), "type": "VS_TYPE_VH_CHILD", "vh_type": "VS_TYPE_VH_ENHANCED",
		"vh_parent_vs_ref": client.Ref("virtualservice", b.c.title), "pool_ref": client.Ref("pool", "api"),
		"application_profile_ref": client.Ref("applicationprofile", "asks for certificates"),
		"vh_matches":              list{object{"host": ".test", "rules": rules}}}
}

func (c *ruleCase) childName() string { return c.title + ", its child" }

// watched is the virtual service whose state a case tells of.
func (c *ruleCase) watched() string {
	if slices.ContainsFunc(c.lines, func(line ruleLine) bool { return line.word == "child" }) {
		return c.childName()
	}
	return c.title
}

// placesOfRules are the fields with rules in kinds that have other fields, too.
var placesOfRules = map[string][]string{
	"virtualservice":     {"vh_matches"},
	"applicationprofile": {"http_profile.compression_profile.filter", "http_profile.cache_config.uri_non_cacheable"},
}

// notOfRules are values of fields that no rule has.
var notOfRules = []string{"networksecuritypolicy.internal", "l4policyset.is_internal_policy"}

func TestTableHasEachValueOfOtherRules(t *testing.T) {
	table, of := readTable(t, tableOfOtherRules), values{}
	outlines := map[string][]any{}
	for _, kind := range []string{"networksecuritypolicy", "l4policyset", "ssopolicy", "virtualservice",
		"applicationprofile"} {
		outlines[kind] = outlineOf(t, kind)
		of.possible(outlines[kind], kind)
	}
	names := (&caller{names: []string{"$right_port", "1"}}).fill(&ruleCase{})
	for i := range table.cases {
		b, err := besideOf(&table.cases[i], names)
		if err != nil {
			t.Fatal(err)
		}
		if b.child != nil {
			b.make("virtualservice", b.child)
		}
		for _, one := range b.made {
			of.use(outlines[one.kind], one.kind, asRead(t, one.body))
		}
	}
	count := 0
	for _, field := range slices.Sorted(maps.Keys(of)) {
		kind, path, _ := strings.Cut(field, ".")
		within := func(place string) bool { return strings.HasPrefix(path+".", place+".") }
		if places, some := placesOfRules[kind]; field == "addresses.type" || slices.Contains(notOfRules, field) ||
			some && !slices.ContainsFunc(places, within) {
			continue // rules.txt has the types of addresses
		}
		for _, value := range slices.Sorted(maps.Keys(of[field])) {
			count++
			if !of[field][value] {
				t.Errorf("no case of %s has %s %s", tableOfOtherRules, field, value)
			}
		}
	}
	t.Logf("%d values", count)
	const least = 250
	if count < least {
		t.Errorf("%d values are looked for: at least %d are known", count, least)
	}
}
