package kinds

import (
	"fmt"
	"strings"
	"testing"
)

func expressionsOf(criteria string, texts ...string) *MatchTarget {
	return &MatchTarget{Path: &PathMatch{Criteria: criteria, Values: texts, Case: "INSENSITIVE"}}
}

func largeTexts(count int) []string {
	texts := make([]string, count)
	for i := range texts {
		texts[i] = fmt.Sprintf("^/%d/[a-z]{500}", i)
	}
	return texts
}

func TestExpressionsOfManyRulesAreReadAndCountedOnce(t *testing.T) {
	var expressions Expressions
	texts := largeTexts(15)
	for rule := range 2000 {
		if problem := expressions.Add("m", expressionsOf("REGEX_MATCH", texts...)); problem != nil {
			t.Fatalf("rule %d: %v", rule, problem)
		}
	}
	if read := len(expressions.read); read != 15 {
		t.Errorf("%d texts were read", read)
	}
	if bytes := expressions.Bytes(); bytes < 15*500*16 || bytes > 1<<20 {
		t.Errorf("they need %d bytes", bytes)
	}
}

// Engines compile what is compared with queries, and negated rules, for each rule.
func TestExpressionsOfAChildHaveABound(t *testing.T) {
	texts := largeTexts(15)
	for name, test := range map[string]struct {
		match func(i int) *MatchTarget
		field string
	}{
		"paths": {func(i int) *MatchTarget {
			return expressionsOf("REGEX_MATCH", fmt.Sprintf("^/%d/[a-z]{500}", i))
		}, "m.path.match_str"},
		"negated paths": {func(i int) *MatchTarget {
			return expressionsOf("REGEX_DOES_NOT_MATCH", append(texts, fmt.Sprint(i))...)
		}, "m.path.match_str"},
		"queries": {func(int) *MatchTarget {
			return &MatchTarget{Query: &QueryMatch{Criteria: "QUERY_MATCH_REGEX_MATCH", Values: texts}}
		}, "m.query.match_str"},
	} {
		t.Run(name, func(t *testing.T) {
			var expressions Expressions
			for i := range 5000 {
				problem := expressions.Add("m", test.match(i))
				if problem == nil {
					continue
				}
				if i < 10 || problem.Field != test.field || !strings.Contains(problem.Problem, "more than 16 MiB") {
					t.Errorf("rule %d: %v", i, problem)
				}
				return
			}
			t.Error("there is no bound")
		})
	}
}

func TestShortExpressionsCountToo(t *testing.T) {
	var expressions Expressions
	for i := range 5000 {
		if expressions.Add("m", expressionsOf("REGEX_MATCH", fmt.Sprint(i))) != nil {
			return
		}
	}
	t.Error("engines need more for 5,000 expressions than a child may have")
}
