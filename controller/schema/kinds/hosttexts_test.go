package kinds

import (
	"fmt"
	"strings"
	"testing"
)

// manyTexts returns a rule that compares the path with string groups, and these, each with as many texts.
func manyTexts(criteria string, groups, texts int) (VHMatchRule, map[string]*StringGroup) {
	known, references := map[string]*StringGroup{}, make([]string, groups)
	for i := range references {
		references[i] = fmt.Sprint("/api/stringgroup/", i)
		group := &StringGroup{Pairs: make([]KeyValue, texts)}
		group.Name = fmt.Sprint("group-", i)
		for j := range group.Pairs {
			group.Pairs[j].Key = fmt.Sprintf("/%d/%d", i, j)
		}
		known[references[i]] = group
	}
	path := &PathMatch{Criteria: criteria, GroupRefs: references}
	return VHMatchRule{Name: "r", Matches: &MatchTarget{Path: path}}, known
}

func TestTextsOfGroupsAreCountedBeforeTheyAreRead(t *testing.T) {
	for _, criteria := range []string{"EQUALS", "REGEX_MATCH"} {
		rule, groups := manyTexts(criteria, 64, 10_000)
		matches := []VHMatch{{Host: "a.test", Rules: []VHMatchRule{rule}}}
		var found string
		allocations := testing.AllocsPerRun(1, func() {
			WithTexts(matches, groups, func(_, problem string, args ...any) { found = fmt.Sprintf(problem, args...) })
		})
		if !strings.Contains(found, "has 640000 texts") || allocations > 100 {
			t.Errorf("%s: %f allocations, found %q", criteria, allocations, found)
		}
	}
}

func TestRulesOfAChildHaveABoundForAllTheirGroups(t *testing.T) {
	rule, groups := manyTexts("EQUALS", 1, TextsMost)
	match := VHMatch{Host: "a.test"}
	for range TextsOfChildMost / TextsMost {
		match.Rules = append(match.Rules, rule)
	}
	var found []string
	find := func(field, problem string, args ...any) {
		found = append(found, field+": "+fmt.Sprintf(problem, args...))
	}
	if WithTexts([]VHMatch{match}, groups, find); len(found) > 0 {
		t.Fatalf("up to the bound: %q", found)
	}
	match.Rules = append(match.Rules, rule)
	matches, _ := WithTexts([]VHMatch{match}, groups, find)
	if len(found) != 1 || !strings.Contains(found[0], "vh_matches[0].rules[32].matches.path.string_group_refs: ") {
		t.Errorf("beyond the bound: %q", found)
	}
	if path := matches[0].Rules[32].Matches.Path; len(path.Values) > 0 || len(path.GroupRefs) != 1 {
		t.Errorf("the rule beyond the bound has %d texts", len(path.Values))
	}
}

// A write of such a group, or child, holds up all others.
func TestExpressionsOfAGroupAreReadOnceAndOnlyForWhoIsTold(t *testing.T) {
	rule, groups := manyTexts("REGEX_MATCH", 1, 8)
	for _, group := range groups {
		for i := range group.Pairs {
			group.Pairs[i].Key += "[a-z]{500}"
		}
	}
	const rules = 100
	match := VHMatch{Host: "a.test"}
	for range rules {
		match.Rules = append(match.Rules, rule)
	}
	allocations := func(rules int, find func(string, string, ...any)) float64 {
		one := []VHMatch{{Host: match.Host, Rules: match.Rules[:rules]}}
		return testing.AllocsPerRun(1, func() { WithTexts(one, groups, find) })
	}
	find := func(field, problem string, args ...any) { t.Errorf("%s: "+problem, append([]any{field}, args...)...) }
	unread := allocations(rules, nil)
	once, again := allocations(1, find), allocations(rules, find)
	if unread > 50*rules || once < 100 || again > once+unread+50 {
		t.Errorf("%v allocations for %d rules unread, %v for one, %v for all", unread, rules, once, again)
	}
}

func TestWishesNameTheGroupsThatTheyComeFrom(t *testing.T) {
	_, groups := manyTexts("EQUALS", 2, 2)
	refs := func(own ...string) (values, references []string) {
		return own, []string{"/api/stringgroup/0", "/api/stringgroup/1"}
	}
	path := &PathMatch{Criteria: "BEGINS_WITH"}
	path.Values, path.GroupRefs = refs("/0/1", "/own")
	negated := &PathMatch{Criteria: "DOES_NOT_BEGIN_WITH"}
	negated.Values, negated.GroupRefs = refs("/own")
	query := &QueryMatch{Criteria: "QUERY_MATCH_CONTAINS"}
	query.Values, query.GroupRefs = refs("own")
	own := &PathMatch{Criteria: "EQUALS", Values: []string{"/own"}}
	for _, test := range []struct {
		match *MatchTarget
		want  string
	}{
		{&MatchTarget{Path: path}, "/0/1 of . /own of . /0/0 of group-0. /1/0 of group-1. /1/1 of group-1."},
		{&MatchTarget{Path: negated}, " of group-0, group-1."},
		{&MatchTarget{Path: own, Query: query}, "/own of group-0, group-1."},
		{&MatchTarget{Query: query}, " of group-0, group-1."},
		{&MatchTarget{Path: own}, "/own of ."},
	} {
		vs, got := &VirtualService{VHType: vhEnhanced}, []string(nil)
		var origins Origins
		vs.VHMatches, origins = WithTexts([]VHMatch{{Host: "a.test", Rules: []VHMatchRule{{Matches: test.match}}}},
			groups, func(field, problem string, args ...any) { t.Errorf(field+": "+problem, args...) })
		for _, wish := range vs.Wishes(origins) {
			got = append(got, fmt.Sprintf("%s of %s.", wish.Text, wish.Group))
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}
