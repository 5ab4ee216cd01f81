package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
)

// groupOf is a string group with expressions that need about 24 kB each.
func groupOf(name string, count int) string {
	pairs := make([]string, count)
	for i := range pairs {
		pairs[i] = fmt.Sprintf(`{"key": "^/%s%d/[a-z]{500}"}`, name, i)
	}
	return fmt.Sprintf("stringgroup {\"name\": %q, \"kv\": [%s]}\n", name, strings.Join(pairs, ","))
}

// childOf has rules with these matches, as JSON.
func childOf(name string, matches ...string) string {
	rules := make([]string, len(matches))
	for i, match := range matches {
		rules[i] = fmt.Sprintf(`{"name": "r%d", "matches": %s}`, i, match)
	}
	return fmt.Sprintf(`virtualservice {"name": %q, "type": "VS_TYPE_VH_CHILD", "vh_type": "VS_TYPE_VH_ENHANCED",
  "vh_parent_vs_ref": "/api/virtualservice?name=front", "pool_ref": "/api/pool?name=web",
  "application_profile_ref": "/api/applicationprofile?name=System-HTTP",
  "vh_matches": [{"host": "%s.test", "rules": [%s]}]}
`, name, name, strings.Join(rules, ","))
}

func pathsBy(group string) string {
	return fmt.Sprintf(`{"path": {"match_criteria": "REGEX_MATCH", "string_group_refs": ["/api/stringgroup?name=%s"]}}`,
		group)
}

func queriesBy(criteria, group string) string {
	return fmt.Sprintf(`{"query": {"match_criteria": %q, "string_group_refs": ["/api/stringgroup?name=%s"]}}`,
		criteria, group)
}

func findingOf(findings []model.Finding, name, field string) string {
	at := slices.IndexFunc(findings, func(f model.Finding) bool { return f.Name == name && f.Field == field })
	if at < 0 {
		return ""
	}
	return findings[at].Message
}

func TestManyRulesOfAChildMayHaveTheSameExpressions(t *testing.T) {
	matches := slices.Repeat([]string{pathsBy("large")}, 1000)
	for i := range matches { // no two want the same
		matches[i] = fmt.Sprintf(`{"query": {"match_criteria": "QUERY_MATCH_EQUALS", "match_str": ["%d"]}, %s`,
			i, matches[i][1:])
	}
	plan, findings := compileAged(t, parentOfGroups+groupOf("large", 15)+childOf("child", matches...), "", nil)
	if served := childrenIn(plan); !slices.Equal(served, []string{"child"}) {
		t.Errorf("served are %v; findings: %v", served, findings)
	}
}

func TestChildWhoseExpressionsNeedTooMuchIsNotServed(t *testing.T) {
	matches := make([]string, 100)
	for i := range matches {
		matches[i] = queriesBy("QUERY_MATCH_REGEX_MATCH", "large")
	}
	objects := parentOfGroups + groupOf("large", 15) + childOf("child", matches...) + childOf("other", `{}`)
	plan, findings := compileAged(t, objects, "", nil)
	if servicesOf(plan)["child"] != nil || servicesOf(plan)["other"] == nil {
		t.Errorf("served are %v", childrenIn(plan))
	}
	told := ""
	for _, finding := range findings {
		if strings.HasSuffix(finding.Field, ".matches.query.match_str") {
			told = finding.Field + ": " + finding.Message
			break
		}
	}
	if !strings.HasPrefix(told, "vh_matches[0].rules[") || !strings.Contains(told, "more than 16 MiB") {
		t.Errorf("got the finding %q of %d", told, len(findings))
	}
}

// A group may have more texts than a rule may have of its own.
func TestQueriesAreComparedWithAllTextsOfAGroup(t *testing.T) {
	pairs := make([]string, 1000)
	for i := range pairs {
		pairs[i] = fmt.Sprintf(`{"key": "q%d"}`, i)
	}
	group := fmt.Sprintf("stringgroup {\"name\": \"many\", \"kv\": [%s]}\n", strings.Join(pairs, ","))
	plan, findings := compileAged(t, parentOfGroups+group+childOf("child", queriesBy("QUERY_MATCH_CONTAINS", "many")),
		"", nil)
	if servicesOf(plan)["child"] == nil {
		t.Errorf("it is not served: %v", findings)
	}
}

func TestExpressionsOfTheChildrenOfAParentHaveABound(t *testing.T) {
	objects := parentOfGroups
	for group := range 30 {
		objects += groupOf(fmt.Sprintf("g%d", group), 15)
	}
	matches := make([]string, 30)
	for i := range matches {
		matches[i] = pathsBy(fmt.Sprintf("g%d", i))
	}
	for _, name := range []string{"e", "b", "d", "c", "a", "f"} {
		objects += childOf(name, matches...)
	}
	objects += childOf("plain", `{}`)
	m, _ := model.Build(7, objectsIn(t, objects))
	assignments := placed(m)
	compiler := compilerOf(m, nil, assignments)
	plan, findings := compiler.Compile(engineUUID, nil)
	served := childrenIn(plan)
	if len(served) < 4 || len(served) > 6 || !slices.IsSorted(served) || served[len(served)-1] != "plain" ||
		served[0] != "a" || !strings.Contains(findingOf(findings, "f", "vh_matches"), "64 MiB") {
		t.Fatalf("served are %v; of f: %q", served, findingOf(findings, "f", "vh_matches"))
	}
	// When another one leaves, the next by name is served.
	left := *m
	left.VirtualServices = slices.DeleteFunc(slices.Clone(m.VirtualServices),
		func(vs *model.VirtualService) bool { return vs.Name == "a" })
	compiler.Turn(&left, nil, assignments)
	plan, _ = compiler.Compile(engineUUID, nil)
	if now := childrenIn(plan); len(now) != len(served) || now[0] != "b" {
		t.Errorf("served are %v, after %v", now, served)
	}
	// The Plan that was edited is the one that is made anew.
	fresh, _ := compilerOf(&left, nil, place.Assignments(assignments)).Compile(engineUUID, nil)
	if anew := childrenIn(fresh); !slices.Equal(anew, childrenIn(plan)) {
		t.Errorf("anew, served are %v", anew)
	}
}
